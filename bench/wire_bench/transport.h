// Transport: uroce's side of the wire bench: a device and one connected RC queue pair over an open
// port, and the loops that are measured. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <roce/config.h>
#include <roce/verbs.h>

#include "common/run/connection.h"
#include "common/run/host_memory.h"
#include "port/dpdk/dpdk_clock.h"
#include "port/port.h"
#include "wire_bench/messages.h"

namespace uroce::wire_bench {

/// Remembers its last reading: a loop that has just polled the device need not read again.
class LoopClock final : public roce::verbs::Clock {
 public:
  explicit LoopClock(roce::TscClock tsc) : tsc_(tsc) {}
  roce::Instant now() override { return last_ = tsc_.now(); }
  roce::Instant last() const { return last_; }

 private:
  roce::TscClock tsc_;
  roce::Instant last_;
};

struct RoundTrips {
  double p50_ns = 0;
  double p99_ns = 0;
};

class Transport {
 public:
  /// Thread: the creator's, for everything. `port` and `clock` outlive the object.
  static roce::Result<std::unique_ptr<Transport>> create(roce::Port& port, LoopClock& clock,
                                                         const roce::Config& config);

  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  EndAddress address() const;
  uint32_t path_mtu() const { return options_.mtu; }
  /// Packets sent again so far.
  uint64_t retransmitted() const;

  /// What is sent from, and what is received into, READ and written: the two halves.
  std::span<uint8_t> send_memory() const { return memory_.bytes().first(kLargest); }
  std::span<uint8_t> receive_memory() const { return memory_.bytes().subspan(kLargest); }

  roce::Status connect(const EndAddress& peer);
  void poll() { device_->poll(); }

  // The loops; each leaves the connection at rest.

  /// WRITEs, SENDs or READs without a pause; completions a second.
  roce::Result<double> stream(ibv_wr_opcode opcode, const Command& command);
  /// Receives until `stop`; messages a second, timed from the first one on.
  roce::Result<double> receive(const Command& command, const std::atomic<bool>& stop);
  /// Drives the device until `stop`.
  void serve(const std::atomic<bool>& stop);
  /// SENDs and waits for a SEND back, over and over.
  roce::Result<RoundTrips> ping(const Command& command);
  /// Answers each SEND by one, until `stop`.
  roce::Status pong(const Command& command, const std::atomic<bool>& stop);

 private:
  static constexpr uint32_t kLargest = 1u << 20;  // bytes of a message
  static constexpr uint32_t kSendDepth = 256;
  static constexpr uint32_t kRecvDepth = 512;
  static constexpr uint32_t kRecvChunk = 64;  // receives posted at once
  static constexpr uint32_t kRecvStep = 64;   // between the places of two receives
  static constexpr uint32_t kSignalEvery = 32;

  Transport(LoopClock& clock, std::unique_ptr<roce::verbs::Device> device,
            app::ConnectionOptions options, app::HostMemory memory, app::Connection connection,
            roce::verbs::Mr mr);

  void build_receives();
  bool post_receives();
  void build_sends(ibv_wr_opcode opcode, uint32_t size, uint32_t count);
  bool post_sends();
  bool take_sends();
  std::optional<uint32_t> take_receives();
  bool send_one();
  bool drain();
  void settle();
  bool fail(std::string reason);
  tl::unexpected<roce::Error> failed() const { return roce::failure(EIO, reason_); }

  LoopClock& clock_;
  std::unique_ptr<roce::verbs::Device> device_;
  app::ConnectionOptions options_;
  app::HostMemory memory_;
  app::Connection connection_;
  roce::verbs::Mr mr_;
  EndAddress peer_;
  std::vector<ibv_sge> send_sges_;
  std::vector<ibv_send_wr> send_list_;
  std::array<ibv_sge, kRecvChunk> recv_sges_{};
  std::array<ibv_recv_wr, kRecvChunk> recv_list_{};
  std::array<ibv_wc, 64> completions_{};
  uint32_t used_receives_ = 0;  // completed and not posted again
  uint64_t posted_ = 0;
  uint64_t completed_ = 0;
  std::string reason_;
};

}  // namespace uroce::wire_bench
