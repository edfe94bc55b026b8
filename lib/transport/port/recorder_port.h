// RecorderPort: writes what passes a port as pcapng, either all of it while it passes, or, as a
// flight recorder, the last packets once a queue pair fails. Each dropped packet has a comment that
// names the reason. A tool for diagnosis: it copies each frame, and now and then waits for the file
// system. Owns the file. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/drop_reason.h"
#include "base/result.h"
#include "port/pcapng_writer.h"
#include "port/wrapping_port.h"

namespace roce {

/// Received frames are written when they are given back, since it is known then what has become of
/// them; sent ones, with their segments, once the port below has accepted them.
///
/// A file that cannot grow ends the recording for good. Traffic is never disturbed.
class RecorderPort final : public WrappingPort {
 public:
  enum class Mode : uint8_t { everything, flight };

  /// Packets that the flight recorder keeps, and how much of each.
  static constexpr size_t kFlightPackets = 4096;
  static constexpr size_t kFlightBytes = 256;
  /// Files that a flight recorder writes at most: "f", "f.2", ...
  static constexpr uint32_t kMostFlights = 8;

  /// Records `below` into `path`, which is created, readable for its owner only, or emptied; in
  /// mode flight not before the first failure, but it must be possible now. A packet's time is
  /// wall_ns_at_zero (Unix time in ns at Instant 0) + now. The error names the file.
  static Result<std::unique_ptr<RecorderPort>> open(std::unique_ptr<Port> below,
                                                    const std::string& path, Mode mode,
                                                    uint64_t wall_ns_at_zero);
  /// Writes what is left.
  ~RecorderPort() override;

  size_t rx_burst(Instant now, std::span<Frame> frames) override;
  size_t tx_burst(Instant now, std::span<Frame> frames) override;
  void release(std::span<Frame> frames) override;
  void note_drop(const Frame& frame, DropReason reason) override;
  void note_failure(uint32_t qpn) override;

  uint32_t flights() const { return flights_; }

 private:
  /// A received frame that is in use above.
  struct Lent {
    uint64_t unix_ns = 0;
    const uint8_t* data = nullptr;
    uint32_t len = 0;
    DropReason reason = DropReason::none;
  };
  /// A packet of the flight recorder.
  struct Kept {
    uint64_t unix_ns = 0;
    uint32_t len = 0;       ///< on the wire
    uint32_t captured = 0;  ///< in `bytes`
    PcapngWriter::Direction direction{};
    DropReason reason = DropReason::none;
    std::array<uint8_t, kFlightBytes> bytes{};
  };

  RecorderPort(std::unique_ptr<Port> below, std::string path, Mode mode, uint64_t wall, int fd);
  void record(uint64_t unix_ns, PcapngWriter::Direction direction, std::span<const uint8_t> bytes,
              DropReason reason);
  void keep(uint64_t unix_ns, PcapngWriter::Direction direction, std::span<const uint8_t> bytes,
            DropReason reason);
  void flush();

  const std::string path_;
  const Mode mode_;
  const uint64_t wall_ns_at_zero_;
  int fd_;  // -1: flight, or ended
  PcapngWriter writer_;
  std::vector<uint8_t> whole_;  // a sent frame in one piece
  std::vector<Lent> lent_;
  std::vector<Kept> ring_;
  size_t kept_ = 0;  // packets so far
  uint32_t flights_ = 0;
};

}  // namespace roce
