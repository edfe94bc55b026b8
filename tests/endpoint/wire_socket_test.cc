// One server a socket path, left-over sockets, and clients without a server.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/temp_dir.h"

namespace roce {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class WireSocketTest : public ::testing::Test {
 protected:
  // Makes a socket at path_ as a server's device does, and closes it without removing it.
  void leave_socket() const {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::close(fd);
  }

  bool exists() const { return ::access(path_.c_str(), F_OK) == 0; }

  test::TempDir folder_;
  std::string path_ = folder_.path("w.sock");
};

TEST_F(WireSocketTest, second_server_is_refused_with_the_holders_process_id) {
  const auto first = WireSocket::listen_at(path_);
  ASSERT_TRUE(first) << first.error().reason;
  const auto second = WireSocket::listen_at(path_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, EADDRINUSE);
  EXPECT_THAT(second.error().reason,
              AllOf(HasSubstr("port in use: the socket "), HasSubstr(path_),
                    HasSubstr("process " + std::to_string(getpid())), HasSubstr("port.socket")));
}

TEST_F(WireSocketTest, path_is_free_again_when_the_server_closes) {
  {
    const auto first = WireSocket::listen_at(path_);
    ASSERT_TRUE(first);
    leave_socket();
  }
  EXPECT_FALSE(exists());
  EXPECT_TRUE(WireSocket::listen_at(path_));
}

TEST_F(WireSocketTest, path_is_free_again_when_the_server_is_killed) {
  const pid_t child = fork();
  if (child == 0) {
    const auto socket = WireSocket::listen_at(path_);
    leave_socket();
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_TRUE(exists());
  const Status client = check_wire_socket(path_);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ECONNREFUSED);
  EXPECT_THAT(
      client.error().reason,
      AllOf(HasSubstr(path_), HasSubstr("was left by one that has ended; start the server first")));
  EXPECT_TRUE(WireSocket::listen_at(path_));
}

TEST_F(WireSocketTest, stale_socket_is_removed_and_other_files_are_not) {
  leave_socket();
  {
    const auto server = WireSocket::listen_at(path_);
    ASSERT_TRUE(server);
    EXPECT_FALSE(exists());
  }
  folder_.write("w.sock", "precious");
  const auto refused = WireSocket::listen_at(path_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, EEXIST);
  EXPECT_THAT(refused.error().reason,
              HasSubstr("exists and is no socket; move it away or choose another port.socket"));
  EXPECT_TRUE(exists());
}

TEST_F(WireSocketTest, folder_is_made_private_and_a_shared_one_is_refused) {
  const std::string inner = folder_.path("new/w.sock");
  ASSERT_TRUE(WireSocket::listen_at(inner));
  struct stat info {};
  ASSERT_EQ(::stat(folder_.path("new").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);

  ASSERT_EQ(::chmod(folder_.path("new").c_str(), 0777), 0);
  const auto refused = WireSocket::listen_at(inner);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, EPERM);
  EXPECT_THAT(
      refused.error().reason,
      HasSubstr("of the wire's socket can be written by other users; choose a private one"));

  const auto missing = WireSocket::listen_at(folder_.path("no/such/w.sock"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ENOENT);
  EXPECT_THAT(missing.error().reason, HasSubstr("cannot create the folder "));
}

TEST_F(WireSocketTest, paths_that_cannot_be_a_socket_of_the_wire) {
  folder_.write("plain", "text");
  const auto below = WireSocket::listen_at(folder_.path("plain/w.sock"));
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().code, ENOTDIR);
  EXPECT_THAT(below.error().reason, HasSubstr("plain is no folder; choose another port.socket"));
  ASSERT_EQ(::mkdir((path_ + ".lock").c_str(), 0700), 0);
  const auto locked = WireSocket::listen_at(path_);
  ASSERT_FALSE(locked);
  EXPECT_EQ(locked.error().code, EISDIR);
  EXPECT_THAT(locked.error().reason, HasSubstr("cannot open the lock "));
  const Status client = check_wire_socket(folder_.path("plain"));
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().reason, HasSubstr("plain is no socket; start the server first"));
}

TEST_F(WireSocketTest, client_without_server_is_told_to_start_it) {
  const Status none = check_wire_socket(path_);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ENOENT);
  EXPECT_THAT(none.error().reason, HasSubstr("no server: there is no socket " + path_ + "; start"));
}

TEST_F(WireSocketTest, client_finds_a_live_server_and_does_not_disturb_it) {
  const auto server = WireSocket::listen_at(path_);
  ASSERT_TRUE(server);
  leave_socket();
  EXPECT_TRUE(check_wire_socket(path_));
  EXPECT_TRUE(check_wire_socket(path_));
  EXPECT_FALSE(WireSocket::listen_at(path_));
}

TEST_F(WireSocketTest, client_trusts_a_foreign_server_that_keeps_no_lock) {
  leave_socket();
  EXPECT_TRUE(check_wire_socket(path_));
}

TEST_F(WireSocketTest, moved_socket_keeps_the_lock) {
  auto first = WireSocket::listen_at(path_);
  ASSERT_TRUE(first);
  WireSocket moved = std::move(*first);
  EXPECT_EQ(moved.path(), path_);
  EXPECT_FALSE(WireSocket::listen_at(path_));
}

}  // namespace
}  // namespace roce
