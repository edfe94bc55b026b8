// The way of a frame between the engines of one node.
// SPDX-License-Identifier: BSD-3-Clause
#include "steering/steered_port.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "base/limits.h"
#include "wire/arp.h"
#include "wire/ethernet.h"
#include "wire/icmp.h"
#include "wire/ipv6.h"
#include "wire/peek.h"

namespace roce {
namespace {

constexpr size_t kLine = 64;
/// Bytes of a frame that come from the other core's cache and are asked for at once: the headers of
/// any, and 64 bytes of payload. A buffer has as many, whatever the frame's length.
constexpr size_t kFetched = 3 * kLine;

/// A neighbour says where it is, asked or not: who resolves its address may be any engine.
bool speaks_of_its_sender(std::span<const uint8_t> frame) {
  const size_t at = wire::peek_ip(frame);
  const auto body = frame.subspan(std::min(at, frame.size()));
  if (frame.size() < at) {
    return false;
  }
  const auto ethertype = load_be<uint16_t>(&frame[at - 2]);
  if (ethertype == wire::kEtherTypeArp && body.size() >= wire::ArpPacket::kSize) {
    const auto arp = wire::ArpPacket::parse(body.data());
    return arp.operation == wire::kArpReply || arp.sender_ip == arp.target_ip;
  }
  return ethertype == wire::kEtherTypeIpv6 && body.size() > wire::Ipv6Header::kSize &&
         wire::Ipv6Header::parse(body.data()).next_header == wire::kIpProtocolIcmpv6 &&
         body[wire::Ipv6Header::kSize] == wire::kIcmpv6NeighbourAdvertisement;
}

}  // namespace

Steering::Steering(uint32_t count, bool port_loops_back)
    : count_(count), port_loops_back_(port_loops_back) {
  ROCE_CHECK(count >= 2 && count <= kMaxEngines);
  for (uint32_t i = 0; i < count * count; ++i) {
    lanes_.push_back(std::make_unique<Lane>(kLaneFrames));
  }
}

SteeredPort::SteeredPort(std::unique_ptr<Port> queue, std::shared_ptr<Steering> steering,
                         uint32_t index)
    : WrappingPort(std::move(queue)),
      steering_(std::move(steering)),
      place_{index, steering_->count()},
      info_(below().info()) {
  ROCE_CHECK(index < place_.count);
  info_.max_segments = 0;  // what is handed over lies in one piece
}

SteeredPort::~SteeredPort() {
  Frame frame;
  while (take_handed({&frame, 1}) == 1) {
    below().release({&frame, 1});
  }
}

SteeredPort::Target SteeredPort::target_of(const Frame& frame) const {
  const std::span<const uint8_t> bytes(frame.data, frame.len);
  const auto qpn = wire::peek_dest_qp(bytes);
  if (!qpn) [[unlikely]] {
    return {speaks_of_its_sender(bytes) ? Way::everywhere : Way::here};
  }
  if (*qpn == kMulticastQpn) {
    return {Way::everywhere};
  }
  const uint32_t owner = EnginePlace::owner_of(*qpn, place_.count);
  return {owner == place_.index ? Way::here : Way::there, owner};
}

size_t SteeredPort::rx_burst(Instant now, std::span<Frame> frames) {
  handed_first_ = !handed_first_;
  size_t n = handed_first_ ? take_handed(frames) : 0;
  n += receive(now, frames.subspan(n));
  return handed_first_ ? n : n + take_handed(frames.subspan(n));
}

/// From the own queue; what is for others goes on its way.
size_t SteeredPort::receive(Instant now, std::span<Frame> frames) {
  const size_t got = frames.empty() ? 0 : below().rx_burst(now, frames);
  size_t kept = 0;
  for (Frame& frame : frames.first(got)) {
    const Target target = target_of(frame);
    if (target.way == Way::there) {
      ++rx_handed_over_;
      hand_over(frame, target.engine);
      continue;
    }
    if (target.way == Way::everywhere) [[unlikely]] {
      hand_over(copies_of(frame));
    }
    frames[kept++] = frame;
  }
  show_handed();
  return kept;
}

size_t SteeredPort::take_handed(std::span<Frame> frames) {
  size_t n = 0;
  next_from_ = next_from_ + 1 < place_.count ? next_from_ + 1 : 0;
  uint32_t from = next_from_;
  for (uint32_t i = 0; i < place_.count && n < frames.size(); ++i) {
    Steering::Lane& lane = steering_->lane(from, place_.index);
    from = from + 1 < place_.count ? from + 1 : 0;
    const size_t count = std::min(frames.size() - n, lane.available(frames.size() - n));
    for (size_t k = 0; k < count; ++k) {
      const HandedFrame& handed = lane.front(k);
      for (size_t line = 0; line < kFetched; line += kLine) {
        __builtin_prefetch(handed.data + line);
      }
      frames[n++] = Frame{.data = handed.data, .len = handed.len, .cookie = handed.cookie};
    }
    if (count != 0) {
      lane.pop(count);
    }
  }
  return n;
}

/// Sends in order; what stays inside the node splits the burst.
size_t SteeredPort::tx_burst(Instant now, std::span<Frame> frames) {
  if (steering_->port_loops_back()) {
    return below().tx_burst(now, frames);
  }
  size_t done = 0;
  while (done < frames.size()) {
    const auto rest = frames.subspan(done);
    const auto inside = std::find_if(rest.begin(), rest.end(),
                                     [this](const Frame& frame) { return stays_inside(frame); });
    const auto run = static_cast<size_t>(inside - rest.begin());
    const size_t sent = run == 0 ? 0 : below().tx_burst(now, rest.first(run));
    done += sent;
    if (sent < run || (inside != rest.end() && !send_inside(now, *inside))) {
      break;
    }
    done += inside != rest.end() ? 1 : 0;
  }
  show_handed();
  return done;
}

bool SteeredPort::stays_inside(const Frame& frame) const {
  ROCE_DCHECK(frame.segment_count == 0);
  return std::memcmp(frame.data, info_.mac.bytes.data(), info_.mac.bytes.size()) == 0 ||
         ((frame.data[0] & 1) != 0 && wire::peek_dest_qp({frame.data, frame.len}) == kMulticastQpn);
}

/// False: the frame is for the network as well, and the device does not take it now.
bool SteeredPort::send_inside(Instant now, Frame& frame) {
  if ((frame.data[0] & 1) == 0) {
    const Target target = target_of(frame);
    hand_over(frame, target.way == Way::there ? target.engine : place_.index);
    return true;
  }
  Copies copies = copies_of(frame);
  if (below().tx_burst(now, {&frame, 1}) == 0) {
    below().release(std::span(copies.frames).first(copies.count));
    return false;
  }
  hand_over(copies);
  return true;
}

/// As many as there are buffers for; none of a frame that is longer than any may be.
SteeredPort::Copies SteeredPort::copies_of(const Frame& frame) {
  Copies copies;
  const size_t wanted = place_.count - 1;
  const size_t room = wire::EthernetHeader::kSize + wire::VlanTag::kSize + info_.mtu;
  if (frame.len <= room) [[likely]] {
    copies.count = below().alloc(std::span(copies.frames).first(wanted));
  }
  lost_ += wanted - copies.count;
  for (Frame& copy : std::span(copies.frames).first(copies.count)) {
    std::memcpy(copy.data, frame.data, frame.len);
    copy.len = frame.len;
  }
  return copies;
}

void SteeredPort::hand_over(Copies copies) {
  for (uint32_t i = 0; i < copies.count; ++i) {
    hand_over(copies.frames[i], i < place_.index ? i : i + 1);
  }
}

/// An engine that does not come for its frames loses them, as it would those of a full device
/// queue; waiting for it would stop this one too.
void SteeredPort::hand_over(Frame& frame, uint32_t to) {
  if (!steering_->lane(place_.index, to).push(HandedFrame{frame.data, frame.cookie, frame.len})) {
    ++lost_;
    below().release({&frame, 1});
    return;
  }
  touched_ |= 1u << to;
}

void SteeredPort::show_handed() {
  for (; touched_ != 0; touched_ &= touched_ - 1) {
    steering_->lane(place_.index, static_cast<uint32_t>(std::countr_zero(touched_))).publish();
  }
}

PortStats SteeredPort::stats() const {
  PortStats stats = below().stats();
  stats.rx_handed_over += rx_handed_over_;
  stats.rx_missed += lost_;
  return stats;
}

}  // namespace roce
