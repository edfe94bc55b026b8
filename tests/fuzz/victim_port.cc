// The wire of the device under attack.
// SPDX-License-Identifier: BSD-3-Clause
#include "fuzz/victim_port.h"

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "wire/icrc.h"
#include "wire/packet.h"

namespace roce::fuzz {

VictimPort::VictimPort() {
  std::array<Frame, kBuffers> all;
  pool_.take(all);
  std::for_each(all.rbegin(), all.rend(), [this](const Frame& f) { give(f); });
}

void VictimPort::start(Digest* digest) {
  refusing_ = false;
  newest_ = {};
  digest_ = digest;
}

void VictimPort::put(std::span<const uint8_t> frame) {
  Frame one;
  if (waiting_ == in_.size() || pool_.take({&one, 1}) == 0) {
    return;
  }
  one.len = static_cast<uint32_t>(std::min(frame.size(), kRoom));
  ASAN_UNPOISON_MEMORY_REGION(one.data, one.len);
  std::memcpy(one.data, frame.data(), one.len);
  in_[waiting_++] = one;
}

size_t VictimPort::rx_burst(Instant /*now*/, std::span<Frame> frames) {
  const size_t n = std::min(frames.size(), waiting_);
  std::copy_n(in_.begin(), n, frames.begin());
  std::copy(in_.begin() + static_cast<ptrdiff_t>(n), in_.begin() + static_cast<ptrdiff_t>(waiting_),
            in_.begin());
  waiting_ -= n;
  return n;
}

size_t VictimPort::alloc(std::span<Frame> frames) {
  const size_t n = pool_.take(frames);
  for (const Frame& f : frames.first(n)) {
    ASAN_UNPOISON_MEMORY_REGION(f.cookie, kRoom);
  }
  return n;
}

size_t VictimPort::tx_burst(Instant /*now*/, std::span<Frame> frames) {
  if (refusing_) {
    return 0;
  }
  for (const Frame& f : frames) {
    look_at(f);
    give(f);
  }
  return frames.size();
}

void VictimPort::release(std::span<Frame> frames) {
  for (const Frame& f : frames) {
    give(f);
  }
}

void VictimPort::give(const Frame& frame) {
  ASAN_POISON_MEMORY_REGION(frame.cookie, kRoom);
  pool_.give(frame.cookie);
}

/// Whatever was received, what is sent is well-formed.
void VictimPort::look_at(const Frame& frame) {
  wire::Packet packet;
  const wire::ParseResult parsed = wire::parse({frame.data, frame.len}, packet);
  // To the parser, membership reports have a strange protocol, and IPv4 options.
  const bool report =
      parsed.reason == DropReason::ip_protocol || parsed.reason == DropReason::ip_header_length;
  ROCE_CHECK(parsed.kind != wire::FrameKind::bad || report);
  if (digest_ != nullptr) {
    digest_->add({frame.data, frame.len});
  }
  if (parsed.kind != wire::FrameKind::roce) {
    return;
  }
  ROCE_CHECK(wire::icrc_ok(packet.l3, packet.l3_len) && packet.info->known);
  if (packet.info->request()) {
    newest_[packet.dest_qp % kPeers] = packet.psn.value();
  }
}

}  // namespace roce::fuzz
