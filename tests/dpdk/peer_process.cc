// See peer_process.h.
// SPDX-License-Identifier: BSD-3-Clause
#include "dpdk/peer_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include <rte_eal.h>

extern char** environ;

namespace roce::test {

PeerProcess::PeerProcess(const std::vector<std::string>& arguments) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe");
  }
  std::vector<std::string> words{ROCE_PORT_PEER};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  const int rc = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  to_child_ = in[1];
  from_child_ = out[0];
  if (rc != 0) {
    throw std::runtime_error("cannot start " + words[0]);
  }
}

PeerProcess::~PeerProcess() {
  kill();
  ::close(from_child_);
}

std::string PeerProcess::read_line() {
  std::string line;
  char letter = 0;
  while (::read(from_child_, &letter, 1) == 1 && letter != '\n') {
    line.push_back(letter);
  }
  return line;
}

void PeerProcess::kill() {
  if (pid_ > 0) {
    const pid_t pid = pid_;
    ::kill(pid, SIGKILL);
    wait();
    // What a process leaves behind that could not clean up.
    std::error_code ignored;
    const std::filesystem::path own = rte_eal_get_runtime_dir();
    std::filesystem::remove_all(own.parent_path() / ("uroce-" + std::to_string(pid)), ignored);
  }
}

int PeerProcess::finish() {
  ::close(std::exchange(to_child_, -1));
  return wait();
}

int PeerProcess::wait() {
  int status = 0;
  if (pid_ <= 0 || ::waitpid(std::exchange(pid_, -1), &status, 0) < 0) {
    return -1;
  }
  if (to_child_ >= 0) {
    ::close(std::exchange(to_child_, -1));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace roce::test
