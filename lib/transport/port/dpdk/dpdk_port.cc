// The data path of DpdkPort. Nothing here waits, locks or allocates from the heap.
//
// The IPv4 header checksum stays with the software for every device (PortInfo::ipv4_checksum is
// false): it is 20 bytes that were just written, while the offload would need a flag and lengths
// set in each mbuf, and of the virtual devices only tap has it.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/dpdk/dpdk_port.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "base/check.h"
#include "base/limits.h"
#include "port/dpdk/dpdk_port_impl.h"
#include "port/dpdk/log_capture.h"

namespace roce::dpdk {
namespace {

constexpr uint32_t kGatherSlots = 4096;  // above any transmit ring that is worth having

rte_mbuf* mbuf_of(const Frame& frame) {
  ROCE_DCHECK(frame.cookie != nullptr);
  return static_cast<rte_mbuf*>(frame.cookie);
}

Frame frame_of(rte_mbuf* m) {
  Frame frame;
  frame.data = rte_pktmbuf_mtod(m, uint8_t*);
  frame.len = m->data_len;
  frame.cookie = m;
  return frame;
}

// Gives back the external buffers behind `head`, leaving it a mbuf of its own again.
void detach_segments(rte_mbuf* head) {
  if (head->nb_segs > 1) {
    rte_pktmbuf_free(std::exchange(head->next, nullptr));
    head->nb_segs = 1;
  }
}

}  // namespace

/// With several queues nothing is gathered.
DpdkPort::~DpdkPort() {
  if (device_.use_count() == 1 && !device_->close()) {
    slots_.abandon();
  }
}

Status DpdkPort::open(const DpdkPortConfig& config) {
  info_.name = config.device;
  info_.mac = device_->mac();
  info_.mtu = config.mtu;
  info_.max_segments = device_->max_segments();
  if (info_.max_segments != 0 && !slots_.allocate(kGatherSlots)) {
    return failure(ENOMEM, "device '" + config.device +
                               "': no memory to follow gathered frames; give DPDK more memory");
  }
  can_clean_up_ = rte_eth_tx_done_cleanup(device_->id(), queue_, 0) >= 0;
  return {};
}

bool DpdkPort::link_up() {
  rte_eth_link link{};
  return rte_eth_link_get_nowait(device_->id(), &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

size_t DpdkPort::rx_burst(Instant, std::span<Frame> frames) {
  size_t total = 0;
  while (total < frames.size()) {
    const size_t want = std::min(rx_ask_, frames.size() - total);
    const size_t got = receive_chunk(frames.subspan(total, want));
    total += got;
    if (got < want) {
      rx_ask_ = std::max(kRxAskMin, want / 2);
      break;
    }
    rx_ask_ = std::min(rx_ask_ * 2, kChunk);
  }
  rx_frames_ += total;
  return total;
}

// Returns how many frames are ready for the caller: those polled, without any that could not be
// brought into one piece.
size_t DpdkPort::receive_chunk(std::span<Frame> frames) {
  const auto want = static_cast<uint16_t>(frames.size());
  const size_t polled = rte_eth_rx_burst(device_->id(), queue_, mbufs_.data(), want);
  for (size_t i = 0; i < polled; ++i) {
    rte_prefetch0(rte_pktmbuf_mtod(mbufs_[i], const void*));
  }
  size_t ready = 0;
  for (size_t i = 0; i < polled; ++i) {
    rte_mbuf* m = mbufs_[i];
    if (m->nb_segs > 1) [[unlikely]] {
      m = linearise(m);
    }
    if (m != nullptr) [[likely]] {
      frames[ready++] = frame_of(m);
    }
  }
  return ready;
}

// Copies a chain into one fresh buffer and frees the chain. Null when it has no room or there is no
// buffer; the frame is lost then, as if the ring had been full.
rte_mbuf* DpdkPort::linearise(rte_mbuf* chain) {
  rte_mbuf* flat = rte_pktmbuf_alloc(device_->rx_pool());
  uint8_t* to = nullptr;
  if (flat != nullptr && chain->pkt_len <= rte_pktmbuf_tailroom(flat)) {
    to =
        reinterpret_cast<uint8_t*>(rte_pktmbuf_append(flat, static_cast<uint16_t>(chain->pkt_len)));
  }
  if (to == nullptr) {
    ++not_linearised_;
    rte_pktmbuf_free(flat);
    flat = nullptr;
  } else {
    for (const rte_mbuf* m = chain; m != nullptr; m = m->next) {
      std::memcpy(to, rte_pktmbuf_mtod(m, const uint8_t*), m->data_len);
      to += m->data_len;
    }
  }
  rte_pktmbuf_free(chain);
  return flat;
}

size_t DpdkPort::alloc(std::span<Frame> frames) {
  size_t total = 0;
  while (total < frames.size()) {
    const size_t want = std::min(kChunk, frames.size() - total);
    size_t got = want;
    if (rte_pktmbuf_alloc_bulk(device_->tx_pool(), mbufs_.data(), static_cast<unsigned>(want)) != 0)
        [[unlikely]] {
      reclaim();
      got = alloc_singly(want);
    }
    for (size_t i = 0; i < got; ++i) {
      frames[total + i] = frame_of(mbufs_[i]);
    }
    total += got;
    if (got < want) {
      alloc_failed_ += frames.size() - total;
      break;
    }
  }
  return total;
}

// A bulk allocation gives all or nothing; this gives what is there.
size_t DpdkPort::alloc_singly(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    mbufs_[i] = rte_pktmbuf_alloc(device_->tx_pool());
    if (mbufs_[i] == nullptr) {
      return i;
    }
  }
  return count;
}

// Lets the driver give back what it has sent, for the case that nothing can be sent to make it do
// so. Drivers that know no such request hold at most their ring, which the pool has been sized for.
void DpdkPort::reclaim() {
  if (can_clean_up_) {
    rte_eth_tx_done_cleanup(device_->id(), queue_, 0);
  }
}

size_t DpdkPort::tx_burst(Instant, std::span<Frame> frames) {
  size_t total = 0;
  while (total < frames.size()) {
    const size_t want = std::min(kChunk, frames.size() - total);
    const size_t sent = send_chunk(frames.subspan(total, want));
    total += sent;
    if (sent < want) {
      tx_refused_ += frames.size() - total;
      break;
    }
  }
  tx_frames_ += total;
  return total;
}

size_t DpdkPort::send_chunk(std::span<Frame> frames) {
  size_t ready = 0;
  for (const Frame& frame : frames) {
    rte_mbuf* m = mbuf_of(frame);
    ROCE_DCHECK(m->next == nullptr && frame.data >= static_cast<uint8_t*>(m->buf_addr));
    m->data_off = static_cast<uint16_t>(frame.data - static_cast<uint8_t*>(m->buf_addr));
    ROCE_DCHECK(uint32_t{m->data_off} + frame.len <= m->buf_len);
    m->data_len = static_cast<uint16_t>(frame.len);
    m->pkt_len = frame.len;
    m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;  // a received one carries rx flags
    gathered_[ready] = frame.segment_count != 0;
    if (gathered_[ready] && !attach_segments(m, frame)) [[unlikely]] {
      break;
    }
    mbufs_[ready++] = m;
  }
  const size_t sent =
      rte_eth_tx_burst(device_->id(), queue_, mbufs_.data(), static_cast<uint16_t>(ready));
  for (size_t i = sent; i < ready; ++i) {
    detach_segments(mbufs_[i]);
  }
  const auto first = gathered_.begin();
  slots_.commit(
      static_cast<uint64_t>(std::count(first, first + static_cast<ptrdiff_t>(sent), true)));
  return sent;
}

// Chains one buffer-less mbuf per segment behind `head`. On failure `head` is as before.
bool DpdkPort::attach_segments(rte_mbuf* head, const Frame& frame) {
  ROCE_DCHECK(frame.segment_count <= info_.max_segments && frame.segments != nullptr);
  const uint32_t count = frame.segment_count;
  if (count > links_.size() ||
      rte_pktmbuf_alloc_bulk(device_->segment_pool(), links_.data(), count) != 0) {
    return false;
  }
  rte_mbuf_ext_shared_info* shared = slots_.open(count);
  if (shared == nullptr) {
    rte_pktmbuf_free_bulk(links_.data(), count);
    return false;
  }
  rte_mbuf* last = head;
  for (uint32_t i = 0; i < count; ++i) {
    const Segment& segment = frame.segments[i];
    auto* bytes = const_cast<uint8_t*>(segment.data);  // a sent buffer is only read
    const auto len = static_cast<uint16_t>(segment.len);
    rte_pktmbuf_attach_extbuf(links_[i], bytes, reinterpret_cast<rte_iova_t>(bytes), len, shared);
    links_[i]->data_len = len;
    head->pkt_len += len;
    last->next = links_[i];
    last = links_[i];
  }
  head->nb_segs = static_cast<uint16_t>(count + 1);
  return true;
}

void DpdkPort::release(std::span<Frame> frames) {
  while (!frames.empty()) {
    const size_t count = std::min(kChunk, frames.size());
    std::transform(frames.begin(), frames.begin() + static_cast<ptrdiff_t>(count), mbufs_.begin(),
                   mbuf_of);
    rte_pktmbuf_free_bulk(mbufs_.data(), static_cast<unsigned>(count));
    frames = frames.subspan(count);
  }
}

uint64_t DpdkPort::gather_done() {
  if (can_clean_up_ && !slots_.idle()) {
    reclaim();
  }
  return slots_.done();
}

PortStats DpdkPort::stats() const {
  rte_eth_stats device{};
  if (queue_ == 0) {  // what the device lost, it lost for all of them
    rte_eth_stats_get(device_->id(), &device);
  }
  PortStats stats;
  stats.rx_frames = rx_frames_;
  stats.tx_frames = tx_frames_;
  stats.rx_missed = device.imissed + device.rx_nombuf + not_linearised_;
  stats.tx_refused = tx_refused_;
  stats.alloc_failed = alloc_failed_;
  return stats;
}

}  // namespace roce::dpdk

namespace roce {

namespace {

Result<std::vector<std::unique_ptr<Port>>> open_queues(const DpdkPortConfig& config,
                                                       uint16_t queues) {
  const dpdk::SilencedStdio silence;
  const auto device = std::make_shared<dpdk::Device>();
  if (const Status s = device->open(config, queues); !s) {
    return tl::make_unexpected(s.error());
  }
  std::vector<std::unique_ptr<Port>> ports;
  for (uint16_t queue = 0; queue < queues; ++queue) {
    auto port = std::make_unique<dpdk::DpdkPort>(device, queue);
    if (const Status s = port->open(config); !s) {
      return tl::make_unexpected(s.error());
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

}  // namespace

Result<std::unique_ptr<Port>> open_dpdk_port(const DpdkPortConfig& config) {
  return open_queues(config, 1).map([](auto ports) { return std::move(ports[0]); });
}

Result<std::vector<std::unique_ptr<Port>>> open_dpdk_queues(const DpdkPortConfig& config,
                                                            uint32_t queues) {
  ROCE_CHECK(queues >= 2 && queues <= kMaxEngines);
  return open_queues(config, static_cast<uint16_t>(queues));
}

}  // namespace roce
