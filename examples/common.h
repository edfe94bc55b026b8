// What the examples share: an endpoint from the usual configuration, a TCP connection over which
// two processes tell each other their queue pairs, and a queue pair's way to RTS. An example
// without arguments is the server, with a host it is the client; TCP port 18600 or $EXAMPLE_PORT.
//
// Owner: the examples. Errors end the program with one line; a real program would handle them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <roce/endpoint.h>

namespace example {

namespace verbs = roce::verbs;

[[noreturn]] inline void die(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

/// The value of a set-up call, or the end.
template <class T>
T must(roce::Result<T> result) {
  if (!result) {
    die(result.error().reason);
  }
  if constexpr (!std::is_void_v<T>) {
    return std::move(*result);
  }
}

/// The first process of a wire listens, the second one connects; everything else is by UROCE_*.
inline std::unique_ptr<roce::Endpoint> open_endpoint(bool server) {
  roce::ConfigSources sources;
  sources.default_side = server ? roce::Side::a : roce::Side::b;
  sources.environment = roce::process_environment();
  return must(roce::Endpoint::open(must(roce::load_config(sources))));
}

inline ibv_gid own_gid(verbs::Device& device) {
  return must(device.query_gid(1, device.default_gid_index()));
}

/// A TCP connection to the other process. While one end waits it lets the device go on, since the
/// other end may need an answer from it.
class Peer {
 public:
  Peer(roce::Endpoint& endpoint, const char* host) : endpoint_(endpoint) {
    const char* const port = std::getenv("EXAMPLE_PORT");
    socket_ = host == nullptr ? accept_one(port) : connect_to(host, port);
  }
  ~Peer() { ::close(socket_); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// Sends `mine` and returns what the other end sent. Both ends have the same machine.
  template <class T>
  T swap(const T& mine) {
    T theirs{};
    if (::send(socket_, &mine, sizeof mine, MSG_NOSIGNAL) != ssize_t{sizeof mine}) {
      die("the other end has gone");
    }
    for (size_t have = 0; have < sizeof theirs;) {
      const ssize_t got = ::recv(socket_, reinterpret_cast<char*>(&theirs) + have,
                                 sizeof theirs - have, MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN)) {
        die("the other end has gone");
      }
      have += got > 0 ? static_cast<size_t>(got) : 0;
      endpoint_.poll();
    }
    return theirs;
  }

  /// Both ends have come this far.
  void meet() { swap('m'); }

 private:
  static int connect_to(const char* host, const char* port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (::getaddrinfo(host, port != nullptr ? port : "18600", &hints, &list) != 0) {
      die(std::string(host) + ": no such host");
    }
    for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
      const int made = ::socket(at->ai_family, at->ai_socktype, 0);
      if (made >= 0 && ::connect(made, at->ai_addr, at->ai_addrlen) == 0) {
        ::freeaddrinfo(list);
        return made;
      }
      ::close(made);
    }
    die(std::string(host) + " does not listen; start the server first");
  }

  int accept_one(const char* port) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    const int on = 1;
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_port = htons(static_cast<uint16_t>(std::atoi(port != nullptr ? port : "18600")));
    if (::bind(listener, reinterpret_cast<sockaddr*>(&here), sizeof here) != 0 ||
        ::listen(listener, 1) != 0) {
      die("cannot listen; set EXAMPLE_PORT to a free port");
    }
    int made = -1;
    while ((made = ::accept(listener, nullptr, nullptr)) < 0) {
      endpoint_.poll();
    }
    ::close(listener);
    return made;
  }

  roce::Endpoint& endpoint_;
  int socket_ = -1;
};

/// Polls the device until `cq` has a completion, which must be a good one.
inline ibv_wc wait_for(roce::Endpoint& endpoint, verbs::Cq& cq) {
  ibv_wc wc{};
  while (cq.poll({&wc, 1}) == 0) {
    endpoint.poll();
  }
  if (wc.status != IBV_WC_SUCCESS) {
    die(std::string(verbs::wc_status_name(wc.status)));
  }
  return wc;
}

}  // namespace example
