// The protocol of DPDK's telemetry: a packet a question, a packet of JSON an answer.
// SPDX-License-Identifier: BSD-3-Clause
#include "client.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

namespace uroce::top {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSocket = "dpdk_telemetry.v2";
constexpr size_t kMostBytes = 16384;  // of an answer

}  // namespace

std::vector<std::string> find_sockets() {
  const char* const own = std::getenv("XDG_RUNTIME_DIR");
  std::vector<fs::path> roots = {"/var/run/dpdk", "/tmp/dpdk"};
  if (own != nullptr) {
    roots.insert(roots.begin(), fs::path(own) / "dpdk");
  }
  std::vector<std::string> found;
  for (const fs::path& root : roots) {
    std::error_code ignored;
    for (const auto& folder : fs::directory_iterator(root, ignored)) {
      const fs::path socket = folder.path() / kSocket;
      if (fs::is_socket(socket, ignored) && ::access(socket.c_str(), W_OK) == 0) {
        found.push_back(socket.string());
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

roce::Result<Client> Client::connect(const std::string& path) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (path.size() >= sizeof to.sun_path) {
    return roce::failure(ENAMETOOLONG, fmt::format("{}: a socket's path has at most {} characters",
                                                   path, sizeof to.sun_path - 1));
  }
  std::memcpy(to.sun_path, path.c_str(), path.size() + 1);
  Client client(path, ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (::connect(client.socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    return roce::failure(errno,
                         fmt::format("{}: {}; has the program ended?", path, std::strerror(errno)));
  }
  auto greeting = client.receive();
  if (!greeting) {
    return tl::make_unexpected(greeting.error());
  }
  client.pid_ = greeting->value("pid", 0);
  return client;
}

Client::Client(Client&& other) noexcept
    : path_(std::move(other.path_)), socket_(std::exchange(other.socket_, -1)), pid_(other.pid_) {}

Client::~Client() {
  if (socket_ >= 0) {
    ::close(socket_);
  }
}

roce::Result<Json> Client::ask(const std::string& command) {
  if (::send(socket_, command.data(), command.size(), MSG_NOSIGNAL) < 0) {
    return roce::failure(ENOLINK, fmt::format("{}: the program has ended", path_));
  }
  auto answer = receive();
  const std::string name = command.substr(0, command.find(','));
  if (answer && answer->contains(name)) {
    return roce::Result<Json>(answer->at(name));
  }
  return answer;
}

roce::Result<Json> Client::receive() {
  std::string text(kMostBytes, '\0');
  const ssize_t got = ::recv(socket_, text.data(), text.size(), 0);
  if (got <= 0) {
    return roce::failure(ENOLINK, fmt::format("{}: the program has ended", path_));
  }
  text.resize(static_cast<size_t>(got));
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    return roce::failure(EPROTO, fmt::format("{}: the answer is not JSON", path_));
  }
  return roce::Result<Json>(std::move(json));
}

}  // namespace uroce::top
