// Copy and ICRC with the kernels that the transport uses.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire_bench/copy_work.h"

#include <algorithm>
#include <cstring>

#include "wire/crc32.h"
#include "wire/icrc.h"

namespace uroce::wire_bench {
namespace {

namespace wire = roce::wire;

constexpr size_t kIpv6Headers = 60;  // IPv6, UDP and BTH

/// Where the next `len` of `size` bytes begin; moves on behind them.
size_t step(size_t& at, size_t len, size_t size) {
  const size_t begin = at + len <= size ? at : 0;
  at = begin + len;
  return begin;
}

}  // namespace

CopyWork::CopyWork(size_t headers, std::span<const uint8_t> from, std::span<uint8_t> to)
    : header_len_(std::min(headers, headers_.size())), from_(from), to_(to) {
  headers_[0] = header_len_ >= kIpv6Headers ? 0x60 : 0x45;
}

void CopyWork::write(std::span<uint8_t> packet) {
  const size_t payload = packet.size() - header_len_ - wire::kIcrcSize;
  uint8_t* at = packet.data();
  std::memcpy(at, headers_.data(), header_len_);
  at += header_len_;
  const uint32_t crc =
      wire::crc32_copy(wire::icrc_of_headers(headers_.data(), header_len_), at,
                       from_.data() + step(read_at_, payload, from_.size()), payload);
  wire::store_icrc(at + payload, wire::icrc_finish(crc));
}

bool CopyWork::read(std::span<const uint8_t> packet) {
  const size_t payload = packet.size() - header_len_ - wire::kIcrcSize;
  const uint8_t* at = packet.data() + header_len_;
  const uint32_t crc =
      wire::crc32_copy(wire::icrc_of_headers(packet.data(), header_len_),
                       to_.data() + step(write_at_, payload, to_.size()), at, payload);
  uint32_t received = 0;
  std::memcpy(&received, at + payload, sizeof received);
  return wire::icrc_finish(crc) == received;
}

}  // namespace uroce::wire_bench
