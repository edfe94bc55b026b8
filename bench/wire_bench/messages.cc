// Sending and receiving whole messages.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire_bench/messages.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace uroce::wire_bench {
namespace {

template <class Message>
roce::Status send_one(int fd, const Message& message) {
  if (send(fd, &message, sizeof message, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof message)) {
    return roce::failure(errno, "the other process is gone");
  }
  return {};
}

template <class Message>
roce::Result<Message> receive_one(int fd) {
  Message message;
  const ssize_t n = recv(fd, &message, sizeof message, 0);
  if (n < 0) {
    return roce::failure(errno, std::strerror(errno));
  }
  if (n != static_cast<ssize_t>(sizeof message)) {
    return roce::failure(ECONNRESET, "the other process is gone");
  }
  return message;
}

}  // namespace

roce::Status send_message(int fd, const Command& command) {
  return send_one(fd, command);
}
roce::Status send_message(int fd, const Reply& reply) {
  return send_one(fd, reply);
}
roce::Result<Command> receive_command(int fd) {
  return receive_one<Command>(fd);
}
roce::Result<Reply> receive_reply(int fd) {
  return receive_one<Reply>(fd);
}

}  // namespace uroce::wire_bench
