// What stands behind the handles of the public API. Objects hold what they depend on, so the order
// in which an application lets go of them does not matter.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <roce/verbs.h>

#include "channel.h"
#include "cq/completion_queue.h"
#include "driver.h"
#include "engine/engine.h"
#include "events.h"
#include "inspect.h"
#include "qp/path.h"
#include "qp/shared_receive_queue.h"

namespace roce::verbs::detail {

/// How many objects of a kind there are, and how many there may be.
class Quota {
 public:
  Quota(const char* kind, uint32_t limit) : kind_(kind), limit_(limit) {}

  /// Counts one more; ENOMEM at the limit.
  Status take() {
    if (used_.fetch_add(1) >= limit_) {
      --used_;
      return failure(ENOMEM,
                     "all " + std::to_string(limit_) + " " + kind_ + " are in use; let go of some");
    }
    return {};
  }
  void give_back() { --used_; }

 private:
  const char* kind_;
  uint32_t limit_;
  std::atomic<uint32_t> used_{0};
};

struct DeviceState {
  DeviceState(Port& port, Clock& c, const EngineConfig& engine_config, DeviceConfig device_config)
      : clock(c),
        config(std::move(device_config)),
        random(config.random ? config.random : system_random()),
        engine(port, engine_config, random, c.now()),
        driver(engine, c, events),
        tables(engine_config.tables),
        pds("protection domains", tables.max_pd),
        cqs("completion queues", tables.max_cq),
        srqs("shared receive queues", tables.max_srq),
        ahs("address handles", tables.max_ah) {
    for (const auto& entry : engine.addresses().entries()) {
      gids.push_back(entry.gid);
    }
  }

  Clock& clock;
  DeviceConfig config;
  RandomSource random;
  EventQueue events;
  ObjectList objects;
  Engine engine;
  Driver driver;
  TableSizes tables;
  std::vector<Gid> gids;
  std::atomic<uint32_t> next_handle{1};  // of PDs, CQs and SRQs
  Quota pds;
  Quota cqs;
  Quota srqs;
  Quota ahs;
};

struct PdState {
  explicit PdState(std::shared_ptr<DeviceState> d)
      : device(std::move(d)), handle(device->next_handle++) {}
  ~PdState() { device->pds.give_back(); }
  PdState(const PdState&) = delete;
  PdState& operator=(const PdState&) = delete;

  std::shared_ptr<DeviceState> device;
  uint32_t handle;
};

struct MrState {
  ~MrState();

  std::shared_ptr<PdState> pd;
  MemoryRegion region;
  ibv_mr ibv{};
  bool registered = true;
};

struct MwState {
  ~MwState();

  std::shared_ptr<PdState> pd;
  ibv_mw ibv{};
};

struct AhState {
  ~AhState() { pd->device->ahs.give_back(); }

  ibv_ah ibv{};  // first, so that it leads back here
  std::shared_ptr<PdState> pd;
  Path path;
};

static_assert(std::is_standard_layout_v<AhState>);

/// What an ibv_ah that create_ah() made belongs to.
inline const AhState& ah_state(const ibv_ah* ah) {
  return *reinterpret_cast<const AhState*>(ah);
}

struct CqState final : CqNotifier, std::enable_shared_from_this<CqState> {
  CqState(std::shared_ptr<DeviceState> d, uint32_t entries, const CqOptions& options)
      : device(std::move(d)),
        channel(options.channel != nullptr ? options.channel->state() : nullptr),
        handle(device->next_handle++),
        queue(entries, options.timestamps, channel != nullptr ? this : nullptr) {
    device->objects.add_cq(this);
  }
  ~CqState() override;
  CqState(const CqState&) = delete;
  CqState& operator=(const CqState&) = delete;

  void on_completion_event() override { channel->tell(*this); }

  std::shared_ptr<DeviceState> device;
  std::shared_ptr<ChannelState> channel;
  uint32_t handle;
  std::atomic<unsigned> unacknowledged{0};
  CompletionQueue queue;
};

struct SrqState {
  SrqState(std::shared_ptr<PdState> p, uint32_t entries, uint32_t sges)
      : pd(std::move(p)), max_sge(sges), queue(pd->device->next_handle++, entries, sges) {}
  ~SrqState() { pd->device->srqs.give_back(); }
  SrqState(const SrqState&) = delete;
  SrqState& operator=(const SrqState&) = delete;

  std::shared_ptr<PdState> pd;
  uint32_t max_sge;
  SharedReceiveQueue queue;
  const char* post_error = "";
};

/// In the first line what posting touches.
struct alignas(64) QpState {
  ~QpState();

  roce::Qp* qp = nullptr;  // owned by the engine
  std::shared_ptr<PdState> pd;
  ibv_qp_cap cap{};
  ibv_qp_type type = IBV_QPT_RC;
  const char* post_error = "";
  std::shared_ptr<CqState> send_cq;
  std::shared_ptr<CqState> recv_cq;
  std::shared_ptr<SrqState> srq;  // may be empty
  bool signal_all = false;
  ibv_qp_attr attr{};
  std::vector<Gid> groups;  // multicast groups joined

  DeviceState& device() const { return *pd->device; }
  Engine& engine() const { return device().engine; }
};

}  // namespace roce::verbs::detail
