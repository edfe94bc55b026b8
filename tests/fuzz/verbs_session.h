// VerbsSession: one sequence of calls of the native API with arbitrary arguments, on a device whose
// packets come back to itself, or go nowhere. What the API leaves to its user is kept: pointers
// point to something, and handles are those of living objects.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <roce/verbs.h>

#include "base/address.h"
#include "base/check.h"
#include "base/prng.h"
#include "fuzz/fuzz_clock.h"
#include "fuzz/input.h"
#include "port/loopback_port.h"

namespace roce::fuzz {

inline constexpr size_t kObjects = 4;  // of each kind
inline constexpr size_t kArena = 16384;
inline constexpr size_t kSges = 40;  // more than any queue takes

inline constexpr Ipv4Address kIp{{192, 0, 2, 1}};

/// The device, which outlives the sessions. What they make goes with them.
struct World {
  World();
  /// A session begins, in the same memory and at the same distance from timers as any other. Only
  /// keys and QPNs differ: a table gives none twice.
  void begin();

  LoopbackLink wire{{.mtu = 1500, .buffers = 512, .queue = 256}};
  FuzzClock clock;
  Prng numbers{0};
  std::unique_ptr<verbs::Device> device;
  std::vector<uint8_t> arena;
};

/// Up to kObjects handles of a kind, in place: allocating room for them would take longer than most
/// calls.
template <class T>
class Handles {
 public:
  size_t size() const { return size_; }
  /// Drops `handle` when there are enough.
  void add(T handle) {
    if (size_ < kObjects) {
      places_[size_++].emplace(std::move(handle));
    }
  }
  /// The others keep their order.
  void remove(size_t index) {
    auto* const at = places_.data() + index;
    std::move(at + 1, places_.data() + size_, at);
    places_[--size_].reset();
  }
  T& operator[](size_t index) { return *places_[index]; }

 private:
  std::array<std::optional<T>, kObjects> places_;
  size_t size_ = 0;
};

/// A handle out of those that exist; nullptr when there is none.
template <class T>
T* pick(Handles<T>& objects, Input& in) {
  const size_t index = in.below(kObjects);
  return objects.size() == 0 ? nullptr : &objects[index % objects.size()];
}

/// Either fine or refused in words.
template <class R>
void check(const R& result) {
  if (!result) {
    ROCE_CHECK(result.error().code > 0 && !result.error().reason.empty());
  }
}

/// What it takes to name an address handle only where one is expected.
struct LiveQp {
  verbs::Qp qp;
  ibv_qp_type type;
};

class VerbsSession {
 public:
  VerbsSession(World& world, Input& in) : world_(world), device_(*world.device), in_(in) {
    world.begin();
  }

  void call();
  void end();

 private:
  template <class T>
  void keep(Handles<T>& objects, Result<T> made) {
    check(made);
    if (made) {
      objects.add(std::move(*made));
    }
  }
  template <class T>
  void drop(Handles<T>& objects) {
    if (objects.size() > 0) {
      objects.remove(in_.below(objects.size()));
    }
  }

  void make();
  void destroy();
  void make_srq(verbs::Pd& pd);
  void make_qp(verbs::Pd* pd);
  verbs::Qp* pick_qp() {
    LiveQp* const live = pick(qps_, in_);
    return live != nullptr ? &live->qp : nullptr;
  }
  void modify_qp();
  void connect_qp();
  void change_others();
  void query();
  void post_send();
  void post_receive();
  void post_special();
  void poll();
  ibv_qp_attr attributes();
  ibv_ah_attr address();
  uint32_t key();
  uint64_t remote_address();
  int sges();
  int access() { return in_.flag() ? in_.byte() & 0x1f : static_cast<int>(in_.number<uint32_t>()); }
  /// Small as a rule; the others are beyond all limits, since large queues only cost time.
  uint32_t size() {
    const uint8_t n = in_.byte();
    return n < 0xc0 ? n % 33u : UINT32_MAX - n;
  }

  World& world_;
  verbs::Device& device_;
  Input& in_;
  Handles<verbs::Pd> pds_;
  Handles<verbs::Mr> mrs_;
  Handles<verbs::Mw> mws_;
  Handles<verbs::Cq> cqs_;
  Handles<verbs::CompChannel> channels_;
  Handles<verbs::Srq> srqs_;
  Handles<LiveQp> qps_;
  Handles<verbs::Ah> ahs_;
  std::array<ibv_sge, kSges> sge_{};
};

}  // namespace roce::fuzz
