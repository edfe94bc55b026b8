// What libibverbs does for its callers with the machine: files of /sys, memory at a fork.
// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "objects.h"

namespace {

/// The text of a small file without the newline at its end, cut to `size` bytes with the zero that
/// ends it where there is room. Length, or -1 with errno.
int read_text(const std::string& path, char* out, size_t size) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return -1;
  }
  ssize_t n = read(fd, out, size);
  const int error = errno;
  close(fd);
  errno = error;
  if (n > 0 && out[n - 1] == '\n') {
    --n;
  }
  if (n >= 0 && static_cast<size_t>(n) < size) {
    out[n] = '\0';
  }
  return static_cast<int>(n);
}

}  // namespace

UROCE_PUBLIC const char* ibv_get_sysfs_path() {
  const char* const chosen = std::getenv("SYSFS_PATH");
  return chosen != nullptr ? chosen : "/sys";
}

UROCE_PUBLIC int ibv_read_sysfs_file(const char* folder, const char* file, char* out, size_t size) {
  return read_text(std::string(folder) + "/" + file, out, size);
}

UROCE_PUBLIC int ibv_dontfork_range(void* /*base*/, size_t /*size*/) {
  return 0;  // nothing is pinned, so a fork does no harm
}

UROCE_PUBLIC int ibv_dofork_range(void* /*base*/, size_t /*size*/) {
  return 0;
}
