// What a message costs, counted instead of timed: a number of equal messages between two devices on
// a loopback link. Prints one line of JSON. bench/counts.py runs it, also under valgrind.
//
//     message_costs CASE MESSAGES [strict]
//
// CASE is W64, S64, W1M, S1M or R1M. With "strict" the messages are moved once more in a process
// that the kernel kills at its first system call.
// SPDX-License-Identifier: BSD-3-Clause
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "bursts.h"
#include "engine/counters.h"

namespace {

uint64_t allocations = 0;

}  // namespace

// glibc's own, which everything that allocates ends in.
extern "C" {
void* __libc_malloc(size_t size);                      // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(size_t count, size_t size);        // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* at, size_t size);           // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(size_t alignment, size_t size);  // NOLINT(bugprone-reserved-identifier)

void* malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* at, size_t size) {
  ++allocations;
  return __libc_realloc(at, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
}

namespace {

using roce::bench::Bursts;

struct Case {
  std::string_view name;
  ibv_wr_opcode opcode;
  uint32_t size;
  uint32_t burst;
};

constexpr uint32_t kLarge = 1u << 20;
constexpr Case kCases[] = {{"W64", IBV_WR_RDMA_WRITE, 64, 32},
                           {"S64", IBV_WR_SEND, 64, 32},
                           {"W1M", IBV_WR_RDMA_WRITE, kLarge, 1},
                           {"S1M", IBV_WR_SEND, kLarge, 1},
                           {"R1M", IBV_WR_RDMA_READ, kLarge, 1}};
constexpr int kWarmUp = 8;  // bursts

bool run(Bursts& bursts, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    if (!bursts.run()) {
      return false;
    }
  }
  return true;
}

/// Whether work() succeeds in a process that the kernel kills at its first system call.
template <class Work>
bool survives(Work&& work) {
  const pid_t child = fork();
  if (child == 0) {
    const bool strict = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0;
    const long code = strict && work() ? 0 : 1;
    syscall(SYS_exit, code);  // the only way out that is left
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/// Whether the messages can be moved without any system call, where one would have been noticed.
bool runs_without_system_calls(Bursts& bursts, uint64_t count) {
  return survives([&] { return run(bursts, count); }) && survives([] { return true; }) &&
         !survives([] { return syscall(SYS_getppid) > 0; });
}

int usage() {
  std::fprintf(stderr, "message_costs: give W64, S64, W1M, S1M or R1M and a number of messages\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const Case* chosen = nullptr;
  for (const Case& c : kCases) {
    chosen = argc >= 3 && c.name == argv[1] ? &c : chosen;
  }
  const uint64_t messages = argc >= 3 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (chosen == nullptr || messages == 0) {
    return usage();
  }
  const uint64_t count = (messages + chosen->burst - 1) / chosen->burst;
  Bursts bursts(chosen->opcode, chosen->size, chosen->burst);
  bool fine = allocations > 0 && run(bursts, kWarmUp);  // what makes devices must have been counted
  const uint64_t sent = bursts.side(0).device->counters().sent_packets;
  const uint64_t answered = bursts.side(1).device->counters().sent_packets;
  const uint64_t before = allocations;
  fine = fine && run(bursts, count);
  const uint64_t allocated = allocations - before;
  std::printf("{\"messages\": %" PRIu64 ", \"sent\": %" PRIu64 ", \"answered\": %" PRIu64
              ", \"allocations\": %" PRIu64,
              count * chosen->burst, bursts.side(0).device->counters().sent_packets - sent,
              bursts.side(1).device->counters().sent_packets - answered, allocated);
  if (argc >= 4 && std::string_view(argv[3]) == "strict") {
    std::fflush(stdout);
    std::printf(", \"strict\": %s", runs_without_system_calls(bursts, count) ? "true" : "false");
  }
  std::printf("}\n");
  return fine ? 0 : 1;
}
