// Connection: one queue pair with its completion queues, taken from nothing to RTS.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <roce/verbs.h>

#include "common/exchange.h"
#include "common/options.h"

namespace uroce::app {

/// Fills in mtu and gid_index where they were left open and checks them against the device.
roce::Status complete(const roce::verbs::Device& device, ConnectionOptions& options);
/// The same for a whole run. A size that was not given is lowered to what a datagram holds.
roce::Status complete(const roce::verbs::Device& device, RunOptions& options);

/// Registers `memory` for local use and for whatever the other end may do with it.
roce::Result<roce::verbs::Mr> register_memory(roce::verbs::Device& device,
                                              const roce::verbs::Pd& pd, std::span<uint8_t> memory);

/// What queue pairs may share.
struct Shared {
  const roce::verbs::Srq* srq = nullptr;
  const roce::verbs::CompChannel* channel = nullptr;  ///< for all completion queues
};

/// In front of a received datagram: the GRH, or what stands in its place.
inline constexpr uint64_t kDatagramHead = sizeof(ibv_grh);
inline constexpr uint32_t kQkey = 0x11111111;  ///< that of ibverbs-utils and perftest

class Connection {
 public:
  /// The queue pair is in INIT: receives may be posted. Requires complete()d options; `device` must
  /// outlive the connection.
  static roce::Result<Connection> create(roce::verbs::Device& device, const roce::verbs::Pd& pd,
                                         const ConnectionOptions& options,
                                         const Shared& shared = {});

  uint32_t qpn() const { return qp_.qpn(); }
  /// First PSN that it sends.
  uint32_t psn() const { return psn_; }
  const Gid& gid() const { return gid_; }

  Transport transport() const { return options_.transport; }
  /// UD: the way to the other end. Requires connect().
  ibv_ah* ah() const { return ah_ ? ah_->ibv() : nullptr; }

  /// To RTR, and on to RTS; asks for the other end's Ethernet address on the way.
  roce::Status connect(const Gid& gid, uint32_t qpn, uint32_t psn);

  roce::verbs::Qp& qp() { return qp_; }
  roce::verbs::Cq& send_cq() { return send_cq_; }
  roce::verbs::Cq& recv_cq() { return recv_cq_; }

 private:
  Connection(roce::verbs::Device& device, const roce::verbs::Pd& pd,
             const ConnectionOptions& options, roce::verbs::Cq send_cq, roce::verbs::Cq recv_cq,
             roce::verbs::Qp qp);
  roce::Status to_init();
  roce::Status to_rtr(const ibv_ah_attr& way, uint32_t qpn, uint32_t psn);
  roce::Status to_rts();

  roce::verbs::Device* device_;
  roce::verbs::Pd pd_;
  ConnectionOptions options_;
  roce::verbs::Cq send_cq_;
  roce::verbs::Cq recv_cq_;
  roce::verbs::Qp qp_;
  std::optional<roce::verbs::Ah> ah_;
  uint32_t psn_;
  Gid gid_;
};

/// "Failed status transport retry counter exceeded (12) for wr_id 3; ...", with a remedy where
/// there is a usual one. When the retries were used up: what `qp`, which sent the request, knows of
/// the peer and of how far it had come.
std::string failure_text(const ibv_wc& wc, const roce::verbs::Qp& qp);

}  // namespace uroce::app
