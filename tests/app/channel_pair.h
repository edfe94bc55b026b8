// Two ends of a side channel over the loopback interface, for tests.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "common/side_channel.h"

namespace uroce::app::test {

inline Waiting within(int ms) {
  return {.progress = {}, .limit = std::chrono::milliseconds(ms)};
}

/// A connected pair; steps give up after five seconds unless told otherwise.
struct ChannelPair {
  ChannelPair() {
    auto listener = Listener::open(0);
    EXPECT_TRUE(listener) << listener.error().reason;
    auto connected = SideChannel::connect("localhost", listener->port(), within(5000));
    EXPECT_TRUE(connected) << connected.error().reason;
    auto accepted = listener->accept(within(5000));
    EXPECT_TRUE(accepted) << accepted.error().reason;
    client.emplace(std::move(*connected));
    server.emplace(std::move(*accepted));
  }

  std::optional<SideChannel> client;
  std::optional<SideChannel> server;
};

}  // namespace uroce::app::test
