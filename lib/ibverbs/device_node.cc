// Some programs (UCX) look at /dev/infiniband before they believe in a device. The node of ours
// does not exist; for this one path the preloaded library, which stands in front of libc too,
// answers as if it did. The replacement of libibverbs comes after libc for many programs.
// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "objects.h"

namespace roce::ibv {
namespace {

constexpr const char* kFolder = "/dev/infiniband/";

bool is_our_node(const char* path) {
  const size_t folder = std::strlen(kFolder);
  return path != nullptr && std::strncmp(path, kFolder, folder) == 0 &&
         std::strcmp(path + folder, Process::get().device()->dev_name) == 0;
}

/// libc's.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace roce::ibv

UROCE_PUBLIC int access(const char* path, int mode) noexcept {
  if (roce::ibv::is_our_node(path)) {
    return 0;
  }
  return roce::ibv::next<int(const char*, int)>("access")(path, mode);
}

// With 64-bit file offsets, the header makes stat() another name of stat64(); on x86-64 both are
// the same function, and programs use either.
UROCE_PUBLIC int uroce_stat(const char* path, struct stat* out) noexcept __asm__("stat");
UROCE_PUBLIC int uroce_stat64(const char* path, struct stat* out) noexcept __asm__("stat64");

int uroce_stat64(const char* path, struct stat* out) noexcept {
  const char* const seen = roce::ibv::is_our_node(path) ? "/dev/null" : path;
  return roce::ibv::next<int(const char*, struct stat*)>("stat64")(seen, out);
}

int uroce_stat(const char* path, struct stat* out) noexcept {
  return uroce_stat64(path, out);
}
