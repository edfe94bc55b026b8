// Bringing up both ways to the other end, the wire and TCP.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/run/session.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "common/args.h"
#include "common/run/connection.h"
#include "common/run/run_counters.h"
#include "common/signals.h"

namespace uroce::app {
namespace {

using roce::Config;
using roce::failure;
using roce::Result;
using roce::Status;

constexpr std::chrono::seconds kLinkLimit{10};
constexpr std::chrono::seconds kCloseLimit{10};
constexpr int kPollsARound = 16;
constexpr std::chrono::microseconds kNap{20};

tl::unexpected<roce::Error> pass_on(roce::Error error) {
  return tl::make_unexpected(std::move(error));
}

// The callback may outlive a move of the session, so it holds the endpoint, which stays in place.
std::function<bool()> polling(roce::Endpoint& endpoint) {
  return [&endpoint] {
    wait_a_little(endpoint);
    return !stop_requested();
  };
}

// Before the device is there, nothing has to be driven.
Waiting without_device() {
  return {.progress = [] { return !stop_requested(); }, .limit = kStepLimit};
}

Result<std::unique_ptr<roce::Endpoint>> open_endpoint(const Config& config, RunOptions& options) {
  auto endpoint = roce::Endpoint::open(config);
  if (!endpoint) {
    return endpoint;
  }
  if (auto done = complete((*endpoint)->device(), options); !done) {
    return pass_on(done.error());
  }
  return endpoint;
}

}  // namespace

void wait_a_little(roce::Endpoint& endpoint) {
  if (endpoint.config().engine.drive == roce::Drive::lcore) {
    std::this_thread::sleep_for(kNap);
    return;
  }
  for (int i = 0; i < kPollsARound; ++i) {
    endpoint.poll();
  }
}

Result<Session> Session::open(RunOptions& options, const Config& config,
                              const std::function<void()>& on_listen) {
  if (!options.device.empty() && options.device != kDeviceName) {
    return failure(ENODEV, fmt::format("--ib-dev {}: there is no such device; the only one is {}, "
                                       "and port.* in --show-config says what it runs on",
                                       options.device, kDeviceName));
  }
  if (options.is_server()) {
    auto endpoint = open_endpoint(config, options);
    if (!endpoint) {
      return pass_on(endpoint.error());
    }
    auto listener = Listener::open(options.port);
    if (!listener) {
      return pass_on(listener.error());
    }
    on_listen();
    Session session(std::move(*endpoint));
    auto channel = listener->accept({.progress = polling(session.endpoint()), .limit = {}});
    if (!channel) {
      return pass_on(channel.error());
    }
    session.channel_.emplace(std::move(*channel));
    session.wait_patiently(kStepLimit);
    return session;
  }
  auto channel = SideChannel::connect(options.host, options.port, without_device());
  if (!channel) {
    return pass_on(channel.error());
  }
  auto endpoint = open_endpoint(config, options);
  if (!endpoint) {
    return pass_on(endpoint.error());
  }
  Session session(std::move(*endpoint));
  session.channel_.emplace(std::move(*channel));
  session.wait_patiently(kStepLimit);
  return session;
}

Status Session::wait_for_link() {
  const auto progress = polling(*endpoint_);
  const auto give_up = std::chrono::steady_clock::now() + kLinkLimit;
  while (!endpoint_->link_up()) {
    if (!progress()) {
      return failure(ECANCELED, "stopped while waiting for the link");
    }
    if (channel_->peer_gone()) {
      return failure(ECONNRESET,
                     fmt::format("peer absent: {} closed the connection before the link was up; "
                                 "see its own message",
                                 channel_->peer()));
    }
    if (std::chrono::steady_clock::now() >= give_up) {
      return failure(ENOLINK,
                     fmt::format("peer absent: the link was not up within {} s; do both ends use "
                                 "one wire (port.kind and port.socket in --show-config)?",
                                 kLinkLimit.count()));
    }
  }
  return {};
}

void Session::wait_for_leave(std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end && channel_->peer_state() == PeerState::present) {
    wait_a_little(*endpoint_);
  }
}

void Session::linger(std::chrono::milliseconds time) {
  const auto progress = polling(*endpoint_);
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end && progress()) {
  }
}

void Session::wait_patiently(std::chrono::milliseconds limit) {
  channel_->set_waiting({.progress = polling(*endpoint_), .limit = limit});
}

void Session::wait_to_close() {
  channel_->set_waiting({.progress =
                             [endpoint = endpoint_.get()] {
                               wait_a_little(*endpoint);
                               return true;
                             },
                         .limit = kCloseLimit});
}

void Session::wait_working(std::function<bool()> work) {
  channel_->set_waiting({.progress = std::move(work), .limit = {}});
}

Counters Session::counters() {
  return run_counters(*endpoint_);
}

std::optional<int> load_settings(std::string_view program, const RunOptions& options,
                                 Config& config) {
  auto loaded = roce::load_config(config_sources(options));
  if (!loaded) {
    report_failure(program, loaded.error());
    return kUsageError;
  }
  config = std::move(*loaded);
  if (options.show_config) {
    std::fputs(roce::show_config(config).c_str(), stdout);
    return 0;
  }
  return std::nullopt;
}

int report_failure(std::string_view program, const roce::Error& error) {
  std::string line = error.reason;
  std::replace(line.begin(), line.end(), '\n', ' ');
  fmt::print(stderr, "{}: {}\n", program, line);
  return error.code == ECANCELED && stop_requested() ? 128 + stop_signal() : 1;
}

}  // namespace uroce::app
