// Message memory from the kernel.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/run/host_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "common/sockets.h"

namespace uroce::app {

roce::Result<HostMemory> HostMemory::allocate(size_t size) {
  if (size == 0) {
    return HostMemory();
  }
  void* const at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) {
    const int code = errno;
    return roce::failure(code, fmt::format("cannot get {} bytes for message buffers: {}; choose a "
                                           "smaller --size or depth",
                                           size, text_of_errno(code)));
  }
  // Fewer TLB misses where the system allows; the run is right without.
  static_cast<void>(madvise(at, size, MADV_HUGEPAGE));
  return HostMemory(static_cast<uint8_t*>(at), size);
}

HostMemory::HostMemory(HostMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  if (this != &other) {
    release();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

HostMemory::~HostMemory() {
  release();
}

void HostMemory::release() {
  if (data_ != nullptr) {
    munmap(data_, size_);
  }
}

}  // namespace uroce::app
