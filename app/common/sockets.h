// What SideChannel and Listener share below their own words: waiting for a socket under the
// caller's callback, and making sockets. Descriptors are plain; who receives one closes it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <netdb.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "roce/config.h"

namespace uroce::app {

using roce::Result;
using roce::Status;

/// How a step waits.
struct Waiting {
  /// Called again and again; false ends the step with ECANCELED. Without one the step sleeps.
  std::function<bool()> progress;
  /// Longest time a step may go without a byte from the other end; 0: for ever.
  std::chrono::milliseconds limit{0};
};

/// Runs the callback for a few rounds; false when it wants to stop. Requires waiting.progress.
bool run_progress(const Waiting& waiting);

/// Waits until poll(2) reports `events`, or the peer's end. `peer` and `what` fill the error:
/// ETIMEDOUT, ECANCELED, or the system's.
Status wait_for(int fd, short events, const Waiting& waiting, std::string_view peer,
                std::string_view what);

/// "address port N", in numbers.
std::string name_of(const sockaddr* address, socklen_t length);

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// All addresses of a host; ENOENT when it is unknown. Blocks while names are looked up.
Result<AddressList> resolve(const std::string& host, uint16_t port);

struct ConnectedSocket {
  int fd = -1;
  std::string peer;
};

/// Tries the addresses in turn; the last error counts. The socket does not block.
Result<ConnectedSocket> connect_to_any(const addrinfo* list, const Waiting& waiting);

/// A listening socket that does not block, for IPv6 with IPv4 or, on a machine without IPv6, for
/// IPv4; -1 with errno set.
int listen_on(uint16_t port);

/// Text of an errno.
std::string text_of_errno(int code);

/// What the other end sent, fit for a terminal: bytes that are no printable ASCII become '?'.
std::string printable(std::string_view text);

}  // namespace uroce::app
