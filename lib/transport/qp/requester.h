// Requester: turns send WQEs into request packets, and carries out those that concern this side
// only. Its only input is the send queue; its only output is pull(). What comes back is the
// completer's affair. RC, UC and UD alike. Thread: the engine's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "cq/cqe.h"
#include "qp/core.h"
#include "qp/send_window.h"
#include "qp/step.h"

namespace roce {

class Requester {
 public:
  Requester(QpCore& core, SendWindow& window) : core_(core), window_(window) {}

  void reset();

  /// Builds request packets while the step has room and the window, the attributes and the state
  /// allow.
  void pull(Step& step);

  /// Why the WQE at the front of the window cannot be sent, once everything before it is complete.
  std::optional<CompletionStatus> local_error() const {
    return fault_ && window_.next_index() == 0 ? fault_ : std::nullopt;
  }

 private:
  bool may_send(Instant now) const;
  SendWqe* admit_next();
  bool must_wait(const SendWqe& wqe) const;
  bool send_packet(Step& step, SendWqe& wqe);
  bool send_repair(Step& step);
  /// Where the packet under construction stands.
  Psn place() const { return repairing_ ? window_.una() : window_.next(); }
  bool do_local(Step& step, SendWqe& wqe);
  bool send_data(Step& step, const SendWqe& wqe);
  bool send_datagram(Step& step, SendWqe& wqe);
  bool send_with_response(Step& step, const SendWqe& wqe);
  bool append_payload(Step& step, const SendWqe& wqe, uint32_t offset, uint32_t len);
  void send_read(Step& step, const SendWqe& wqe);
  void send_atomic(Step& step, const SendWqe& wqe);
  void send_flush(Step& step, const SendWqe& wqe);
  bool ack_wanted(Psn psn, bool last) const;
  /// `asks`: the packet wants an answer.
  void note_sent(Instant now, Psn up_to, bool asks);

  QpCore& core_;
  SendWindow& window_;
  // Where in the SGE list the packet `cursor_psn_` starts: spares the walk from the list's head.
  SgePosition cursor_;
  Psn cursor_psn_;
  bool cursor_known_ = false;
  bool repairing_ = false;  // the packet under construction is not the next one
  std::optional<CompletionStatus> fault_;
};

}  // namespace roce
