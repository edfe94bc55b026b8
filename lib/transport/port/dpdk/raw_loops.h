// What a device can carry with nothing above it: loops straight over its driver, with the buffers
// and rings that a Port has set up. A benchmark sets the transport's figures beside these.
// Each loop runs on the calling thread, polls without rest and returns when its time is over.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "base/time.h"
#include "port/port.h"

namespace roce {

/// What is done to each frame besides moving it, for what no transport can avoid. Both are given
/// what follows the Ethernet header.
class RawWork {
 public:
  virtual ~RawWork() = default;
  /// Fills a frame to send.
  virtual void write(std::span<uint8_t> packet) = 0;
  /// Takes a received frame in; false when it is not as it was sent.
  virtual bool read(std::span<const uint8_t> packet) = 0;
};

struct RawConfig {
  uint32_t frame_len = 64;  ///< bytes of Ethernet frame, 64 .. 14 + the port's MTU
  uint32_t burst = 32;      ///< frames per driver call, 1..64
  /// The sender writes and the receiver reads one word of every cache line, as a transport would.
  bool touch = true;
  RawWork* work = nullptr;                    ///< done instead of touching; outlives the loop
  Duration warm_up = Duration::from_ms(200);  ///< after the first frame; not measured
  Duration measured = Duration::from_s(1);    ///< up to an hour
  Duration patience = Duration::from_s(8);    ///< for the first frame to come
  const std::atomic<bool>* stop = nullptr;    ///< ends a loop early when it becomes true
};

/// Rates are frames per second. The slices last 2 ms each: on a machine with other work their
/// median says what the device does in a quiet moment, which the mean does not.
struct RawStream {
  uint64_t frames = 0;  ///< in the measured time
  uint64_t wrong = 0;   ///< received with another length than configured, or refused by the work
  Duration elapsed;
  double mean_rate = 0;
  double slice_p10 = 0;
  double slice_p50 = 0;
  double slice_p90 = 0;
};

struct RawRoundTrips {
  uint64_t count = 0;
  uint64_t lost = 0;
  Duration min, p50, p99, p999;
};

/// All of them: EINVAL for a config out of range or a port that is not a DPDK device's.

/// Sends for warm_up and measured; the figures are of frames the driver accepted. Start the
/// receiver first, and let it run on: some devices crash when their reader leaves (memif).
Result<RawStream> raw_stream_tx(Port& port, const RawConfig& config);

/// Receives. ETIMEDOUT when no frame comes within `patience`.
Result<RawStream> raw_stream_rx(Port& port, const RawConfig& config);

/// Sends a frame and waits for its return, over and over. ETIMEDOUT when none ever returns.
Result<RawRoundTrips> raw_ping(Port& port, const RawConfig& config);

/// Sends back what comes, until nothing has come for a second.
Status raw_pong(Port& port, const RawConfig& config);

}  // namespace roce
