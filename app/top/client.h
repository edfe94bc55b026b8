// Client: asks one process's DPDK telemetry socket. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "roce/config.h"

namespace uroce::top {

using Json = nlohmann::ordered_json;

/// Sockets of running DPDK programs that this user may reach, in the folders where DPDK puts them.
std::vector<std::string> find_sockets();

class Client {
 public:
  /// Connects and reads the greeting. The errno of the system, or EPROTO when it is not DPDK's.
  static roce::Result<Client> connect(const std::string& path);
  Client(Client&& other) noexcept;
  Client& operator=(Client&&) = delete;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  /// The answer to a command, without its name around it. EPROTO, or ENOLINK when the process has
  /// ended.
  roce::Result<Json> ask(const std::string& command);

  const std::string& path() const { return path_; }
  int pid() const { return pid_; }

 private:
  Client(std::string path, int socket) : path_(std::move(path)), socket_(socket) {}
  roce::Result<Json> receive();

  std::string path_;
  int socket_;
  int pid_ = 0;
};

}  // namespace uroce::top
