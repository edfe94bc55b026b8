// SideChannel: the TCP connection beside the wire, over which two programs agree before a run, meet
// between its parts and notice each other's end. Sockets never block: while a step waits, a
// callback of the caller's runs, which drives its engine (the peer needs ARP answers and ACKs
// meanwhile).
//
// Thread: the caller's, which is also the one the callback runs on.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/sockets.h"

namespace uroce::app {

enum class PeerState : uint8_t {
  present,
  stopped,  ///< it said so and why: stop_reason()
  gone,     ///< the connection is closed: it ended or was killed
};

class SideChannel {
 public:
  /// Takes over a connected socket that does not block.
  SideChannel(int fd, std::string peer, Waiting waiting)
      : fd_(fd), peer_(std::move(peer)), waiting_(std::move(waiting)) {}

  /// Connects to "host:port" by any address `host` has. While the server refuses, as it does before
  /// it listens, tries again for `patience`. Errors: ENOENT (unknown host), ECONNREFUSED,
  /// ETIMEDOUT, ECANCELED, or the system's.
  static Result<SideChannel> connect(const std::string& host, uint16_t port, Waiting waiting,
                                     std::chrono::milliseconds patience = {});

  SideChannel(SideChannel&& other) noexcept;
  SideChannel& operator=(SideChannel&& other) noexcept;
  SideChannel(const SideChannel&) = delete;
  SideChannel& operator=(const SideChannel&) = delete;
  ~SideChannel();

  /// Used by the steps that follow.
  void set_waiting(Waiting waiting) { waiting_ = std::move(waiting); }

  /// The other end as "address port N".
  const std::string& peer() const { return peer_; }

  // Steps. `what` completes "waiting for ..." in errors: ETIMEDOUT, ECANCELED (the callback wants
  // to stop, or the other end did), ECONNRESET (the other end closed), EPROTO (a line too long).

  /// Sends all bytes, in one segment if they are few (the stock tools read once).
  Status send_bytes(std::string_view bytes, std::string_view what);
  Result<std::string> receive_bytes(size_t size, std::string_view what);
  /// `line` has no newline.
  Status send_line(std::string_view line, std::string_view what);
  Result<std::string> receive_line(std::string_view what);
  /// The first byte to come, which stays to be received.
  Result<char> peek(std::string_view what);

  /// Meets the other end at a point both know by `name`. When the other end is at another point:
  /// EPROTO with both names; when it stopped: ECANCELED with its reason.
  Status sync(std::string_view name);

  /// Tells the other end that this one ends early, as after Ctrl-C. Does not wait.
  void send_stop(std::string_view reason);

  /// Looks, without waiting, whether the other end is still in the run. One system call.
  PeerState peer_state();
  bool peer_gone() { return peer_state() == PeerState::gone; }
  /// Requires peer_state() == stopped.
  const std::string& stop_reason() const { return stop_reason_; }

 private:
  Status fill(std::string_view what);
  void close();
  bool take_stop(std::string_view line);

  int fd_ = -1;
  std::string peer_;
  Waiting waiting_;
  std::string received_;  // bytes that have come and were not asked for yet
  std::string stop_reason_;
  bool stopped_ = false;
  bool closed_by_peer_ = false;
};

/// The server's end before a client has come.
class Listener {
 public:
  /// Listens on all addresses, IPv6 and IPv4; port 0 takes a free one. EADDRINUSE names the remedy.
  static Result<Listener> open(uint16_t port);

  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&& other) noexcept;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  uint16_t port() const { return port_; }

  /// Waits for one client. Errors: ETIMEDOUT, ECANCELED, or the system's.
  Result<SideChannel> accept(Waiting waiting);

 private:
  Listener(int fd, uint16_t port) : fd_(fd), port_(port) {}

  int fd_ = -1;
  uint16_t port_ = 0;
};

}  // namespace uroce::app
