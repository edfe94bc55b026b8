// End and Opener: what a cell needs of a queue pair, over whichever library this end stands on. The
// requester and the responder are written against these alone, so both ends run one and the same
// code.
//
// Thread: one; poll() and progress() also drive the device where it needs that.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <infiniband/verbs.h>

#include "base/result.h"
#include "common/exchange.h"

namespace uroce::rxe {

/// Messages leave from `kSource` and arrive at `kTarget` of an end's memory; each has room for the
/// longest message and what is checked behind it.
inline constexpr size_t kArea = (size_t{1} << 20U) + 65536;
inline constexpr size_t kSource = 0;
inline constexpr size_t kTarget = kArea;
inline constexpr size_t kMemory = 2 * kArea;

inline constexpr uint32_t kQueueDepth = 64;
inline constexpr uint8_t kOutstandingReads = 4;
inline constexpr uint8_t kPort = 1;
inline constexpr uint8_t kHopLimit = 64;

inline constexpr uint32_t kQkey = 0x11223344;
/// The QPN that datagrams to a group carry.
inline constexpr uint32_t kMulticastQpn = 0xffffff;

/// How a queue pair is made.
struct QpSetup {
  ibv_qp_type type = IBV_QPT_RC;
  bool srq = false;          ///< it receives through a shared receive queue
  bool to_group = false;     ///< UD: sends go to group_of(family)
  bool joins_group = false;  ///< UD: it receives what goes there
  uint32_t family = 4;       ///< of the addresses: 4 or 6
  uint32_t mtu = 1024;       ///< path MTU in bytes
  uint32_t psn = 0;          ///< the first to be sent
  int qp_access = 0;         ///< what the other end may do, as in ibv_qp_attr
  int mr_access = 0;         ///< as in ibv_reg_mr
  uint8_t timeout = 18;      ///< 1.07 s: an emulated machine on busy CPUs stalls for long
  uint8_t retry_count = 7;
  uint8_t rnr_retry = 7;
  uint8_t min_rnr_timer = 14;  ///< 1.28 ms
};

/// A queue pair with its completion queue and kMemory registered bytes.
class End {
 public:
  virtual ~End() = default;

  virtual std::span<uint8_t> memory() = 0;
  virtual uint32_t lkey() const = 0;
  /// What the other end needs; va is that of memory().
  virtual app::EndAddress address() const = 0;
  /// To RTR and RTS.
  virtual roce::Status connect(const app::EndAddress& peer) = 0;
  /// 0 or a positive errno; takes a list.
  virtual int post_send(ibv_send_wr* wr) = 0;
  virtual int post_receive(ibv_recv_wr* wr) = 0;
  /// 1 when there was a completion, 0 when there was none, else a negative errno.
  virtual int poll(ibv_wc& wc) = 0;
  virtual ibv_qp_state state() = 0;
  /// UD, after connect(): the way to the other end, or to the group.
  virtual ibv_ah* address_handle() = 0;
  /// A memory window of type 2, not bound yet; lives as long as this.
  virtual roce::Result<ibv_mw*> make_window() = 0;
  /// The region that is all of memory().
  virtual ibv_mr* region() = 0;
  /// Destroys the queue pair; afterwards only the destructor may be called.
  virtual void destroy_qp() = 0;
};

/// The device that ends are opened on.
class Opener {
 public:
  virtual ~Opener() = default;

  /// An end in state INIT. The device must outlive it.
  virtual roce::Result<std::unique_ptr<End>> open(const QpSetup& setup) = 0;
  /// A moment for the device while nothing else is to be done.
  virtual void progress() = 0;
};

/// The multicast group of the tests.
ibv_gid group_of(uint32_t family);

ibv_qp_init_attr init_attributes_of(const QpSetup& setup);

/// The way to the other end, or to the group.
ibv_ah_attr way_to(const QpSetup& setup, const app::Gid& peer, int gid_index);

/// Fill an attribute set for the steps to INIT, RTR and RTS; each returns its mask.
int init_attributes(const QpSetup& setup, ibv_qp_attr& attr);
int rtr_attributes(const QpSetup& setup, const app::EndAddress& peer, int gid_index,
                   ibv_qp_attr& attr);
int rts_attributes(const QpSetup& setup, ibv_qp_attr& attr);

}  // namespace uroce::rxe
