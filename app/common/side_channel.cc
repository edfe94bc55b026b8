// Steps over one TCP connection, and the listener it comes from.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/side_channel.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace uroce::app {
namespace {

using Clock = std::chrono::steady_clock;
using roce::failure;

constexpr size_t kLongestLine = size_t{1} << 20U;
constexpr std::string_view kSync = "sync ";
constexpr std::string_view kStop = "stop ";

// Messages are short and answered at once; waiting for more to send only costs time.
void send_at_once(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

Result<SideChannel> SideChannel::connect(const std::string& host, uint16_t port, Waiting waiting,
                                         std::chrono::milliseconds patience) {
  const auto addresses = resolve(host, port);
  if (!addresses) {
    return tl::make_unexpected(addresses.error());
  }
  const auto give_up = Clock::now() + patience;
  while (true) {
    auto connected = connect_to_any(addresses->get(), waiting);
    if (connected) {
      send_at_once(connected->fd);
      return SideChannel(connected->fd, std::move(connected->peer), std::move(waiting));
    }
    if (connected.error().code != ECONNREFUSED || Clock::now() >= give_up) {
      return tl::make_unexpected(std::move(connected.error()));
    }
    if (!waiting.progress) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    } else if (!run_progress(waiting)) {
      return failure(ECANCELED, fmt::format("stopped while connecting to {} port {}", host, port));
    }
  }
}

SideChannel::SideChannel(SideChannel&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      peer_(std::move(other.peer_)),
      waiting_(std::move(other.waiting_)),
      received_(std::move(other.received_)),
      stop_reason_(std::move(other.stop_reason_)),
      stopped_(other.stopped_),
      closed_by_peer_(other.closed_by_peer_) {}

SideChannel& SideChannel::operator=(SideChannel&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
    peer_ = std::move(other.peer_);
    waiting_ = std::move(other.waiting_);
    received_ = std::move(other.received_);
    stop_reason_ = std::move(other.stop_reason_);
    stopped_ = other.stopped_;
    closed_by_peer_ = other.closed_by_peer_;
  }
  return *this;
}

SideChannel::~SideChannel() {
  close();
}

void SideChannel::close() {
  if (fd_ < 0) {
    return;
  }
  // Unread bytes would turn the close into a reset, which may overtake what was sent last.
  std::array<char, 512> rest{};
  while (::recv(fd_, rest.data(), rest.size(), MSG_DONTWAIT) > 0) {
  }
  ::close(std::exchange(fd_, -1));
}

Status SideChannel::send_bytes(std::string_view bytes, std::string_view what) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN || errno == EINTR) {
      if (auto done = wait_for(fd_, POLLOUT, waiting_, peer_, what); !done) {
        return done;
      }
    } else {
      const int code = errno == EPIPE ? ECONNRESET : errno;
      return failure(
          code,
          fmt::format("{} closed the connection, so {} could not be sent; see its own message",
                      peer_, what));
    }
  }
  return {};
}

// Waits until at least one more byte has come.
Status SideChannel::fill(std::string_view what) {
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
    if (got > 0) {
      received_.append(buffer.data(), static_cast<size_t>(got));
      return {};
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      closed_by_peer_ = true;
      return failure(ECONNRESET, fmt::format("{} closed the connection before {} came; see its own "
                                             "message",
                                             peer_, what));
    }
    if (auto done = wait_for(fd_, POLLIN, waiting_, peer_, what); !done) {
      return done;
    }
  }
}

Result<std::string> SideChannel::receive_bytes(size_t size, std::string_view what) {
  while (received_.size() < size) {
    if (auto done = fill(what); !done) {
      return tl::make_unexpected(done.error());
    }
  }
  std::string bytes = received_.substr(0, size);
  received_.erase(0, size);
  return bytes;
}

Status SideChannel::send_line(std::string_view line, std::string_view what) {
  return send_bytes(fmt::format("{}\n", line), what);
}

Result<std::string> SideChannel::receive_line(std::string_view what) {
  size_t end = received_.find('\n');
  while (end == std::string::npos) {
    if (received_.size() > kLongestLine) {
      return failure(EPROTO, fmt::format("{} sent no {} but {} bytes without an end of line; it is "
                                         "no uroce program",
                                         peer_, what, received_.size()));
    }
    if (auto done = fill(what); !done) {
      return tl::make_unexpected(done.error());
    }
    end = received_.find('\n');
  }
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  if (take_stop(line)) {
    return failure(ECANCELED, fmt::format("{} stopped: {}", peer_, stop_reason_));
  }
  return line;
}

Result<char> SideChannel::peek(std::string_view what) {
  if (received_.empty()) {
    if (auto done = fill(what); !done) {
      return tl::make_unexpected(done.error());
    }
  }
  return received_.front();
}

bool SideChannel::take_stop(std::string_view line) {
  if (!line.starts_with(kStop)) {
    return false;
  }
  stopped_ = true;
  stop_reason_ = printable(line.substr(kStop.size()));
  return true;
}

Status SideChannel::sync(std::string_view name) {
  if (auto done = send_line(fmt::format("{}{}", kSync, name), name); !done) {
    return done;
  }
  const auto line = receive_line(name);
  if (!line) {
    return tl::make_unexpected(line.error());
  }
  if (*line != fmt::format("{}{}", kSync, name)) {
    return failure(EPROTO, fmt::format("{} is at \"{}\" while this end is at \"{}{}\"; the two "
                                       "programs differ in version",
                                       peer_, printable(*line), kSync, name));
  }
  return {};
}

void SideChannel::send_stop(std::string_view reason) {
  const std::string line = fmt::format("{}{}\n", kStop, reason);
  // Best effort: the connection closes right after, which tells as much.
  static_cast<void>(::send(fd_, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

PeerState SideChannel::peer_state() {
  std::array<char, 512> buffer{};
  const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got > 0) {
    received_.append(buffer.data(), static_cast<size_t>(got));
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    closed_by_peer_ = true;
  }
  const size_t end = received_.find('\n');
  if (!stopped_ && end != std::string::npos) {
    take_stop(std::string_view(received_).substr(0, end));
  }
  if (stopped_) {
    return PeerState::stopped;
  }
  // Lines that came before the connection was closed are still to be read.
  return closed_by_peer_ && end == std::string::npos ? PeerState::gone : PeerState::present;
}

Result<Listener> Listener::open(uint16_t port) {
  const int fd = listen_on(port);
  if (fd < 0) {
    const int code = errno;
    return failure(code, fmt::format("cannot listen on TCP port {}: {}; end the server that holds "
                                     "it, or choose another port by -p at both ends",
                                     port, text_of_errno(code)));
  }
  sockaddr_in6 own{};
  socklen_t length = sizeof own;
  getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length);
  return Listener(fd, ntohs(own.sin6_port));  // at the same place in sockaddr_in
}

Listener::Listener(Listener&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), port_(other.port_) {}

Listener& Listener::operator=(Listener&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) {
      ::close(fd_);
    }
    fd_ = std::exchange(other.fd_, -1);
    port_ = other.port_;
  }
  return *this;
}

Listener::~Listener() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

Result<SideChannel> Listener::accept(Waiting waiting) {
  const std::string self = fmt::format("port {}", port_);
  while (true) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    const int fd = ::accept4(fd_, reinterpret_cast<sockaddr*>(&address), &length,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      send_at_once(fd);
      return SideChannel(fd, name_of(reinterpret_cast<sockaddr*>(&address), length),
                         std::move(waiting));
    }
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
      return failure(errno, fmt::format("accepting on {}: {}", self, text_of_errno(errno)));
    }
    if (auto done = wait_for(fd_, POLLIN, waiting, self, "client"); !done) {
      return tl::make_unexpected(done.error());
    }
  }
}

}  // namespace uroce::app
