// Frames in and out of the port's buffers.
// SPDX-License-Identifier: BSD-3-Clause
#include "enumeration/burst_port.h"

#include <algorithm>
#include <cstring>

namespace roce::enumeration {

size_t BurstPort::rx_burst(Instant /*now*/, std::span<Frame> frames) {
  const size_t n = pool_.take(frames.first(std::min(frames.size(), in_.size())));
  for (size_t i = 0; i < n; ++i) {
    frames[i].len = static_cast<uint32_t>(in_[i].size());
    std::memcpy(frames[i].data, in_[i].data(), in_[i].size());
  }
  in_.erase(in_.begin(), in_.begin() + static_cast<ptrdiff_t>(n));
  return n;
}

size_t BurstPort::tx_burst(Instant /*now*/, std::span<Frame> frames) {
  for (const Frame& f : frames) {
    sent_.emplace_back(f.data, f.data + f.len);
    pool_.give(f.cookie);
  }
  return frames.size();
}

void BurstPort::release(std::span<Frame> frames) {
  for (const Frame& f : frames) {
    pool_.give(f.cookie);
  }
}

}  // namespace roce::enumeration
