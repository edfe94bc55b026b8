// Connection: one RC queue pair with its completion queues, taken from nothing to RTS.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <roce/verbs.h>

#include "common/exchange.h"
#include "common/options.h"

namespace uroce::app {

/// Fills in mtu and gid_index where they were left open and checks them against the device.
roce::Status complete(const roce::verbs::Device& device, ConnectionOptions& options);

/// Registers `memory` for local use and for whatever the other end may do with it.
roce::Result<roce::verbs::Mr> register_memory(roce::verbs::Device& device,
                                              const roce::verbs::Pd& pd, std::span<uint8_t> memory);

class Connection {
 public:
  /// The queue pair is in INIT: receives may be posted. Requires complete()d options; `device` must
  /// outlive the connection.
  static roce::Result<Connection> create(roce::verbs::Device& device, const roce::verbs::Pd& pd,
                                         const ConnectionOptions& options);

  uint32_t qpn() const { return qp_.qpn(); }
  /// First PSN that it sends.
  uint32_t psn() const { return psn_; }
  const Gid& gid() const { return gid_; }

  /// To RTR, which asks for the other end's Ethernet address, and on to RTS.
  roce::Status connect(const Gid& gid, uint32_t qpn, uint32_t psn);

  roce::verbs::Qp& qp() { return qp_; }
  roce::verbs::Cq& send_cq() { return send_cq_; }
  roce::verbs::Cq& recv_cq() { return recv_cq_; }

 private:
  Connection(roce::verbs::Device& device, const ConnectionOptions& options, roce::verbs::Cq send_cq,
             roce::verbs::Cq recv_cq, roce::verbs::Qp qp);
  roce::Status to_init();

  roce::verbs::Device* device_;
  ConnectionOptions options_;
  roce::verbs::Cq send_cq_;
  roce::verbs::Cq recv_cq_;
  roce::verbs::Qp qp_;
  uint32_t psn_;
  Gid gid_;
};

/// "Failed status transport retry counter exceeded (12) for wr_id 3; ...", with a remedy where
/// there is a usual one.
std::string failure_text(const ibv_wc& wc);

}  // namespace uroce::app
