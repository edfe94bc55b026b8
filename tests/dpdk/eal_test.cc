// What start_eal() says when it cannot, and what a running EAL offers.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/dpdk/eal.h"

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <rte_eal.h>
#include <rte_lcore.h>

#include "dpdk/peer_process.h"

namespace roce::test {
namespace {

// The only line that a program with this argument prints.
std::string refusal(const std::string& argument) {
  PeerProcess peer({argument});
  std::string line = peer.read_line();
  EXPECT_EQ(peer.read_line(), "");
  EXPECT_EQ(peer.finish(), 1);
  return line;
}

TEST(Eal, NamesACpuThatIsNotThere) {
  EXPECT_TRUE(
      refusal("cpu=1000").starts_with("CPU 1000 is not available to this process; choose from "));
}

TEST(Eal, TakesACpuOnce) {
  const std::string cpu = std::to_string(sched_getcpu());
  EXPECT_EQ(refusal("cpu=" + cpu + "," + cpu), "CPU " + cpu + " is named twice; name each once");
}

TEST(Eal, SaysInOneLineWhyADeviceCannotBeMade) {
  const std::string line = refusal("net_virtio_user0,path=/nonexistent/socket");
  EXPECT_TRUE(line.find("'net_virtio_user0,path=/nonexistent/socket'") != std::string::npos)
      << line;
  EXPECT_TRUE(line.find("No such file or directory") != std::string::npos) << line;
  EXPECT_TRUE(refusal("net_unheard_of0").find("net_unheard_of0") != std::string::npos);
}

// A vhost-user server that answers one question and hears no other.
class DeafServer {
 public:
  DeafServer() {
    socket_ = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un at{AF_UNIX, {}};
    path_ = testing::TempDir() + "uroce-deaf-" + std::to_string(getpid());
    path_.copy(static_cast<char*>(at.sun_path), sizeof at.sun_path - 1);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(listen(socket_, 1), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~DeafServer() {
    thread_.join();
    close(socket_);
    std::filesystem::remove(path_);
  }
  DeafServer(const DeafServer&) = delete;
  DeafServer& operator=(const DeafServer&) = delete;

  const std::string& path() const { return path_; }

 private:
  struct Header {
    uint32_t request;
    uint32_t flags;
    uint32_t size;
  };
  static constexpr uint32_t kGetFeatures = 1;
  static constexpr uint32_t kReply = 0x5;

  void serve() const {
    const int peer = accept(socket_, nullptr, nullptr);
    Header asked{};
    while (recv(peer, &asked, sizeof asked, MSG_WAITALL) == sizeof asked &&
           asked.request != kGetFeatures) {
    }
    shutdown(peer, SHUT_RD);
    const struct {
      Header header{kGetFeatures, kReply, sizeof(uint64_t)};
      std::array<uint32_t, 2> features{1U << 30, 0};  // there is more to be asked
    } answer;
    EXPECT_EQ(send(peer, &answer, sizeof answer, MSG_NOSIGNAL), ssize_t{sizeof answer});
    pollfd gone{peer, 0, 0};
    poll(&gone, 1, 10'000);
    close(peer);
  }

  int socket_ = -1;
  std::string path_;
  std::thread thread_;
};

TEST(Eal, OutlivesAServerThatLeavesWhileADeviceIsMade) {
  const DeafServer server;
  const std::string line = refusal("net_virtio_user0,path=" + server.path());
  EXPECT_TRUE(line.find(server.path()) != std::string::npos) << line;
}

TEST(Eal, KeepsUsageTextToItself) {
  const std::string line = refusal("--unheard-of");
  EXPECT_TRUE(line.starts_with("DPDK does not start")) << line;
  EXPECT_TRUE(line.ends_with("the extra arguments were: --unheard-of")) << line;
}

TEST(Eal, StartsOnce) {
  const Status again = start_eal({});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, EALREADY);
}

TEST(Eal, LeavesNoRuntimeDirectoryBehind) {
  PeerProcess peer({"net_null0", "1500"});
  ASSERT_EQ(peer.read_line(), "ready");
  const std::filesystem::path own = rte_eal_get_runtime_dir();
  const auto directory = own.parent_path() / ("uroce-" + std::to_string(peer.pid()));
  EXPECT_TRUE(std::filesystem::exists(directory)) << directory;
  EXPECT_EQ(peer.finish(), 0);
  EXPECT_FALSE(std::filesystem::exists(directory)) << directory;
}

TEST(Eal, DoesNotPinTheCallerUnlessCpusAreGiven) {
  cpu_set_t own;
  cpu_set_t parents;  // what this process began with
  CPU_ZERO(&own);
  CPU_ZERO(&parents);
  ASSERT_EQ(sched_getaffinity(0, sizeof own, &own), 0);
  if (sched_getaffinity(getppid(), sizeof parents, &parents) != 0) {
    GTEST_SKIP() << "the parent cannot be asked";
  }
  EXPECT_TRUE(CPU_EQUAL(&own, &parents));
}

TEST(Eal, AddsDevicesWhileRunning) {
  const Status added = add_device("net_null7");
  ASSERT_TRUE(added) << added.error().reason;
  const auto names = device_names();
  EXPECT_NE(std::find(names.begin(), names.end(), "net_null7"), names.end());
  const Status twice = add_device("net_nothing0");
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().reason.find("'net_nothing0'"), std::string::npos);
}

TEST(Eal, GivesAThreadCachesOfItsOwn) {
  bool registered = false;
  bool registered_again = false;
  unsigned lcore = LCORE_ID_ANY;
  std::thread thread([&] {
    registered = register_port_thread();
    registered_again = register_port_thread();
    lcore = rte_lcore_id();
  });
  thread.join();
  EXPECT_TRUE(registered);
  EXPECT_TRUE(registered_again);
  EXPECT_NE(lcore, LCORE_ID_ANY);
  EXPECT_NE(lcore, rte_lcore_id());
}

TEST(Eal, AThreadThatEndsMakesRoomForAnother) {
  for (int i = 0; i < RTE_MAX_LCORE + 10; ++i) {
    bool registered = false;
    std::thread([&] { registered = register_port_thread(); }).join();
    ASSERT_TRUE(registered) << i;
  }
}

}  // namespace
}  // namespace roce::test
