// System source of unguessable numbers, read in blocks so that creating many QPs stays cheap.
// SPDX-License-Identifier: BSD-3-Clause
#include "base/random.h"

#include <sys/random.h>

#include <array>
#include <cstddef>

#include "base/check.h"

namespace roce {
namespace {

class KernelRandom {
 public:
  uint64_t operator()() {
    if (next_ == block_.size()) {
      refill();
    }
    return block_[next_++];
  }

 private:
  void refill() {
    const ssize_t n = getrandom(block_.data(), sizeof block_, 0);
    ROCE_CHECK(n == static_cast<ssize_t>(sizeof block_));
    next_ = 0;
  }

  // 256 bytes: the largest request that getrandom() never answers short.
  std::array<uint64_t, 32> block_{};
  size_t next_ = block_.size();
};

}  // namespace

RandomSource system_random() {
  return KernelRandom();
}

}  // namespace roce
