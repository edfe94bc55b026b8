// The waiting loop and the making of sockets.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/sockets.h"

#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace uroce::app {
namespace {

using Clock = std::chrono::steady_clock;
using roce::failure;

// The engine must not be slowed by a system call each round: one look at the socket serves many.
constexpr int kRoundsBetweenLooks = 64;
constexpr int kSleepMs = 50;

std::string seconds(std::chrono::milliseconds time) {
  return fmt::format("{:g} s", static_cast<double>(time.count()) / 1000);
}

int ready_now(int fd, short events, int timeout_ms) {
  pollfd entry{.fd = fd, .events = events, .revents = 0};
  const int rc = ::poll(&entry, 1, timeout_ms);
  return rc < 0 && errno == EINTR ? 0 : rc;
}

class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds limit) : limit_(limit), end_(Clock::now() + limit) {}

  bool passed() const { return limit_.count() != 0 && Clock::now() >= end_; }

 private:
  std::chrono::milliseconds limit_;
  Clock::time_point end_;
};

// One attempt at one address.
Result<int> connect_to(const addrinfo& address, const Waiting& waiting, const std::string& name) {
  const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return failure(errno, fmt::format("cannot connect to {}: {}", name, text_of_errno(errno)));
  }
  Status done;
  if (::connect(fd, address.ai_addr, address.ai_addrlen) != 0) {
    int code = errno;
    if (code == EINPROGRESS) {
      done = wait_for(fd, POLLOUT, waiting, name, "connection");
      socklen_t length = sizeof code;
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length);
    }
    if (done && code != 0) {
      done = failure(code, fmt::format("cannot connect to {}: {}; start the server first, or "
                                       "choose the port by -p",
                                       name, text_of_errno(code)));
    }
  }
  if (!done) {
    ::close(fd);
    return tl::make_unexpected(done.error());
  }
  return fd;
}

int bind_any(int family, uint16_t port) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return -1;
  }
  const int on = 1;
  const int off = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage address{};
  socklen_t length = sizeof(sockaddr_in);
  if (family == AF_INET6) {
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    length = sizeof *v6;
  } else {
    auto* const v4 = reinterpret_cast<sockaddr_in*>(&address);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
  }
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 || ::listen(fd, 1) != 0) {
    const int code = errno;
    ::close(fd);
    errno = code;
    return -1;
  }
  return fd;
}

}  // namespace

std::string text_of_errno(int code) {
  return std::generic_category().message(code);
}

std::string printable(std::string_view text) {
  std::string clean(text);
  std::replace_if(
      clean.begin(), clean.end(), [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return clean;
}

bool run_progress(const Waiting& waiting) {
  for (int i = 0; i < kRoundsBetweenLooks; ++i) {
    if (!waiting.progress()) {
      return false;
    }
  }
  return true;
}

Status wait_for(int fd, short events, const Waiting& waiting, std::string_view peer,
                std::string_view what) {
  const Deadline deadline(waiting.limit);
  while (true) {
    const int rc = ready_now(fd, events, waiting.progress ? 0 : kSleepMs);
    if (rc < 0) {
      return failure(errno, fmt::format("waiting for {}: {}", what, text_of_errno(errno)));
    }
    if (rc > 0) {
      return {};
    }
    if (waiting.progress && !run_progress(waiting)) {
      return failure(ECANCELED, fmt::format("stopped while waiting for {}", what));
    }
    if (deadline.passed()) {
      return failure(ETIMEDOUT, fmt::format("{}: no {} within {}; is it alive, and of the same "
                                            "version?",
                                            peer, what, seconds(waiting.limit)));
    }
  }
}

std::string name_of(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> service{};
  if (getnameinfo(address, length, host.data(), host.size(), service.data(), service.size(),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "the other end";
  }
  return fmt::format("{} port {}", host.data(), service.data());
}

Result<AddressList> resolve(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int rc = getaddrinfo(host.c_str(), fmt::format("{}", port).c_str(), &hints, &found);
  if (rc != 0) {
    return failure(ENOENT, fmt::format("unknown host {}: {}; check the name or give an address",
                                       host, gai_strerror(rc)));
  }
  return AddressList(found, &freeaddrinfo);
}

Result<ConnectedSocket> connect_to_any(const addrinfo* list, const Waiting& waiting) {
  Result<ConnectedSocket> result = failure(ENOENT, "the host has no address");
  for (; list != nullptr; list = list->ai_next) {
    const std::string name = name_of(list->ai_addr, list->ai_addrlen);
    const auto fd = connect_to(*list, waiting, name);
    if (fd) {
      return ConnectedSocket{*fd, name};
    }
    result = tl::make_unexpected(fd.error());
    if (fd.error().code == ECANCELED) {
      break;
    }
  }
  return result;
}

int listen_on(uint16_t port) {
  const int fd = bind_any(AF_INET6, port);
  return fd < 0 && errno != EADDRINUSE && errno != EACCES ? bind_any(AF_INET, port) : fd;
}

}  // namespace uroce::app
