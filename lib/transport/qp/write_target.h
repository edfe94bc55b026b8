// WriteTarget: the RDMA WRITE that is being received: its memory, and how much of it is missing.
// Shared by RC and UC, which differ only in what they say about a fault. Thread: the engine's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>

#include "base/limits.h"
#include "memory/region_table.h"
#include "wire/packet.h"

namespace roce {

class WriteTarget {
 public:
  enum class Fault : uint8_t {
    none,
    length,  ///< the message is longer or shorter than its RETH says, or too long at all
    access,  ///< key, right or range
  };

  /// Takes the next packet of the WRITE: checks the whole range with the first one, before a byte
  /// is placed (R11), and each packet's part again, since the region may have gone meanwhile. A
  /// WRITE of nothing needs no right to anything (R14).
  Fault take(const wire::Packet& packet, const RegionTable& regions, const RemoteUser& user) {
    if (packet.info->first) {
      if (const Fault fault = open(packet.reth(), regions, user); fault != Fault::none) {
        return fault;
      }
    }
    // LAST brings exactly what is missing, the others less.
    const uint32_t len = packet.payload_len;
    if (packet.info->last ? len != left_ : len >= left_) {
      return Fault::length;
    }
    if (len > 0) {
      uint8_t* const to = regions.resolve_remote(rkey_, user, va_, len, Access::remote_write);
      if (to == nullptr) {
        return Fault::access;
      }
      if (packet.payload != nullptr) {
        std::memcpy(to, packet.payload, len);
      }
    }
    va_ += len;
    left_ -= len;
    return Fault::none;
  }

  /// Where the payload of `packet` goes, which came `distance` > 0 packets too early; nullptr
  /// unless it is a MIDDLE of this WRITE. Not its LAST: who waits for the last byte in memory has
  /// the others then.
  uint8_t* place_of_early(const wire::Packet& packet, int32_t distance, uint32_t pmtu,
                          const RegionTable& regions, const RemoteUser& user) const {
    const uint64_t offset = uint64_t{pmtu} * static_cast<uint32_t>(distance);
    if (packet.info->first || packet.info->last || packet.payload_len != pmtu ||
        offset + pmtu >= left_) {
      return nullptr;
    }
    return regions.resolve_remote(rkey_, user, va_ + offset, pmtu, Access::remote_write);
  }

  /// Bytes of the whole message.
  uint32_t length() const { return length_; }

 private:
  Fault open(const wire::Reth& reth, const RegionTable& regions, const RemoteUser& user) {
    if (reth.dma_length > kMaxMessage) {
      return Fault::length;
    }
    if (reth.dma_length > 0 && regions.resolve_remote(reth.rkey, user, reth.va, reth.dma_length,
                                                      Access::remote_write) == nullptr) {
      return Fault::access;
    }
    va_ = reth.va;
    rkey_ = reth.rkey;
    length_ = left_ = reth.dma_length;
    return Fault::none;
  }

  uint64_t va_ = 0;  // where the next byte goes
  uint32_t rkey_ = 0;
  uint32_t length_ = 0;
  uint32_t left_ = 0;  // bytes still to come
};

}  // namespace roce
