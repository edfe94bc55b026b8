// The socket's calls; those on other descriptors are the system's.
// SPDX-License-Identifier: BSD-3-Clause
#include "fuzz/memory_socket.h"

#include <sys/types.h>

#include <algorithm>
#include <cstring>

namespace roce::fuzz {
namespace {

std::string_view waiting;
size_t most = 0;
bool is_open = false;

}  // namespace

void MemorySocket::open(std::string_view bytes, size_t piece) {
  waiting = bytes;
  most = piece;
  is_open = true;
}

bool MemorySocket::closed() {
  return !is_open;
}

namespace {

ssize_t receive(void* buffer, size_t size) {
  const size_t n = std::min({size, most, waiting.size()});
  std::memcpy(buffer, waiting.data(), n);
  waiting.remove_prefix(n);
  return static_cast<ssize_t>(n);
}

}  // namespace
}  // namespace roce::fuzz

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
extern "C" {

ssize_t __real_send(int fd, const void* bytes, size_t size, int flags);
ssize_t __real_recv(int fd, void* buffer, size_t size, int flags);
int __real_close(int fd);

ssize_t __wrap_send(int fd, const void* bytes, size_t size, int flags) {
  return fd == roce::fuzz::MemorySocket::kFd ? static_cast<ssize_t>(size)
                                             : __real_send(fd, bytes, size, flags);
}

ssize_t __wrap_recv(int fd, void* buffer, size_t size, int flags) {
  return fd == roce::fuzz::MemorySocket::kFd ? roce::fuzz::receive(buffer, size)
                                             : __real_recv(fd, buffer, size, flags);
}

int __wrap_close(int fd) {
  if (fd != roce::fuzz::MemorySocket::kFd) {
    return __real_close(fd);
  }
  roce::fuzz::is_open = false;
  return 0;
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
