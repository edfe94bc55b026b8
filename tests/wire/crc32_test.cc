// CRC-32 kernels against ISA-L: all short lengths, random long ones, sources that change meanwhile,
// and buffers that end at the edge of accessible memory.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire/crc32.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <isa-l/crc.h>

namespace roce::wire {
namespace {

constexpr uint32_t kSeed = 20240611;

// The CRC as an initialiser of a static object sees it.
const uint32_t kCrcBeforeMain = [] {
  const std::array<uint8_t, 9> digits{'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  return ~crc32_update(kCrc32Start, digits.data(), digits.size());
}();

std::vector<uint8_t> random_bytes(std::mt19937& random, size_t len) {
  std::vector<uint8_t> bytes(len);
  std::generate(bytes.begin(), bytes.end(), [&random] { return static_cast<uint8_t>(random()); });
  return bytes;
}

uint32_t oracle(uint32_t state, const uint8_t* data, size_t len) {
  return ~crc32_gzip_refl(~state, data, len);
}

// `len` accessible bytes between two pages that fault.
class FencedPages {
 public:
  explicit FencedPages(size_t pages)
      : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))), len_(pages * page_) {
    void* all = mmap(nullptr, len_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) {
      std::abort();
    }
    all_ = static_cast<uint8_t*>(all);
    if (mprotect(begin(), len_, PROT_READ | PROT_WRITE) != 0) {
      std::abort();
    }
  }
  FencedPages(const FencedPages&) = delete;
  FencedPages& operator=(const FencedPages&) = delete;
  ~FencedPages() { munmap(all_, len_ + 2 * page_); }

  uint8_t* begin() { return all_ + page_; }
  uint8_t* end() { return begin() + len_; }
  void make_read_only() { EXPECT_EQ(mprotect(begin(), len_, PROT_READ), 0); }

 private:
  size_t page_;
  size_t len_;
  uint8_t* all_ = nullptr;
};

// The same page of memory at two addresses.
class SharedPage {
 public:
  SharedPage() {
    const int file = memfd_create("crc32_test", 0);
    if (file < 0 || ftruncate(file, kSize) != 0) {
      std::abort();
    }
    for (void*& view : views_) {
      view = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (view == MAP_FAILED) {
        std::abort();
      }
    }
    close(file);
  }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;
  ~SharedPage() {
    for (void* view : views_) {
      munmap(view, kSize);
    }
  }

  uint8_t* first() { return static_cast<uint8_t*>(views_[0]); }
  uint8_t* second() { return static_cast<uint8_t*>(views_[1]); }

 private:
  static constexpr size_t kSize = 4096;
  std::array<void*, 2> views_{};
};

class Crc32 : public testing::TestWithParam<CrcKernel> {
 protected:
  void SetUp() override {
    if (!supported(GetParam())) {
      GTEST_SKIP() << "this processor cannot run " << name(GetParam());
    }
  }
  const CrcFunctions& crc() const { return crc_functions(GetParam()); }

  // Checks copy() of src[0, len) to `dst_offset` in a buffer with guard bytes on both sides.
  void expect_copies(uint32_t state, const uint8_t* src, size_t len, size_t dst_offset,
                     uint32_t expected) {
    constexpr uint8_t kGuard = 0xa5;
    constexpr size_t kGuardSize = 80;
    guarded_.assign(dst_offset + len + 2 * kGuardSize, kGuard);
    uint8_t* dst = guarded_.data() + kGuardSize + dst_offset;
    ASSERT_EQ(crc().copy(state, dst, src, len), expected) << "length " << len;
    ASSERT_TRUE(std::equal(dst, dst + len, src)) << "length " << len;
    const auto is_guard = [](uint8_t b) { return b == kGuard; };
    ASSERT_TRUE(std::all_of(guarded_.data(), dst, is_guard)) << "length " << len;
    ASSERT_TRUE(std::all_of(dst + len, guarded_.data() + guarded_.size(), is_guard))
        << "length " << len;
  }

 private:
  std::vector<uint8_t> guarded_;
};

TEST_P(Crc32, GivesThePublishedCheckValue) {
  const std::array<uint8_t, 9> digits{'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  EXPECT_EQ(~crc().update(kCrc32Start, digits.data(), digits.size()), 0xcbf43926U);
}

TEST_P(Crc32, LeavesTheStateAloneForNoBytes) {
  EXPECT_EQ(crc().update(0x12345678, nullptr, 0), 0x12345678U);
  EXPECT_EQ(crc().copy(0x12345678, nullptr, nullptr, 0), 0x12345678U);
}

TEST_P(Crc32, MatchesIsalForEveryLengthTo600AtEveryOffsetTo15) {
  std::mt19937 random(kSeed);
  const auto bytes = random_bytes(random, 700);
  for (size_t offset = 0; offset < 16; ++offset) {
    for (size_t len = 0; len <= 600; ++len) {
      const auto state = static_cast<uint32_t>(random());
      const uint32_t expected = oracle(state, bytes.data() + offset, len);
      ASSERT_EQ(crc().update(state, bytes.data() + offset, len), expected)
          << "offset " << offset << ", length " << len;
      ASSERT_NO_FATAL_FAILURE(
          expect_copies(state, bytes.data() + offset, len, random() % 64, expected));
    }
  }
}

TEST_P(Crc32, MatchesIsalForRandomLengthsCutInTwo) {
  constexpr size_t kMaxLen = 9000;
  std::mt19937 random(kSeed);
  const auto bytes = random_bytes(random, kMaxLen + 64);
  for (int i = 0; i < 30000; ++i) {
    const size_t len = random() % (kMaxLen + 1);
    const size_t cut = random() % (len + 1);
    const auto state = static_cast<uint32_t>(random());
    const uint8_t* data = bytes.data() + random() % 64;
    const uint32_t middle = crc().update(state, data, cut);
    const uint32_t expected = oracle(state, data, len);
    ASSERT_EQ(crc().update(middle, data + cut, len - cut), expected)
        << "seed " << kSeed << ", round " << i << ", length " << len << ", cut " << cut;
    ASSERT_NO_FATAL_FAILURE(expect_copies(middle, data + cut, len - cut, random() % 64, expected));
  }
}

TEST_P(Crc32, CoversTheFirst64BytesWithOnesWhereAsked) {
  std::mt19937 random(kSeed);
  const auto bytes = random_bytes(random, 2100);
  for (size_t len = 16; len <= 2048; len += len < 700 ? 1 : 29) {
    const auto ones = random_bytes(random, kCrcMaskSize);
    const uint8_t* data = bytes.data() + random() % 32;
    std::vector<uint8_t> covered(data, data + len);
    for (size_t i = 0; i < std::min(len, kCrcMaskSize); ++i) {
      covered[i] |= ones[i];
    }
    const auto state = static_cast<uint32_t>(random());
    ASSERT_EQ(crc().update_masked(state, data, ones.data(), len),
              oracle(state, covered.data(), len))
        << "length " << len;
  }
}

TEST_P(Crc32, StaysInsideTheBuffers) {
  FencedPages src(1);
  FencedPages dst(1);
  std::mt19937 random(kSeed);
  std::generate(src.begin(), src.end(), [&random] { return static_cast<uint8_t>(random()); });
  src.make_read_only();
  const std::array<uint8_t, kCrcMaskSize> no_ones{};
  for (size_t len = 0; len <= 600; ++len) {
    const std::array<const uint8_t*, 2> from{src.begin(), src.end() - len};
    const std::array<uint8_t*, 2> to{dst.end() - len, dst.begin()};
    for (size_t i = 0; i < 2; ++i) {
      const uint32_t expected = oracle(kCrc32Start, from[i], len);
      ASSERT_EQ(crc().update(kCrc32Start, from[i], len), expected);
      ASSERT_EQ(crc().copy(kCrc32Start, to[i], from[i], len), expected);
      ASSERT_EQ(std::memcmp(to[i], from[i], len), 0);
      if (len >= 16) {
        ASSERT_EQ(crc().update_masked(kCrc32Start, from[i], no_ones.data(), len), expected);
      }
    }
  }
}

TEST_P(Crc32, IsThatOfTheCopyWhileOthersWriteToTheSource) {
  constexpr size_t kMaxLen = 320;
  SharedPage page;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    volatile uint8_t* bytes = page.second();
    for (uint8_t value = 0; !stop.load(std::memory_order_relaxed); ++value) {
      for (size_t i = 0; i < kMaxLen; ++i) {
        bytes[i] = value;
      }
    }
  });
  std::vector<uint8_t> dst(kMaxLen);
  size_t mismatches = 0;
  for (int i = 0; i < 200000; ++i) {
    const size_t len = static_cast<size_t>(i) % kMaxLen;
    const uint32_t state = crc().copy(kCrc32Start, dst.data(), page.first(), len);
    mismatches += state == oracle(kCrc32Start, dst.data(), len) ? 0 : 1;
  }
  stop = true;
  writer.join();
  EXPECT_EQ(mismatches, 0U);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Crc32, testing::ValuesIn(kCrcKernels),
                         [](const auto& kernel) { return std::string(name(kernel.param)); });

TEST(Crc32Choice, IsRightBeforeMain) {
  EXPECT_EQ(kCrcBeforeMain, 0xcbf43926U);
}

TEST(Crc32Choice, TakesTheBestSupportedKernel) {
  ASSERT_TRUE(supported(best_crc_kernel()));
  for (const CrcKernel kernel : kCrcKernels) {
    EXPECT_TRUE(kernel <= best_crc_kernel() || !supported(kernel)) << name(kernel);
  }
  EXPECT_EQ(detail::crc_in_use.load(), &crc_functions(best_crc_kernel()));
}

TEST(Crc32Choice, CallsReachTheKernel) {
  std::mt19937 random(kSeed);
  const auto bytes = random_bytes(random, 333);
  const std::array<uint8_t, kCrcMaskSize> no_ones{};
  std::vector<uint8_t> copy(bytes.size());
  const uint32_t expected = oracle(7, bytes.data(), bytes.size());
  EXPECT_EQ(crc32_update(7, bytes.data(), bytes.size()), expected);
  EXPECT_EQ(crc32_copy(7, copy.data(), bytes.data(), bytes.size()), expected);
  EXPECT_EQ(copy, bytes);
  EXPECT_EQ(crc32_update_masked(7, bytes.data(), no_ones.data(), bytes.size()), expected);
}

}  // namespace
}  // namespace roce::wire
