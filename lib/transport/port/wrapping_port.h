// WrappingPort: base of ports that sit on top of another one. Everything passes through unless the
// derived class says otherwise. Owns the port below, or only refers to it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/check.h"
#include "port/port.h"

namespace roce {

class WrappingPort : public Port {
 public:
  WrappingPort(const WrappingPort&) = delete;
  WrappingPort& operator=(const WrappingPort&) = delete;

  const PortInfo& info() const override { return below_.info(); }
  bool link_up() override { return below_.link_up(); }
  size_t rx_burst(Instant now, std::span<Frame> frames) override {
    return below_.rx_burst(now, frames);
  }
  size_t alloc(std::span<Frame> frames) override { return below_.alloc(frames); }
  size_t tx_burst(Instant now, std::span<Frame> frames) override {
    return below_.tx_burst(now, frames);
  }
  void release(std::span<Frame> frames) override { below_.release(frames); }
  uint64_t gather_done() override { return below_.gather_done(); }
  Instant next_event() const override { return below_.next_event(); }
  PortStats stats() const override { return below_.stats(); }
  void note_drop(const Frame& frame, DropReason reason) override {
    below_.note_drop(frame, reason);
  }
  void note_failure(uint32_t qpn) override { below_.note_failure(qpn); }

 protected:
  /// `below` must outlive this port.
  explicit WrappingPort(Port& below) : below_(below) {}
  /// Requires: not null (checked).
  explicit WrappingPort(std::unique_ptr<Port> below)
      : owned_(std::move(below)), below_(checked(owned_.get())) {}

  Port& below() { return below_; }
  const Port& below() const { return below_; }

 private:
  static Port& checked(Port* below) {
    ROCE_CHECK(below != nullptr);
    return *below;
  }

  const std::unique_ptr<Port> owned_;  ///< null when the port below belongs to somebody else
  Port& below_;
};

}  // namespace roce
