// Forking the ends, and ending them in every case.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire_bench/process_pair.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "wire_bench/end.h"

namespace uroce::wire_bench {
namespace {

using roce::failure;
using roce::Result;
using roce::Side;
using roce::Status;

constexpr int kAnswerSeconds = 30;       // the longest task takes a few seconds
constexpr int kEndMilliseconds = 5'000;  // for a child to take down its port

/// How a process ended, for people.
std::string ended(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("was ended by signal {}", WTERMSIG(status));
  }
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

/// Waits up to kEndMilliseconds for the process to end.
bool reap(pid_t pid, int& status) {
  for (int waited_ms = 0; waited_ms < kEndMilliseconds; ++waited_ms) {
    if (waitpid(pid, &status, WNOHANG) == pid) {
      return true;
    }
    usleep(1000);
  }
  return false;
}

}  // namespace

Status ProcessPair::start(const std::array<roce::Config, 2>& configs) {
  for (size_t i = 0; i < children_.size(); ++i) {
    std::array<int, 2> sockets{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
      return failure(errno, fmt::format("socketpair: {}", std::strerror(errno)));
    }
    const pid_t pid = fork();
    if (pid < 0) {
      const int code = errno;
      close(sockets[0]);
      close(sockets[1]);
      return failure(code, fmt::format("fork: {}", std::strerror(code)));
    }
    if (pid == 0) {
      // Ctrl-C reaches all three; the ends follow their parent.
      signal(SIGINT, SIG_IGN);
      signal(SIGTERM, SIG_DFL);
      for (const Child& other : children_) {
        close(other.control);
      }
      close(sockets[0]);
      std::exit(serve_parent(sockets[1], configs[i]));
    }
    close(sockets[1]);
    const timeval limit{kAnswerSeconds, 0};
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    children_[i] = {pid, sockets[0]};
  }
  return {};
}

ProcessPair::~ProcessPair() {
  for (Child& c : children_) {
    if (c.pid > 0) {
      close(c.control);
    }
  }
  for (Child& c : children_) {
    int status = 0;
    if (c.pid > 0 && !reap(c.pid, status)) {
      kill(c.pid, SIGKILL);
      waitpid(c.pid, &status, 0);
    }
  }
}

Status ProcessPair::tell(Side side, const Command& command) {
  if (auto s = send_message(child(side).control, command); !s) {
    return failure(s.error().code, fmt::format("end {} is gone", name_of(side)));
  }
  return {};
}

Result<Reply> ProcessPair::hear(Side side) {
  Child& c = child(side);
  auto reply = receive_reply(c.control);
  if (reply && reply->code == 0) {
    return reply;
  }
  if (reply) {
    return failure(reply->code, fmt::format("end {}: {}", name_of(side), reply->reason.data()));
  }
  switch (reply.error().code) {
    case EINTR:
      return failure(EINTR, "interrupted");
    case EAGAIN:
      return failure(ETIMEDOUT, fmt::format("end {} does not answer within {} s", name_of(side),
                                            kAnswerSeconds));
    default:
      break;
  }
  int status = 0;
  std::string how = "is gone";
  if (reap(c.pid, status)) {
    close(c.control);
    c = {};
    how = ended(status);
  }
  return failure(ECONNRESET, fmt::format("end {} {}", name_of(side), how));
}

Result<Reply> ProcessPair::ask(Side side, const Command& command) {
  if (auto s = tell(side, command); !s) {
    return tl::make_unexpected(s.error());
  }
  return hear(side);
}

Result<std::array<Reply, 2>> ProcessPair::run_both(const Command& passive, const Command& active,
                                                   Side active_side) {
  const Side passive_side = active_side == Side::a ? Side::b : Side::a;
  if (auto ready = ask(passive_side, passive); !ready) {
    return tl::make_unexpected(ready.error());
  }
  const auto done = ask(active_side, active);
  // It must hear its stop in any case. If both have failed, it knows better what went wrong, unless
  // the active end has died.
  const auto at_passive = ask(passive_side, {.task = Task::stop});
  if (!at_passive && (done || done.error().code != ECONNRESET)) {
    return tl::make_unexpected(at_passive.error());
  }
  if (!done) {
    return tl::make_unexpected(done.error());
  }
  return std::array<Reply, 2>{*at_passive, *done};
}

}  // namespace uroce::wire_bench
