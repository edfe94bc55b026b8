// Every limit of an endpoint in one place: reported by query_device and enforced by the calls
// (spec/protocol-and-verbs.md 4.4).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace roce {

inline constexpr uint32_t kMaxSge = 32;            ///< scatter/gather entries of a work request
inline constexpr uint32_t kMaxInline = 512;        ///< bytes of an inline work request
inline constexpr uint32_t kMaxQpWr = 16'384;       ///< work requests of a send or receive queue
inline constexpr uint32_t kMaxSrqWr = 16'384;      ///< work requests of a shared receive queue
inline constexpr uint32_t kMaxCqe = 1u << 20;      ///< entries of a completion queue
inline constexpr uint32_t kMaxMessage = 1u << 31;  ///< bytes of a message (C9-94)
inline constexpr uint32_t kMaxRdAtomic = 128;      ///< READs and atomics in flight of a QP
inline constexpr uint32_t kMinPmtu = 256;          ///< bytes
inline constexpr uint32_t kMaxPmtu = 4096;         ///< bytes
inline constexpr uint32_t kQpnBits = 24;
inline constexpr uint32_t kMaxEngines = 16;             ///< that share a port's addresses
inline constexpr uint32_t kMulticastQpn = 0xffffff;     ///< where datagrams to a group are sent
inline constexpr uint32_t kMaxMulticastGroups = 8'192;  ///< of an endpoint
inline constexpr uint32_t kMaxMulticastQps = 64;        ///< QPs of one group
inline constexpr uint32_t kMaxPkeys = 64;
inline constexpr uint32_t kMaxHeld = 512;  ///< packets a QP keeps that came before an earlier one
inline constexpr size_t kRxBurst = 32;     ///< frames taken from the port in one poll
inline constexpr size_t kTxBurst = 32;     ///< frames built before they are handed to the port
/// Bytes that RoCEv2 may put around a payload inside an IP packet: the largest headers (IPv6, UDP,
/// BTH, DETH, AtomicETH), pad and ICRC. A port's MTU must exceed the path MTU by this much.
inline constexpr uint32_t kPacketOverhead = 80;

/// Sizes of an endpoint's tables; fixed when it is created, ENOMEM beyond.
struct TableSizes {
  uint32_t max_qp = 65'536;
  uint32_t max_mr = 262'144;
  uint32_t max_cq = 16'384;
  uint32_t max_pd = 32'764;
  uint32_t max_srq = 4'096;
  uint32_t max_ah = 262'144;
};

static_assert(kMaxQpWr * 2ull <= UINT32_MAX, "work queue counters may wrap freely");
static_assert((kMaxPmtu & (kMaxPmtu - 1)) == 0 && (kMinPmtu & (kMinPmtu - 1)) == 0);

}  // namespace roce
