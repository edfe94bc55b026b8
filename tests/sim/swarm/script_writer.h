// ScriptWriter: watches one end of a schedule and writes what it sees as a case of the packet
// scripts (tests/script): the packets that the end was sent and sent itself, its user's calls, its
// completions and events, at their times. The case needs nothing of the simulator.
//
// It can say one RC queue pair without windows and invalidation, FLUSH and ATOMIC WRITE, whose
// memory and port are left alone, and to which no frame comes damaged. Of anything else refusal()
// tells. The case ends before the queue pair is moved to ERR or RESET, or used in error. Owned by
// whoever runs the schedule; one schedule each.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "base/drop_reason.h"
#include "base/time.h"
#include "sim/swarm/options.h"
#include "sim/swarm/parts.h"
#include "wire/fields.h"

namespace roce::swarm {

class ScriptWriter {
 public:
  using Drops = std::array<uint64_t, kDropReasonCount>;

  /// The end is the first one on this host.
  explicit ScriptWriter(size_t host) : host_(host) {}

  // --- what the schedule does

  /// A connection stands. One of its ends may be the one that is watched.
  void begin(const Connection& c, const Options& options, Instant now);
  bool watches(const End& end) const { return &end == end_; }
  bool watches(const Host& host) const { return end_ != nullptr && host.index == host_; }
  /// The queue pair is no more.
  void stop() { end_ = nullptr; }
  /// What cannot be said in a case has happened.
  void refuse(const std::string& why);

  void on_frame(Instant now, std::span<const uint8_t> frame, bool sent);
  /// A list of requests, which has been accepted.
  void on_post(Instant now, const ibv_send_wr& first, std::span<const SendRecord* const> records);
  void on_receive(Instant now, const ReceiveRecord& record);
  void on_move(Instant now, ibv_qp_state state);
  void on_completion(Instant now, const ibv_wc& wc, bool of_send_queue);
  void on_event(Instant now, ibv_event_type type);
  /// How many packets the device has dropped so far.
  void on_drops(Instant now, const Drops& drops);

  // --- afterwards

  /// Empty, or why there is no case.
  const std::string& refusal() const { return refusal_; }
  /// A file of the suite: a case of this name, under these rules. `head`: lines of comment.
  std::string text(const std::string& name, const std::string& rules,
                   const std::vector<std::string>& head);

 private:
  /// PSNs of a request, and where its data lies.
  struct Span {
    uint32_t psn = 0;
    uint32_t packets = 1;
    Pieces pieces;
  };

  void touch(Instant now);
  void stimulus(Instant now, const std::string& line);
  void flush();
  void flush_list(const char* call, std::vector<std::string>& items);
  std::string packet(const wire::Fields& f, bool sent);
  std::string name_of_packet(const wire::Fields& f, bool sent);
  std::string headers(const wire::Fields& f, bool sent);
  std::string payload(const wire::Fields& f, bool sent);
  std::string own_payload(uint32_t psn, const std::deque<Span>& spans, size_t n);
  std::string place(uint64_t va);
  std::string offset(size_t begin, size_t size);
  int32_t psn_of(const wire::Fields& f, bool sent) const;

  size_t host_;
  const End* end_ = nullptr;
  uint32_t own_psn_ = 0;   // first of the end's requests
  uint32_t peer_psn_ = 0;  // first of its peer's
  uint32_t next_psn_ = 0;  // of the next request to be posted
  size_t pmtu_ = 0;        // bytes
  uint64_t window_va_ = 0;
  size_t window_begin_ = 0;
  uint32_t rkeys_[2] = {};  // of the window, and of the words
  Instant at_;
  Drops drops_{};
  std::deque<Span> posted_;     // requests of the end
  std::deque<Span> asked_for_;  // READs of its peer
  std::vector<std::string> lines_;
  // Since the last line.
  std::vector<std::string> in_;
  std::vector<std::string> out_;
  std::vector<std::string> sent_done_;
  std::vector<std::string> recv_done_;
  std::vector<std::string> events_;
  std::vector<std::string> dropped_;
  std::string refusal_;
};

}  // namespace roce::swarm
