// Locking a socket path, and telling a live server from a left-over socket.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire_socket.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace roce {
namespace {

constexpr std::string_view kStartServer =
    "start the server first (the end without a host argument), or name its socket by port.socket";

std::string text_of_errno(int code) {
  return std::generic_category().message(code);
}

std::string lock_path(const std::string& path) {
  return path + ".lock";
}

// A write lock on the whole file, owned by the open descriptor and not by the process.
struct flock whole_file() {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  return range;
}

bool try_lock(int fd) {
  struct flock range = whole_file();
  return fcntl(fd, F_OFD_SETLK, &range) == 0;
}

// Asks without locking, so that asking cannot get in the way of a server that starts.
bool is_locked(int fd) {
  struct flock range = whole_file();
  return fcntl(fd, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

// In a folder that others may write, they could put their socket in our place.
Status prepare_folder(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) {
    return {};
  }
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    const int code = errno;
    return failure(code, fmt::format("cannot create the folder {} for the wire's socket: {}; "
                                     "create it or choose another port.socket",
                                     folder.string(), text_of_errno(code)));
  }
  struct stat info {};
  if (stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return failure(ENOTDIR,
                   fmt::format("{} is no folder; choose another port.socket", folder.string()));
  }
  const bool sticky = (info.st_mode & S_ISVTX) != 0;
  const bool others_write = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  const bool ours = info.st_uid == geteuid() || info.st_uid == 0;
  if (!ours || (others_write && !sticky)) {
    return failure(EPERM, fmt::format("the folder {} of the wire's socket can be written by other "
                                      "users; choose a private one by port.socket",
                                      folder.string()));
  }
  return {};
}

std::string holder_of(int lock) {
  std::array<char, 32> text{};
  const ssize_t got = pread(lock, text.data(), text.size() - 1, 0);
  const std::string pid(text.data(), got > 0 ? static_cast<size_t>(got) : 0);
  return pid.empty() ? "another process" : "process " + pid;
}

Status write_holder(int lock, const std::string& path) {
  const std::string pid = fmt::format("{}", getpid());
  if (ftruncate(lock, 0) != 0 || pwrite(lock, pid.data(), pid.size(), 0) < 0) {
    const int code = errno;
    return failure(code, fmt::format("cannot write {}: {}; choose another port.socket",
                                     lock_path(path), text_of_errno(code)));
  }
  return {};
}

// Only the lock's holder may call this: a socket here has no living owner.
Status remove_stale(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) {
    return {};
  }
  if (!S_ISSOCK(info.st_mode)) {
    return failure(EEXIST, fmt::format("{} exists and is no socket; move it away or choose another "
                                       "port.socket",
                                       path));
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    const int code = errno;
    return failure(code, fmt::format("cannot remove the left-over socket {}: {}; remove it by hand",
                                     path, text_of_errno(code)));
  }
  return {};
}

}  // namespace

Result<WireSocket> WireSocket::listen_at(const std::string& path) {
  if (auto done = prepare_folder(path); !done) {
    return tl::make_unexpected(done.error());
  }
  const int lock = open(lock_path(path).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0) {
    const int code = errno;
    return failure(code, fmt::format("cannot open the lock {}: {}; choose another port.socket",
                                     lock_path(path), text_of_errno(code)));
  }
  if (!try_lock(lock)) {
    const std::string holder = holder_of(lock);
    ::close(lock);
    return failure(EADDRINUSE, fmt::format("port in use: the socket {} is held by {}; end it or "
                                           "give this run another one by --set port.socket=PATH",
                                           path, holder));
  }
  WireSocket socket(path, lock);
  if (auto done = write_holder(lock, path); !done) {
    return tl::make_unexpected(done.error());
  }
  if (auto done = remove_stale(path); !done) {
    socket.path_.clear();  // what is there is not ours to remove
    return tl::make_unexpected(done.error());
  }
  return socket;
}

WireSocket::WireSocket(WireSocket&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::exchange(other.lock_, -1)) {}

WireSocket& WireSocket::operator=(WireSocket&& other) noexcept {
  if (this != &other) {
    close();
    path_ = std::exchange(other.path_, {});
    lock_ = std::exchange(other.lock_, -1);
  }
  return *this;
}

WireSocket::~WireSocket() {
  close();
}

// The lock file stays: removing it would let two servers lock two files of one name.
void WireSocket::close() {
  if (lock_ < 0) {
    return;
  }
  if (!path_.empty()) {
    unlink(path_.c_str());
  }
  if (ftruncate(lock_, 0) != 0) {
    // Only the process id for messages; the lock itself is what counts.
  }
  ::close(lock_);
  lock_ = -1;
}

Status check_wire_socket(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) {
    return failure(ENOENT, fmt::format("no server: there is no socket {}; {}", path, kStartServer));
  }
  if (!S_ISSOCK(info.st_mode)) {
    return failure(ENOENT, fmt::format("no server: {} is no socket; {}", path, kStartServer));
  }
  const int lock = open(lock_path(path).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (lock < 0) {
    return {};  // a server other than uroce, which keeps no lock
  }
  const bool dead = !is_locked(lock);
  ::close(lock);
  if (dead) {
    return failure(ECONNREFUSED, fmt::format("no server: the socket {} was left by one that has "
                                             "ended; {}",
                                             path, kStartServer));
  }
  return {};
}

}  // namespace roce
