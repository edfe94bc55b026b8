// HostMemory: page-aligned zeroed memory for message buffers, taken in one piece before a run.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "roce/config.h"

namespace uroce::app {

class HostMemory {
 public:
  /// ENOMEM names the size. `size` 0 gives an empty one.
  static roce::Result<HostMemory> allocate(size_t size);

  HostMemory() = default;
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory();

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<uint8_t> bytes() const { return {data_, size_}; }

 private:
  HostMemory(uint8_t* data, size_t size) : data_(data), size_(size) {}
  void release();

  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace uroce::app
