// Block layout of draft-ietf-opsawg-pcapng, in the byte order of the host.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/pcapng_writer.h"

#include <array>
#include <cstring>

namespace roce {
namespace {

constexpr uint32_t kSection = 0x0a0d0d0a;
constexpr uint32_t kInterface = 1;
constexpr uint32_t kEnhancedPacket = 6;
constexpr uint32_t kByteOrder = 0x1a2b3c4d;
constexpr uint32_t kVersion = 1;  // major 1, minor 0
constexpr uint32_t kEthernet = 1;
constexpr uint16_t kEnd = 0;
constexpr uint16_t kComment = 1;
constexpr uint16_t kName = 2;
constexpr uint16_t kPacketFlags = 2;
constexpr uint16_t kTimeResolution = 9;
constexpr uint8_t kNanoseconds = 9;

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

void PcapngWriter::begin(std::string_view interface_name) {
  const size_t section = open_block(kSection);
  word(kByteOrder);
  word(kVersion);
  word(UINT32_MAX);  // length of the section: not known
  word(UINT32_MAX);
  close_block(section);
  const size_t interface = open_block(kInterface);
  word(kEthernet);
  word(0);  // packets may be of any length
  option(kName, bytes_of(interface_name));
  option(kTimeResolution, {&kNanoseconds, 1});
  option(kEnd, {});
  close_block(interface);
}

void PcapngWriter::packet(uint64_t unix_ns, Direction direction, std::span<const uint8_t> bytes,
                          uint32_t length, std::string_view comment) {
  const size_t block = open_block(kEnhancedPacket);
  word(0);  // interface
  word(static_cast<uint32_t>(unix_ns >> 32U));
  word(static_cast<uint32_t>(unix_ns));
  word(static_cast<uint32_t>(bytes.size()));
  word(length);
  padded(bytes);
  const std::array<uint8_t, 4> flags{static_cast<uint8_t>(direction)};
  option(kPacketFlags, flags);
  if (!comment.empty()) {
    option(kComment, bytes_of(comment));
  }
  option(kEnd, {});
  close_block(block);
}

void PcapngWriter::word(uint32_t value) {
  const size_t at = bytes_.size();
  bytes_.resize(at + sizeof value);
  std::memcpy(&bytes_[at], &value, sizeof value);
}

void PcapngWriter::padded(std::span<const uint8_t> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  bytes_.resize((bytes_.size() + 3) / 4 * 4);
}

void PcapngWriter::option(uint16_t code, std::span<const uint8_t> value) {
  word(code | static_cast<uint32_t>(value.size()) << 16U);
  padded(value);
}

size_t PcapngWriter::open_block(uint32_t type) {
  const size_t start = bytes_.size();
  word(type);
  word(0);  // length, set by close_block()
  return start;
}

void PcapngWriter::close_block(size_t start) {
  const auto length = static_cast<uint32_t>(bytes_.size() - start + sizeof(uint32_t));
  word(length);
  std::memcpy(&bytes_[start + sizeof(uint32_t)], &length, sizeof length);
}

}  // namespace roce
