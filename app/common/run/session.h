// Session: what every run stands on: the device, and the TCP connection to the other end.
//
// Thread: the one that opened it. With drive "rtc" it is also the one that drives the device, which
// is why everything that waits here polls meanwhile: the other end needs its ARP answers and ACKs.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <roce/endpoint.h>

#include "common/options.h"
#include "common/report.h"
#include "common/side_channel.h"

namespace uroce::app {

/// The one device of an endpoint.
inline constexpr std::string_view kDeviceName = "uroce0";

/// How long an end waits for a step of the other that follows at once.
inline constexpr std::chrono::seconds kStepLimit{20};

/// A few rounds of the device, when this thread drives it; else a short sleep, since the engine's
/// thread may have to share this CPU. For waits outside of what is measured.
void wait_a_little(roce::Endpoint& endpoint);

class Session {
 public:
  /// Opens the device and completes the connection's options by it; the server then waits for a
  /// client, after `on_listen` was called. The client looks for the server first, so that a missing
  /// one is told at once.
  static roce::Result<Session> open(RunOptions& options, const roce::Config& config,
                                    const std::function<void()>& on_listen);

  roce::Endpoint& endpoint() { return *endpoint_; }
  roce::verbs::Device& device(size_t lcore = 0) { return endpoint_->device(lcore); }
  size_t lcores() const { return endpoint_->lcores(); }
  SideChannel& channel() { return *channel_; }

  /// Waits until the wire carries frames. ENOLINK names the peer's absence.
  roce::Status wait_for_link();

  /// Polls the device until the other end has stopped or closed the channel, at most for
  /// `limit`.
  void wait_for_leave(std::chrono::milliseconds limit);
  /// Polls the device for this long, or until a signal comes.
  void linger(std::chrono::milliseconds time);

  /// Steps on the channel poll the device while they wait, and end at the first signal.
  void wait_patiently(std::chrono::milliseconds limit);
  /// The same, but for the farewell: a signal does not cut it short.
  void wait_to_close();
  /// With `work` in place of plain polling; false ends the step. No limit.
  void wait_working(std::function<bool()> work);

  /// Retransmits and drops, and whatever else is not zero.
  Counters counters();

 private:
  explicit Session(std::unique_ptr<roce::Endpoint> endpoint) : endpoint_(std::move(endpoint)) {}

  std::unique_ptr<roce::Endpoint> endpoint_;
  std::optional<SideChannel> channel_;
};

/// Reads the configuration for these options and, where asked for, prints it. An exit code when the
/// program must end; messages have been printed.
std::optional<int> load_settings(std::string_view program, const RunOptions& options,
                                 roce::Config& config);

/// Prints the error on one line of stderr. Returns the exit code: 1, or 128 and the signal's number
/// when a signal ended the wait.
int report_failure(std::string_view program, const roce::Error& error);

}  // namespace uroce::app
