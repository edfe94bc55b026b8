// Slow and simple on purpose.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/swarm/model.h"

#include <algorithm>
#include <map>
#include <utility>

namespace roce::swarm {
namespace {

constexpr size_t kAlignment = 8;

using Block = std::unique_ptr<uint8_t[]>;

/// Blocks to be used again, by size.
std::map<size_t, std::vector<Block>>& kept_blocks() {
  static std::map<size_t, std::vector<Block>> blocks;
  return blocks;
}

Block take_block(size_t size) {
  std::vector<Block>& kept = kept_blocks()[size];
  if (kept.empty()) {
    return Block(new uint8_t[size]);
  }
  Block block = std::move(kept.back());
  kept.pop_back();
  return block;
}

void keep_block(size_t size, Block block) {
  constexpr size_t kLargest = 1u << 24;
  if (size <= kLargest) {
    kept_blocks()[size].push_back(std::move(block));
  }
}

/// Noise, always the same.
const Bytes& noise() {
  static const Bytes block = [] {
    Bytes bytes(1u << 20);
    uint64_t x = 0x9e3779b97f4a7c15;
    for (uint8_t& b : bytes) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      b = static_cast<uint8_t>(x >> 32);
    }
    return bytes;
  }();
  return block;
}

}  // namespace

Memory::Memory(size_t size, uint64_t seed)
    : size_(size), noise_at_(seed % 4096), actual_(take_block(size)), expected_(take_block(size)) {
  make_ready(1);
}

void Memory::make_ready(size_t end) {
  constexpr size_t kStep = 4096;
  const Bytes& from = noise();
  while (ready_ < end) {
    const size_t n = std::min(kStep, size_ - ready_);
    const size_t at = noise_at_ + ready_ % (from.size() - 2 * kStep);
    std::memcpy(actual_.get() + ready_, from.data() + at, n);
    std::memcpy(expected_.get() + ready_, from.data() + at, n);
    ready_ += n;
  }
}

Memory::~Memory() {
  keep_block(size_, std::move(expected_));
  keep_block(size_, std::move(actual_));
}

void Memory::fill(Range range, const uint8_t* data) {
  std::copy_n(data, range.size, actual_.get() + range.begin);
  std::copy_n(data, range.size, expected_.get() + range.begin);
}

void Memory::expect(size_t begin, const Bytes& data) {
  std::copy(data.begin(), data.end(), expected_.get() + begin);
}

void Memory::adopt(Range range) {
  std::memcpy(expected_.get() + range.begin, actual_.get() + range.begin, range.size);
}

std::string Memory::settle(Range range, const std::vector<Effect>& effects) {
  for (size_t at = range.begin; at < range.end(); ++at) {
    const uint8_t value = actual_[at];
    if (value == expected_[at]) {
      continue;
    }
    const bool explained = std::any_of(effects.begin(), effects.end(),
                                       [&](const Effect& e) { return e.may_make(at, value); });
    if (!explained) {
      return "byte " + std::to_string(at) + " is what nobody wrote";
    }
    expected_[at] = value;
  }
  return {};
}

std::string Memory::compare(std::vector<Range> open) const {
  std::sort(open.begin(), open.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  size_t at = 0;
  open.push_back({ready_, 0});
  for (const Range& range : open) {
    if (range.begin > at && range.begin <= ready_ &&
        std::memcmp(actual_.get() + at, expected_.get() + at, range.begin - at) != 0) {
      while (actual_[at] == expected_[at]) {
        ++at;
      }
      return "byte " + std::to_string(at) + " differs from the model";
    }
    at = std::max(at, range.end());
  }
  return {};
}

Range Space::take(size_t size) {
  const size_t rounded = (std::max<size_t>(size, 1) + kAlignment - 1) / kAlignment * kAlignment;
  for (Range& range : free_) {
    if (range.size >= rounded) {
      const Range taken{range.begin, rounded};
      range.begin += rounded;
      range.size -= rounded;
      return taken;
    }
  }
  return {};
}

void Space::give(Range range) {
  if (range.size == 0) {
    return;
  }
  const auto after =
      std::lower_bound(free_.begin(), free_.end(), range,
                       [](const Range& a, const Range& b) { return a.begin < b.begin; });
  const auto at = free_.insert(after, range);
  if (const auto next = at + 1; next != free_.end() && at->end() == next->begin) {
    at->size += next->size;
    free_.erase(next);
  }
  if (at != free_.begin() && (at - 1)->end() == at->begin) {
    (at - 1)->size += at->size;
    free_.erase(at);
  }
}

uint64_t WordLog::apply(const Operation& op, uint64_t value) {
  if (op.swap) {
    return value == op.compare ? op.operand : value;
  }
  return value + op.operand;
}

bool WordLog::explains(uint64_t first, uint64_t last) const {
  std::vector<bool> done(done_.size());
  std::vector<bool> unknown(unknown_.size());
  int patience = 100'000;
  return walk(first, last, done, unknown, done_.size(), patience) || patience <= 0;
}

bool WordLog::walk(uint64_t value, uint64_t last, std::vector<bool>& done,
                   std::vector<bool>& unknown, size_t left, int& patience) const {
  if (--patience <= 0) {
    return false;
  }
  if (left == 0 && value == last) {
    return true;
  }
  for (size_t i = 0; i < done_.size(); ++i) {
    if (!done[i] && done_[i].original == value) {
      done[i] = true;
      if (walk(apply(done_[i], value), last, done, unknown, left - 1, patience)) {
        return true;
      }
      done[i] = false;
    }
  }
  for (size_t i = 0; i < unknown_.size(); ++i) {
    if (!unknown[i] && apply(unknown_[i], value) != value) {
      unknown[i] = true;
      if (walk(apply(unknown_[i], value), last, done, unknown, left, patience)) {
        return true;
      }
      unknown[i] = false;
    }
  }
  return false;
}

}  // namespace roce::swarm
