// PcapPort: writes every frame that passes a port into a capture file that Wireshark and tcpdump
// read (classic pcap, nanoseconds, Ethernet). A tool for diagnosis: it copies each frame, and now
// and then waits for the file system. Owns the file.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "port/wrapping_port.h"

namespace roce {

/// Received frames are written when they are handed up, sent ones, with their segments, once the
/// port below has accepted them. A frame longer than 65535 bytes is cut to that in the file.
///
/// When the file cannot grow (disk full), capturing stops for good; the file ends with a whole
/// frame and frames_not_captured() counts the others. Traffic is never disturbed.
class PcapPort final : public WrappingPort {
 public:
  /// Starts a capture of `below` in the file `path`, which is created, readable for its owner only,
  /// or emptied. A frame's time in the file is wall_ns_at_zero (Unix time in ns at Instant 0) +
  /// now. Error: the file cannot be created or written; the reason names it.
  static Result<std::unique_ptr<PcapPort>> open(std::unique_ptr<Port> below,
                                                const std::string& path, uint64_t wall_ns_at_zero);
  /// The same, for a port that belongs to somebody else and outlives the capture.
  static Result<std::unique_ptr<PcapPort>> open(Port& below, const std::string& path,
                                                uint64_t wall_ns_at_zero);
  /// Flushes.
  ~PcapPort() override;

  size_t rx_burst(Instant now, std::span<Frame> frames) override;
  size_t tx_burst(Instant now, std::span<Frame> frames) override;
  PortStats stats() const override;

  /// Writes what is buffered to the file. Happens by itself after kFlushFrames frames at the
  /// latest.
  void flush();

  uint64_t frames_captured() const { return written_ + buffered_; }
  uint64_t frames_not_captured() const { return not_captured_; }

  static constexpr size_t kFlushFrames = 1024;

 private:
  /// An open file with its file header; the wall clock at Instant 0 goes with it.
  struct Capture {
    int fd = -1;
    uint64_t wall_ns_at_zero = 0;
  };
  static Result<Capture> create(const std::string& path, uint64_t wall_ns_at_zero);

  PcapPort(Port& below, const Capture& capture);
  PcapPort(std::unique_ptr<Port> below, const Capture& capture);

  size_t send_piece(Instant now, std::span<Frame> frames);
  void append(Instant now, const Frame& frame);
  void flush_when_due();
  void stop();

  const Capture capture_;
  const std::unique_ptr<uint8_t[]> buffer_;  ///< whole records
  size_t used_ = 0;                          ///< bytes of it
  uint64_t buffered_ = 0;                    ///< frames in it
  uint64_t file_size_;                       ///< bytes in the file, whole records
  uint64_t written_ = 0;                     ///< frames in the file
  uint64_t not_captured_ = 0;
  uint64_t not_offered_ = 0;  ///< sent frames behind one that the port below refused
  bool stopped_ = false;
};

}  // namespace roce
