// PcapngWriter: blocks of a pcapng file (one Ethernet interface, nanoseconds), in memory. All it
// knows is the format. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace roce {

class PcapngWriter {
 public:
  enum class Direction : uint8_t { in = 1, out = 2 };  // as the format numbers them

  /// Starts a file: its section and its interface, which is named.
  void begin(std::string_view interface_name);

  /// One packet. `length`: bytes on the wire, of which `bytes` are there. `comment`: empty for
  /// none.
  void packet(uint64_t unix_ns, Direction direction, std::span<const uint8_t> bytes,
              uint32_t length, std::string_view comment);

  const std::vector<uint8_t>& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  void word(uint32_t value);
  void padded(std::span<const uint8_t> bytes);
  void option(uint16_t code, std::span<const uint8_t> value);
  size_t open_block(uint32_t type);
  void close_block(size_t start);

  std::vector<uint8_t> bytes_;
};

}  // namespace roce
