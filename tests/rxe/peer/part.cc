// Waiting, meeting and checking.
// SPDX-License-Identifier: BSD-3-Clause
#include "part.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <roce/verbs.h>

#include "common/pattern.h"

namespace uroce::rxe {
namespace {

using roce::failure;
using roce::Result;
using roce::Status;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kCompletionLimit{60};
constexpr uint32_t kGuardBytes = 64;
constexpr uint8_t kGuard = 0xa5;
constexpr size_t kPlaceAlignment = 64;
constexpr uint32_t kGrhBytes = 40;
constexpr std::chrono::seconds kArrivalLimit{5};
// Messages of seed 4 begin like a VLAN tag, which tshark then looks for in vain.
constexpr uint64_t kSeed = 5;

}  // namespace

std::vector<AtomicStep> atomic_steps(Op op, size_t count) {
  std::vector<AtomicStep> steps;
  uint64_t word = kFirstWord;
  for (size_t i = 0; i < count; ++i) {
    AtomicStep step{.compare_add = 0, .swap = 0, .before = word, .after = word};
    const uint64_t varied = 0x0123456789abcdef * (i + 1);
    if (op == Op::fetch_add) {
      step.compare_add = varied;
      step.after = word + varied;
    } else {
      const bool hits = i % 3 != 2;
      step.compare_add = hits ? word : ~word;
      step.swap = varied;
      step.after = hits ? varied : word;
    }
    word = step.after;
    steps.push_back(step);
  }
  return steps;
}

uint32_t immediate_of(size_t message) {
  return htonl(0xfeed0000U + static_cast<uint32_t>(message));
}

Result<ibv_wc> Part::await(std::string_view what) {
  const auto limit = Clock::now() + kCompletionLimit;
  ibv_wc wc{};
  while (Clock::now() < limit) {
    const int got = end().poll(wc);
    if (got > 0) {
      return wc;
    }
    if (got < 0) {
      return failure(-got, fmt::format("polling for {} failed with {}", what, got));
    }
  }
  return failure(ETIMEDOUT,
                 fmt::format("no completion of {} within {} s", what, kCompletionLimit.count()));
}

Status Part::await_own(ibv_wc_opcode opcode, std::string_view what) {
  const auto wc = await(what);
  if (!wc) {
    return tl::make_unexpected(wc.error());
  }
  if (wc->status != IBV_WC_SUCCESS || wc->opcode != opcode) {
    return failure(
        EIO, fmt::format("{} completed with '{}', opcode {}", what,
                         roce::verbs::wc_status_name(wc->status), static_cast<int>(wc->opcode)));
  }
  return {};
}

uint32_t Part::grh_bytes() const {
  return cell().transport == Transport::ud ? kGrhBytes : 0;
}

Status Part::stay_quiet(std::chrono::milliseconds time) {
  const auto limit = Clock::now() + time;
  ibv_wc wc{};
  while (Clock::now() < limit) {
    if (end().poll(wc) != 0) {
      return failure(EIO, fmt::format("a completion that nobody expects: {}, wr_id {}",
                                      roce::verbs::wc_status_name(wc.status), wc.wr_id));
    }
  }
  return {};
}

Status Part::meet(std::string_view name, size_t message) {
  return scene_.channel.sync(fmt::format("{} {}", name, message));
}

void Part::linger(std::chrono::milliseconds time) {
  const auto limit = Clock::now() + time;
  while (Clock::now() < limit) {
    scene_.opener.progress();
  }
}

Status Part::expect_state(ibv_qp_state state) {
  const ibv_qp_state found = end().state();
  if (scene_.is_uroce && found != state) {
    return failure(EIO, fmt::format("the queue pair is in state {} instead of {}",
                                    static_cast<int>(found), static_cast<int>(state)));
  }
  return {};
}

Status Part::expect_status(ibv_wc_status found, ibv_wc_status right,
                           std::optional<ibv_wc_status> known_deviation) {
  if (found == right) {
    return {};
  }
  const std::string text = fmt::format("'{}' instead of '{}'", roce::verbs::wc_status_name(found),
                                       roce::verbs::wc_status_name(right));
  if (found != known_deviation) {
    return failure(EIO, "completion with " + text);
  }
  note_deviation(text);
  return {};
}

void Part::note_deviation(const std::string& text) {
  scene_.deviation += (scene_.deviation.empty() ? "" : "; ") + text;
}

void Part::fill(size_t offset, uint32_t size, size_t message) {
  app::Pattern(kSeed).fill(end().memory().subspan(offset, size), message);
}

void Part::guard(size_t offset, uint32_t size) {
  std::ranges::fill(end().memory().subspan(offset, size + kGuardBytes), kGuard);
}

void Part::wait_for(size_t offset, uint32_t size, size_t message) {
  const auto limit = Clock::now() + kArrivalLimit;
  const app::Pattern pattern(kSeed);
  while (pattern.check(end().memory().subspan(offset, size), message) && Clock::now() < limit) {
    scene_.opener.progress();
  }
}

Status Part::check(size_t offset, uint32_t size, size_t message) {
  const auto wrong = app::Pattern(kSeed).check(end().memory().subspan(offset, size), message);
  if (wrong) {
    return failure(EIO, fmt::format("{} bytes: {}", size, text_of(*wrong)));
  }
  return check_guard(offset + size, 0);
}

Status Part::check_guard(size_t offset, uint32_t size) {
  const auto bytes = end().memory().subspan(offset, size + kGuardBytes);
  const auto at = std::ranges::find_if(bytes, [](uint8_t byte) { return byte != kGuard; });
  if (at != bytes.end()) {
    return failure(EIO, fmt::format("byte {} behind the message or of a refused one was written",
                                    at - bytes.begin()));
  }
  return {};
}

uint64_t Part::word_at(size_t offset) {
  uint64_t word = 0;
  std::memcpy(&word, end().memory().data() + offset, sizeof word);
  return word;
}

void Part::set_word(size_t offset, uint64_t word) {
  std::memcpy(end().memory().data() + offset, &word, sizeof word);
}

std::vector<size_t> Part::places(std::span<const uint32_t> sizes) {
  std::vector<size_t> offsets;
  size_t at = 0;
  for (const uint32_t size : sizes) {
    offsets.push_back(at);
    at +=
        (size + kGrhBytes + kGuardBytes + kPlaceAlignment - 1) / kPlaceAlignment * kPlaceAlignment;
  }
  return offsets;
}

}  // namespace uroce::rxe
