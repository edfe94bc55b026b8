// UcResponder: executes the peer's UC requests. Nothing is answered: whatever is wrong, the message
// is dropped and the next FIRST or ONLY starts anew (spec/protocol-and-verbs.md 3.4).
// Thread: the engine's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/drop_reason.h"
#include "qp/core.h"
#include "qp/receiver.h"
#include "qp/write_target.h"

namespace roce {

class UcResponder {
 public:
  UcResponder(QpCore& core, Receiver& receiver) : core_(core), receiver_(receiver) {}

  void reset(Psn expected) {
    expected_ = expected;
    open_ = Open::nothing;
  }

  /// Takes one request. Not `none`: it was dropped, for that reason.
  DropReason on_request(const wire::Packet& packet, const RegionTable& regions);

 private:
  /// Message that FIRST has opened and LAST has not closed yet.
  enum class Open : uint8_t { nothing, send, write };

  bool continues(const wire::Packet& packet) const;
  DropReason on_send(const wire::Packet& packet, const RegionTable& regions);
  DropReason on_write(const wire::Packet& packet, const RegionTable& regions);
  DropReason give_up(DropReason reason);

  QpCore& core_;
  Receiver& receiver_;
  Psn expected_;
  Open open_ = Open::nothing;
  WriteTarget write_;
};

}  // namespace roce
