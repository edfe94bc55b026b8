// RcConnection: one RC queue pair with its completion queues and memory regions, taken from nothing
// to RTS. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <roce/verbs.h>

#include "common/args.h"
#include "common/exchange.h"
#include "common/run/host_memory.h"

namespace uroce::app {

/// What a connection is made with; the defaults are those of ibverbs-utils.
struct RcOptions {
  uint32_t send_depth = 128;
  uint32_t recv_depth = 512;
  int gid_index = -1;  ///< -1: the device's default
  uint32_t mtu = 0;    ///< path MTU in bytes; 0: the largest the port carries
  uint8_t service_level = 0;
  uint8_t timeout = 14;        ///< local ACK timeout code: 4.096 us * 2^timeout
  uint8_t retry_count = 7;     ///< after the first try
  uint8_t rnr_retry = 7;       ///< 7: for ever
  uint8_t min_rnr_timer = 12;  ///< code of 0.64 ms
  uint8_t outstanding_reads = 1;
  uint8_t traffic_class = 0;
  std::optional<uint32_t> start_psn;  ///< empty: drawn at random
};

/// Adds the flags that set retries: -u/--qp-timeout, --retry_count, --rnr_retry.
void add_retry_flags(CommandLine& line, RcOptions& options);

/// The longest that a request may go unanswered before it fails, in seconds; 0: for ever.
double give_up_seconds(const RcOptions& options);

/// Fills in mtu and gid_index where they were left open and checks them against the device.
roce::Status complete(const roce::verbs::Device& device, RcOptions& options);

class RcConnection {
 public:
  /// The queue pair is in INIT: receives may be posted. Requires complete()d options; `device` must
  /// outlive the connection.
  static roce::Result<RcConnection> create(roce::verbs::Device& device, const RcOptions& options);

  /// Registers `memory` for local use and for READ and WRITE by the other end.
  roce::Result<roce::verbs::Mr> register_memory(std::span<uint8_t> memory);

  /// What the other end needs; `mr` is the memory it may READ and WRITE, if any.
  QpAddress address(const roce::verbs::Mr* mr) const;
  const Gid& gid() const { return gid_; }
  uint32_t psn() const { return psn_; }

  /// To RTR, which asks for the other end's Ethernet address, and on to RTS.
  roce::Status connect(const Gid& gid, uint32_t qpn, uint32_t psn);

  roce::verbs::Qp& qp() { return qp_; }
  roce::verbs::Cq& send_cq() { return send_cq_; }
  roce::verbs::Cq& recv_cq() { return recv_cq_; }

 private:
  RcConnection(roce::verbs::Device& device, const RcOptions& options, roce::verbs::Pd pd,
               roce::verbs::Cq send_cq, roce::verbs::Cq recv_cq, roce::verbs::Qp qp);
  roce::Status to_init();

  roce::verbs::Device* device_;
  RcOptions options_;
  roce::verbs::Pd pd_;
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
