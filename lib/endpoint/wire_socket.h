// The UNIX socket of a two-process wire: who may listen on it, what is left over from a dead
// server, and whether there is a server to connect to. DPDK's own messages about these are unclear
// or absent.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "base/result.h"

namespace roce {

/// Held by side a for as long as its port is open: the right to own one socket path. It is a lock
/// on a file beside the socket, which the kernel releases when the process ends, however it ends.
class WireSocket {
 public:
  /// Creates the folder (mode 0700) when it is missing, takes the lock and removes a socket that a
  /// dead server left. Errors: EADDRINUSE (another server lives, with its process id), EPERM (the
  /// folder is somebody else's), EEXIST (the path is something other than a socket), or the
  /// system's.
  static Result<WireSocket> listen_at(const std::string& path);

  WireSocket(WireSocket&& other) noexcept;
  WireSocket& operator=(WireSocket&& other) noexcept;
  WireSocket(const WireSocket&) = delete;
  WireSocket& operator=(const WireSocket&) = delete;
  /// Removes the socket and gives up the lock.
  ~WireSocket();

  const std::string& path() const { return path_; }

 private:
  WireSocket(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  void close();

  std::string path_;
  int lock_ = -1;
};

/// For side b before it connects: refuses (ENOENT, ECONNREFUSED) when nobody listens at `path`.
Status check_wire_socket(const std::string& path);

}  // namespace roce
