// Tally: what a fuzzer says at its end beside libFuzzer's own figures, for scripts/fuzz.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/resource.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>

namespace roce::fuzz {

/// One a program, with static storage.
class Tally {
 public:
  Tally() = default;
  ~Tally() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    std::fprintf(stderr, "CPU time: %" PRId64 " ms\n", ms(used.ru_utime) + ms(used.ru_stime));
    if (packets_ > 0) {
      std::fprintf(stderr, "packets fed: %" PRIu64 "\n", packets_);
    }
  }
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;

  void add_packets(uint64_t n) { packets_ += n; }

 private:
  static int64_t ms(const timeval& t) { return int64_t{t.tv_sec} * 1000 + t.tv_usec / 1000; }

  uint64_t packets_ = 0;
};

}  // namespace roce::fuzz
