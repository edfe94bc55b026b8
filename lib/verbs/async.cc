// Asynchronous events: the engine's event bits, one ibv event after the other.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <utility>

#include "objects.h"

namespace roce::verbs {
namespace {

constexpr std::array<std::pair<uint8_t, ibv_event_type>, 7> kEventTypes = {{
    {kEventRequestError, IBV_EVENT_QP_REQ_ERR},
    {kEventAccessError, IBV_EVENT_QP_ACCESS_ERR},
    {kEventSendCqOverrun, IBV_EVENT_CQ_ERR},
    {kEventRecvCqOverrun, IBV_EVENT_CQ_ERR},
    {kEventFatal, IBV_EVENT_QP_FATAL},
    {kEventDrained, IBV_EVENT_SQ_DRAINED},
    {kEventEstablished, IBV_EVENT_COMM_EST},
}};

}  // namespace

std::optional<AsyncEvent> next_async_event(detail::DeviceState& device) {
  if (device.event.bits == 0) {
    const auto taken = device.engine.take_event();
    if (!taken) {
      return std::nullopt;
    }
    device.event = *taken;
  }
  for (const auto& [bit, type] : kEventTypes) {
    if ((device.event.bits & bit) != 0) {
      device.event.bits = static_cast<uint8_t>(device.event.bits & ~bit);
      return AsyncEvent{type, device.event.qpn};
    }
  }
  device.event.bits = 0;
  return std::nullopt;
}

}  // namespace roce::verbs
