// What verbs_threads moves: messages that tell who sent them, and the memory they lie in.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace dropin {

inline constexpr uint32_t kThreads = 8;
inline constexpr uint32_t kBytes = 3000;  // of a message: several packets at any path MTU but 4096
inline constexpr uint32_t kOwnReceives = 4;
inline constexpr uint32_t kSharedReceives = 64;

/// Which queue pair a message went over.
enum class Over : uint32_t { shared, own };

/// Who sent a message, and which of its messages it is.
struct Origin {
  uint32_t side = 0;
  Over over = Over::shared;
  uint32_t thread = 0;
  uint32_t round = 0;

  bool operator==(const Origin&) const = default;
};

using Message = std::span<uint8_t, kBytes>;

/// Byte `i` of a message: differs between messages and between places within one.
inline uint8_t byte_of(const Origin& from, size_t i) {
  const size_t over = size_t{from.side} * 2 + static_cast<uint32_t>(from.over);
  const size_t seed = over * size_t{kThreads} + from.thread;
  return static_cast<uint8_t>(seed * 31 + size_t{from.round} * 7 + i + (i >> 8) * 13);
}

inline void write_message(Message to, const Origin& from) {
  std::memcpy(to.data(), &from, sizeof from);
  for (size_t i = sizeof from; i < to.size(); ++i) {
    to[i] = byte_of(from, i);
  }
}

inline Origin origin_of(Message message) {
  Origin from;
  std::memcpy(&from, message.data(), sizeof from);
  return from;
}

/// Every byte is what its origin says.
inline bool is_whole(Message message) {
  const Origin from = origin_of(message);
  for (size_t i = sizeof from; i < message.size(); ++i) {
    if (message[i] != byte_of(from, i)) {
      return false;
    }
  }
  return true;
}

/// One region for all: its places are the same at both ends, so that an offset names the peer's
/// memory as well.
class Arena {
 public:
  /// A thread's places on a queue pair: what it sends, what it reads back, what the peer's thread
  /// of the same number writes, and where an atomic's result goes.
  enum class Part : uint32_t { outgoing, read_back, target, found, count };

  static constexpr size_t counter_offset() { return kCounterAt; }

  Arena() : bytes_(kCounterAt + sizeof(uint64_t)) {}

  uint8_t* base() { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  uint64_t offset(Message m) const { return static_cast<uint64_t>(m.data() - bytes_.data()); }

  Message part(uint32_t thread, Over over, Part part) {
    const uint32_t owner = thread * 2 + static_cast<uint32_t>(over);
    return message(owner * static_cast<uint32_t>(Part::count) + static_cast<uint32_t>(part));
  }
  Message shared_receive(uint32_t i) { return message(kParts + i); }
  Message own_receive(uint32_t thread, uint32_t i) {
    return message(kParts + kSharedReceives + thread * kOwnReceives + i);
  }
  /// What the peer's threads have added, at counter_offset().
  uint64_t counter() const {
    uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + kCounterAt, sizeof value);
    return value;
  }

 private:
  static constexpr uint32_t kParts = kThreads * 2 * static_cast<uint32_t>(Part::count);
  static constexpr uint32_t kMessages = kParts + kSharedReceives + kThreads * kOwnReceives;
  static constexpr size_t kCounterAt = size_t{kMessages} * kBytes;
  static_assert(kCounterAt % sizeof(uint64_t) == 0);

  Message message(uint32_t i) { return Message(bytes_.data() + size_t{i} * kBytes, kBytes); }

  std::vector<uint8_t> bytes_;
};

}  // namespace dropin
