// PeerLink: the TCP connection by which two verbs programs tell each other their queue pairs, and
// that they are done. An error ends the program with one line on stderr.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

namespace dropin {

[[noreturn]] inline void die(const char* what) {
  std::fprintf(stderr, "verbs-threads: %s: %s\n", what, std::strerror(errno));
  std::_Exit(1);
}

inline void need(bool good, const char* what) {
  if (!good) {
    die(what);
  }
}

class PeerLink {
 public:
  /// Connects to `host`; without one, waits for a peer to connect.
  PeerLink(const char* host, const char* port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_family = AF_INET;
    hints.ai_flags = AI_PASSIVE;
    addrinfo* found = nullptr;
    need(getaddrinfo(host, port, &hints, &found) == 0, "no such host or port");
    const int fd = socket(found->ai_family, found->ai_socktype, 0);
    need(fd >= 0, "socket");
    if (host != nullptr) {
      need(connect(fd, found->ai_addr, found->ai_addrlen) == 0, "connect");
      fd_ = fd;
    } else {
      const int yes = 1;
      setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      need(bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, 1) == 0, "listen");
      fd_ = accept(fd, nullptr, nullptr);
      need(fd_ >= 0, "accept");
      close(fd);
    }
    freeaddrinfo(found);
  }
  ~PeerLink() { close(fd_); }
  PeerLink(const PeerLink&) = delete;
  PeerLink& operator=(const PeerLink&) = delete;

  /// Gives the peer a plain value and takes its own: both ends have come this far.
  template <class Value>
  Value exchange(const Value& mine) {
    Value theirs{};
    need(write(fd_, &mine, sizeof mine) == ssize_t{sizeof mine}, "write to the peer");
    need(recv(fd_, &theirs, sizeof theirs, MSG_WAITALL) == ssize_t{sizeof theirs},
         "read from the peer");
    return theirs;
  }

 private:
  int fd_ = -1;
};

}  // namespace dropin
