// UdResponder: receives datagrams. Whatever is wrong is dropped without a word
// (spec/error-behaviour.md 1.4). Thread: the engine's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/drop_reason.h"
#include "qp/core.h"
#include "qp/receiver.h"

namespace roce {

/// Bytes ahead of the payload in each receive buffer: the IP header, as a GRH
/// (spec/protocol-and-verbs.md 5.3).
inline constexpr uint32_t kGrhBytes = 40;

class UdResponder {
 public:
  UdResponder(QpCore& core, Receiver& receiver) : core_(core), receiver_(receiver) {}

  /// Takes one datagram. Not `none`: it was dropped, for that reason.
  DropReason on_datagram(const wire::Packet& packet, const RegionTable& regions);

 private:
  MemoryFault place(const wire::Packet& packet, const RegionTable& regions);

  QpCore& core_;
  Receiver& receiver_;
};

}  // namespace roce
