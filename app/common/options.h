// What a run is, as plain data: where the other end is, what is sent how often, and over what kind
// of connection. Filled in by the command line. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "roce/config.h"

namespace uroce::app {

/// What is measured.
enum class Operation : uint8_t { send, write, write_imm, read, atomic_fadd, atomic_cswap };

inline constexpr std::array kOperations = {Operation::send,        Operation::write,
                                           Operation::write_imm,   Operation::read,
                                           Operation::atomic_fadd, Operation::atomic_cswap};

/// "send", "write_imm", ...
std::string_view name_of(Operation operation);

constexpr bool is_atomic(Operation operation) {
  return operation == Operation::atomic_fadd || operation == Operation::atomic_cswap;
}
/// Bytes come to the client, and the server's program has nothing to do.
constexpr bool fetches(Operation operation) {
  return operation == Operation::read || is_atomic(operation);
}
/// Each message takes a receive of the other end's.
constexpr bool takes_receive(Operation operation) {
  return operation == Operation::send || operation == Operation::write_imm;
}

enum class Transport : uint8_t { rc, uc, ud };

/// "RC", "UC", "UD".
std::string_view name_of(Transport transport);

/// Bytes that an atomic moves.
inline constexpr uint64_t kAtomicSize = 8;

/// What a queue pair is made with; the defaults are those of ibverbs-utils.
struct ConnectionOptions {
  Transport transport = Transport::rc;
  bool use_srq = false;  ///< all queue pairs receive from one shared queue of recv_depth
  bool events = false;   ///< completions are waited for on a channel
  uint32_t send_depth = 128;
  uint32_t recv_depth = 512;
  int gid_index = -1;  ///< -1: the device's default, or with `ipv6` the first IPv6 one
  bool ipv6 = false;
  uint32_t mtu = 0;  ///< path MTU in bytes; 0: the largest the port carries
  uint8_t service_level = 0;
  uint8_t traffic_class = 0;
  uint8_t hop_limit = 64;
  uint32_t flow_label = 0;     ///< IPv6; and the UDP source port follows from it
  uint32_t inline_size = 0;    ///< messages up to this many bytes are copied when they are posted
  uint8_t timeout = 14;        ///< local ACK timeout code: 4.096 us * 2^timeout
  uint8_t retry_count = 7;     ///< after the first try
  uint8_t rnr_retry = 7;       ///< 7: for ever
  uint8_t min_rnr_timer = 12;  ///< code of 0.64 ms
  uint8_t outstanding_reads = 1;
  std::optional<uint32_t> start_psn;  ///< empty: drawn at random
};

/// Messages may be lost without anybody being told.
inline bool is_unreliable(const ConnectionOptions& options) {
  return options.transport != Transport::rc;
}

/// The longest that a request may go unanswered before it fails, in seconds; 0: for ever.
double give_up_seconds(const ConnectionOptions& options);

/// What the programs share.
struct RunOptions {
  std::string host;  ///< empty: server
  uint16_t port = 18515;
  std::string device;  ///< empty: the first
  Operation operation = Operation::send;
  uint64_t size = 0;
  bool size_given = false;
  uint64_t iterations = 0;
  uint32_t duration_s = 0;  ///< 0: iterations count
  bool validate = false;    ///< -c / --chk, --data_validation
  std::optional<uint64_t> seed;
  uint32_t qps = 1;
  ConnectionOptions connection;
  std::string json;  ///< empty: none; "-": stdout; else a file
  bool show_config = false;
  std::string plot;  ///< picture of the result, by gnuplot; empty: none
  std::string config_file;
  std::vector<roce::ConfigFlag> config_flags;  ///< --set, --side, --drive, --fault, --capture

  bool is_server() const { return host.empty(); }
  /// Results for people go to stdout.
  bool text() const { return json != "-"; }
};

/// Where the program's configuration comes from: its flags, the environment, the file.
roce::ConfigSources config_sources(const RunOptions& options);

}  // namespace uroce::app
