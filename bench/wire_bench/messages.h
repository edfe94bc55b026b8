// What the wire bench's parent and its two ends say to each other: fixed-size messages over a
// socketpair that keeps them apart. All are processes of one program, so memory layout is agreed.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/address.h"
#include "base/result.h"
#include "base/time.h"
#include "common/exchange.h"

namespace uroce::wire_bench {

/// What an end is to do. A passive task answers twice: at once, when it is ready, and when it has
/// been told to stop. The others answer when they are done.
enum class Task : uint8_t {
  open,         ///< DPDK, port, device, queue pair; answers with the own address
  connect,      ///< to `peer`
  jitter,       ///< value: share of `measured` that this CPU was not there
  raw_send,     ///< bare frames of `size` bytes, one way
  raw_receive,  ///< passive; value: frames a second
  raw_ping,     ///< value: ns of a round trip; tail: their 99th percentile
  raw_pong,     ///< passive
  write,        ///< messages of `size` bytes; value: completions a second
  send,         ///< the same
  read,         ///< the same
  receive,      ///< passive; value: messages a second
  serve,        ///< passive: only drives the device
  ping,         ///< value and tail as of raw_ping, of a round trip of two SENDs
  pong,         ///< passive
  report,       ///< answers with counters
  stop,         ///< ends a passive task
};

/// How one end is reached by the other.
struct EndAddress {
  roce::Gid gid;
  app::QpAddress qp;
};

struct Command {
  Task task = Task::stop;
  uint32_t size = 0;
  uint32_t payload = 0;       ///< of a bare frame, to be copied with its ICRC; 0: only touched
  uint32_t memory = 0;        ///< bytes of user memory that such payloads go through
  bool best_slices = false;   ///< a rate is that of the 90th percentile of slices, not the median
  roce::Duration warm_up{};   ///< not measured
  roce::Duration measured{};  ///< what follows it
  EndAddress peer{};
};

struct Reply {
  int code = 0;  ///< 0, or an errno and its reason
  std::array<char, 480> reason{};
  double value = 0;
  double tail = 0;
  uint64_t odd = 0;  ///< bare frames wrong or lost; report: retransmitted packets
  EndAddress address;
  uint32_t path_mtu = 0;

  static Reply of(const roce::Error& error) {
    Reply reply;
    reply.code = error.code == 0 ? EIO : error.code;
    const std::string_view text = std::string_view(error.reason).substr(0, reply.reason.size() - 1);
    text.copy(reply.reason.data(), text.size());
    return reply;
  }
};

static_assert(std::is_trivially_copyable_v<Command> && std::is_trivially_copyable_v<Reply>);

/// EPIPE when the other process is gone.
roce::Status send_message(int fd, const Command& command);
roce::Status send_message(int fd, const Reply& reply);

/// Waits for one message. ECONNRESET when the other process is gone, EINTR after a signal, EAGAIN
/// when the socket's time-out is over.
roce::Result<Command> receive_command(int fd);
roce::Result<Reply> receive_reply(int fd);

}  // namespace uroce::wire_bench
