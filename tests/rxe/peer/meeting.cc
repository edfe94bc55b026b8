// From a cell's name to its verdict.
// SPDX-License-Identifier: BSD-3-Clause
#include "meeting.h"

#include <cerrno>
#include <memory>
#include <random>

#include <fmt/format.h>

#include "requester.h"
#include "responder.h"

namespace uroce::rxe {
namespace {

using roce::Result;
using roce::Status;

constexpr std::chrono::seconds kStepLimit{80};
constexpr uint32_t kPsnMask = 0xffffff;
// The message of two packets, the sixth of kind sizes, begins with the last PSN.
constexpr uint32_t kPsnBeforeWrap = kPsnMask - 5;
constexpr uint8_t kQuickTimeout = 14;  // 67 ms
constexpr int kRemote = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

int right_of(Op op) {
  if (is_atomic(op)) {
    return IBV_ACCESS_REMOTE_ATOMIC;
  }
  return op == Op::read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
}

QpSetup setup_of(const Cell& cell, bool requests) {
  QpSetup setup{.family = cell.family,
                .mtu = cell.mtu,
                .psn = std::random_device()() & kPsnMask,
                .qp_access = kRemote,
                .mr_access = kRemote | IBV_ACCESS_LOCAL_WRITE};
  setup.type = cell.transport == Transport::rc   ? IBV_QPT_RC
               : cell.transport == Transport::uc ? IBV_QPT_UC
                                                 : IBV_QPT_UD;
  switch (cell.kind) {
    case Kind::wrap:
      setup.psn = kPsnBeforeWrap;
      break;
    case Kind::mr_right:
      setup.mr_access &= ~right_of(cell.op);
      break;
    case Kind::qp_right:
      setup.qp_access &= ~right_of(cell.op);
      break;
    case Kind::srq:
      setup.srq = true;
      break;
    case Kind::window:
      setup.mr_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
      break;
    case Kind::multicast:
      setup.to_group = requests;
      setup.joins_group = !requests;
      break;
    case Kind::rnr_limit:
      setup.rnr_retry = kFewRetries;
      break;
    case Kind::gone:
      setup.timeout = kQuickTimeout;
      setup.retry_count = kFewRetries;
      break;
    default:
      break;
  }
  return setup;
}

/// Both ends' addresses; afterwards both queue pairs are in RTS.
Result<app::QpAddress> connect(const Cell& cell, End& end, app::SideChannel& channel) {
  const auto peer = app::exchange_hello(channel, {.program = "uroce-rxe-peer",
                                                  .parameters = {{"cell", text_of(cell)}},
                                                  .endpoint = end.address()});
  if (!peer) {
    return tl::make_unexpected(peer.error());
  }
  if (peer->qps.size() != 1) {
    return roce::failure(EPROTO, "the other end's greeting names no queue pair");
  }
  Status done = end.connect(*peer);
  if (done) {
    done = channel.sync("connected");
  }
  if (!done) {
    return tl::make_unexpected(done.error());
  }
  return peer->qps.front();
}

/// Joins what both ends have noted.
Result<std::string> agree(const std::string& deviation, app::SideChannel& channel) {
  if (auto done = channel.send_line(deviation, "the verdict"); !done) {
    return tl::make_unexpected(done.error());
  }
  auto other = channel.receive_line("the verdict");
  if (!other) {
    return other;
  }
  return deviation.empty() || other->empty() ? deviation + *other : deviation + "; " + *other;
}

Result<std::string> play_part(const Cell& cell, Opener& opener, app::SideChannel& channel,
                              bool is_uroce) {
  const bool requests = (cell.requester == Requester::uroce) == is_uroce;
  const auto end = opener.open(setup_of(cell, requests));
  if (!end) {
    return tl::make_unexpected(end.error());
  }
  const auto peer = connect(cell, **end, channel);
  if (!peer) {
    return tl::make_unexpected(peer.error());
  }
  std::string deviation;
  const Scene scene{.cell = cell,
                    .opener = opener,
                    .end = **end,
                    .peer = *peer,
                    .channel = channel,
                    .is_uroce = is_uroce,
                    .deviation = deviation};
  const Status done = requests ? RequesterPart(scene).run() : ResponderPart(scene).run();
  if (!done) {
    return tl::make_unexpected(done.error());
  }
  return agree(deviation, channel);
}

}  // namespace

app::Waiting waiting_with(Opener& opener) {
  return {.progress =
              [&opener] {
                opener.progress();
                return true;
              },
          .limit = kStepLimit};
}

Result<std::string> play(const Cell& cell, Opener& opener, app::SideChannel& channel,
                         bool is_uroce) {
  auto verdict = play_part(cell, opener, channel, is_uroce);
  if (!verdict && channel.peer_state() == app::PeerState::present) {
    channel.send_stop(verdict.error().reason);
  }
  return verdict;
}

}  // namespace uroce::rxe
