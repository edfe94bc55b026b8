// What stands behind the handles of the public API. Objects hold what they depend on, so the order
// in which an application lets go of them does not matter.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <roce/verbs.h>

#include "cq/completion_queue.h"
#include "driver.h"
#include "engine/engine.h"

namespace roce::verbs::detail {

struct DeviceState {
  DeviceState(Port& port, Clock& c, const EngineConfig& engine_config, DeviceConfig device_config)
      : clock(c),
        config(std::move(device_config)),
        random(system_random()),
        engine(port, engine_config, random, c.now()),
        driver(engine, c),
        tables(engine_config.tables) {
    for (const auto& entry : engine.addresses().entries()) {
      gids.push_back(entry.gid);
    }
  }

  Clock& clock;
  DeviceConfig config;
  RandomSource random;
  Engine engine;
  Driver driver;
  TableSizes tables;
  std::vector<Gid> gids;
  // Control path; changed under the driver's one-call-at-a-time rule only.
  uint32_t next_pd = 1;
  EngineEvent event;  // what is left of the last one taken from the engine
  std::atomic<uint32_t> pd_count{0};
  std::atomic<uint32_t> cq_count{0};
};

struct PdState {
  explicit PdState(std::shared_ptr<DeviceState> d) : device(std::move(d)) {
    ++device->pd_count;
    device->driver.run([this] { handle = device->next_pd++; });
  }
  ~PdState() { --device->pd_count; }
  PdState(const PdState&) = delete;
  PdState& operator=(const PdState&) = delete;

  std::shared_ptr<DeviceState> device;
  uint32_t handle = 0;
};

struct MrState {
  ~MrState() {
    pd->device->driver.run([this] { pd->device->engine.regions().remove(key); });
  }

  std::shared_ptr<PdState> pd;
  void* addr = nullptr;
  size_t length = 0;
  uint32_t key = 0;
};

struct CqState {
  CqState(std::shared_ptr<DeviceState> d, uint32_t entries) : device(std::move(d)), queue(entries) {
    ++device->cq_count;
  }
  ~CqState() { --device->cq_count; }
  CqState(const CqState&) = delete;
  CqState& operator=(const CqState&) = delete;

  std::shared_ptr<DeviceState> device;
  CompletionQueue queue;
};

struct QpState {
  ~QpState();

  std::shared_ptr<PdState> pd;
  std::shared_ptr<CqState> send_cq;
  std::shared_ptr<CqState> recv_cq;
  roce::Qp* qp = nullptr;  // owned by the engine
  ibv_qp_type type = IBV_QPT_RC;
  bool signal_all = false;
  ibv_qp_cap cap{};
  ibv_qp_attr attr{};
  const char* post_error = "";

  DeviceState& device() const { return *pd->device; }
  Engine& engine() const { return device().engine; }
};

}  // namespace roce::verbs::detail

namespace roce::verbs {

/// Thread: the engine's.
std::optional<AsyncEvent> next_async_event(detail::DeviceState& device);

}  // namespace roce::verbs
