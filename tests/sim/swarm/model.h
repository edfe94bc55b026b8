// The model: what memory must contain, said in the simplest way that can be. It knows nothing of
// the library: bytes, ranges, and the order in which a queue pair's requests take effect.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace roce::swarm {

/// Bytes [begin, begin + size) of an end's memory.
struct Range {
  size_t begin = 0;
  size_t size = 0;

  size_t end() const { return begin + size; }
  bool contains(size_t at) const { return at >= begin && at < end(); }
};

using Bytes = std::vector<uint8_t>;

/// A WRITE that may have taken effect, in whole or in part.
struct Effect {
  size_t begin = 0;
  Bytes data;

  bool may_make(size_t at, uint8_t value) const {
    return at >= begin && at < begin + data.size() && data[at - begin] == value;
  }
};

/// The memory of one end: what is really there, and what should be.
class Memory {
 public:
  /// `size` bytes, which become noise as far as they are made ready.
  explicit Memory(size_t size, uint64_t seed);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  size_t size() const { return size_; }
  uint8_t* actual() { return actual_.get(); }
  uint8_t expected(size_t at) const { return expected_[at]; }
  uint8_t actual(size_t at) const { return actual_[at]; }

  /// Bytes before `end` will be used. The rest is neither filled nor compared, which saves most of
  /// the time that short schedules take.
  void make_ready(size_t end);
  /// The application itself writes.
  void fill(Range range, const uint8_t* data);
  /// A transfer is complete: these bytes must be there from now on.
  void expect(size_t begin, const Bytes& data);
  /// Whatever is there is right: the verbs leave it open.
  void adopt(Range range);
  /// Each byte must be the expected one or one that one of the effects makes; adopted if so. Empty,
  /// or what is wrong.
  std::string settle(Range range, const std::vector<Effect>& effects);
  /// All bytes outside `open` must be the expected ones. Empty, or what is wrong.
  std::string compare(std::vector<Range> open) const;

 private:
  size_t size_;
  size_t noise_at_;   // where in the noise it starts
  size_t ready_ = 0;  // bytes, from the front
  std::unique_ptr<uint8_t[]> actual_;
  std::unique_ptr<uint8_t[]> expected_;
};

/// Hands out parts of a memory.
class Space {
 public:
  explicit Space(Range all) : free_{all} {}
  /// A part of `size` bytes, aligned to 8; empty when there is none.
  Range take(size_t size);
  void give(Range range);

 private:
  std::vector<Range> free_;  // sorted
};

/// Everything that was done to one 64-bit word by atomics, and whether it can be true.
class WordLog {
 public:
  struct Operation {
    bool swap = false;  ///< compare and swap, else fetch and add
    uint64_t operand = 0;
    uint64_t compare = 0;
    uint64_t original = 0;  ///< what it returned, if that is known
  };

  /// One that has completed.
  void done(const Operation& op) { done_.push_back(op); }
  /// One of which nobody knows whether it was executed: at most once.
  void unknown(const Operation& op) { unknown_.push_back(op); }
  /// True if the operations, each applied once (unknown ones: at most once), lead from `first` to
  /// `last` in some order that gives every one the original that it returned.
  bool explains(uint64_t first, uint64_t last) const;

 private:
  static uint64_t apply(const Operation& op, uint64_t value);
  bool walk(uint64_t value, uint64_t last, std::vector<bool>& done, std::vector<bool>& unknown,
            size_t left, int& patience) const;

  std::vector<Operation> done_;
  std::vector<Operation> unknown_;
};

}  // namespace roce::swarm
