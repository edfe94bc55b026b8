// Reader of the golden captures in tests/golden/: classic pcap files, little-endian, Ethernet, made
// by real Soft-RoCE (see the README there). For tests only; throws when a file is not as expected.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace roce::test {

/// One captured frame, from the Ethernet header on, complete.
struct GoldenFrame {
  std::vector<uint8_t> bytes;
  uint64_t time_us = 0;  ///< since the Unix epoch

  /// The IP packet without Ethernet header and padding.
  std::span<const uint8_t> l3() const {
    constexpr size_t kEthernetSize = 14;
    const uint8_t* ip = bytes.data() + kEthernetSize;
    const size_t len =
        ip[0] >> 4 == 6 ? 40U + load_be<uint16_t>(ip + 4) : load_be<uint16_t>(ip + 2);
    if (kEthernetSize + len > bytes.size()) {
      throw std::runtime_error("golden frame shorter than its IP packet");
    }
    return {ip, len};
  }
};

/// Names of all captures ("rc_atomic.pcap"), sorted.
inline std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(ROCE_GOLDEN_DIR)) {
    if (entry.path().extension() == ".pcap") {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// All frames of the capture `name` in order.
inline std::vector<GoldenFrame> golden_frames(const std::string& name) {
  constexpr size_t kFileHeaderSize = 24;
  constexpr size_t kRecordHeaderSize = 16;
  constexpr uint32_t kMagic = 0xa1b2c3d4;  // microsecond time stamps
  constexpr uint32_t kLinkTypeEthernet = 1;
  const auto path = std::filesystem::path(ROCE_GOLDEN_DIR) / name;
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
  const auto word = [&content](size_t at) {
    uint32_t v;
    std::memcpy(&v, content.data() + at, sizeof v);
    return v;
  };
  if (content.size() < kFileHeaderSize || word(0) != kMagic || word(20) != kLinkTypeEthernet) {
    throw std::runtime_error("no pcap file of Ethernet frames: " + path.string());
  }
  std::vector<GoldenFrame> frames;
  for (size_t at = kFileHeaderSize; at < content.size();) {
    if (content.size() - at < kRecordHeaderSize) {
      throw std::runtime_error("cut off: " + path.string());
    }
    const uint64_t time_us = word(at) * uint64_t{1'000'000} + word(at + 4);
    const size_t captured = word(at + 8);
    const size_t original = word(at + 12);
    at += kRecordHeaderSize;
    if (captured != original || content.size() - at < captured) {
      throw std::runtime_error("frame cut off: " + path.string());
    }
    const auto* first = reinterpret_cast<const uint8_t*>(content.data() + at);
    frames.push_back({{first, first + captured}, time_us});
    at += captured;
  }
  return frames;
}

}  // namespace roce::test
