// Frames byte by byte.
// SPDX-License-Identifier: BSD-3-Clause
#include "enumeration/frame_builder.h"

#include <algorithm>

#include "base/bytes.h"
#include "enumeration/wire_table.h"
#include "wire/icrc.h"
#include "wire/ipv4.h"

namespace roce::enumeration {

std::span<const uint8_t> FrameBuilder::build(const Tuple& tuple, uint32_t qpn, uint32_t psn,
                                             uint64_t va, uint32_t rkey, uint32_t dma_length) {
  uint8_t* const f = frame_.data();
  std::fill_n(f, kExtensionsAt, uint8_t{0});
  f[0] = f[6] = 0x02;
  f[5] = 1;
  f[11] = 2;
  store_be<uint16_t>(f + 12, 0x0800);
  uint8_t* const bth = f + kBthAt;
  bth[0] = tuple.opcode;
  bth[1] = static_cast<uint8_t>(tuple.pad << 4);
  store_be<uint16_t>(bth + 2, 0xffff);
  store_be<uint32_t>(bth + 4, qpn);
  store_be<uint32_t>(bth + 8, 0x8000'0000 | psn);  // asks for an ACK
  uint8_t* at = put_extensions(f + kExtensionsAt, tuple.opcode, va, rkey, dma_length);
  for (uint32_t i = 0; i < tuple.bytes; ++i) {
    *at++ = static_cast<uint8_t>(i * 7 + 1);
  }
  const auto total = static_cast<size_t>(at - f) + wire::kIcrcSize;
  f[kIpAt] = 0x45;
  store_be<uint16_t>(f + kIpAt + 2, static_cast<uint16_t>(total - kIpAt));
  f[kIpAt + 8] = 64;
  f[kIpAt + 9] = 17;
  std::copy_n(kPeerIp.bytes.data(), 4, f + kIpAt + 12);
  std::copy_n(kOwnIp.bytes.data(), 4, f + kIpAt + 16);
  store_be<uint16_t>(f + kIpAt + 10, wire::Ipv4Header::checksum_of(f + kIpAt));
  store_be<uint16_t>(f + kUdpAt, 0xc321);
  store_be<uint16_t>(f + kUdpAt + 2, 4791);
  store_be<uint16_t>(f + kUdpAt + 4, static_cast<uint16_t>(total - kUdpAt));
  const uint32_t crc =
      wire::icrc_finish(wire::icrc_of_headers(f + kIpAt, static_cast<size_t>(at - f) - kIpAt));
  wire::store_icrc(at, crc);
  return {f, total};
}

uint8_t* FrameBuilder::put_extensions(uint8_t* at, uint8_t opcode, uint64_t va, uint32_t rkey,
                                      uint32_t dma_length) const {
  const auto transport = static_cast<uint8_t>(opcode >> 5);
  const Row row = row_of(transport, opcode & 0x1f);
  uint8_t* const end = at + extension_bytes(transport, row);
  std::fill(at, end, uint8_t{0});
  if (transport == kUd && row.known()) {
    store_be<uint32_t>(at, kQkey);
    store_be<uint32_t>(at + 4, kPeerQpn);
  }
  const bool aeth = row.is_response() && row.place != Place::middle;
  if (aeth) {
    at[0] = 0x1f;
  }
  if (row.kind == Kind::atomic_acknowledge) {
    store_be<uint64_t>(at + 4, 0x1122'3344'5566'7788);  // what was found
  }
  if (row.kind == Kind::flush) {
    store_be<uint32_t>(at, 1u << 0);  // global visibility, of the range
    at += 4;
  }
  const bool reth = row.kind == Kind::read || row.kind == Kind::flush ||
                    row.kind == Kind::atomic_write || (row.kind == Kind::write && row.begins());
  if (reth || row.kind == Kind::atomic) {
    store_be<uint64_t>(at, va);
    store_be<uint32_t>(at + 8, rkey);
    store_be<uint32_t>(at + 12, dma_length);
  }
  if (row.kind == Kind::atomic) {
    store_be<uint64_t>(at + 12, 0x0102'0304'0506'0708);  // swap or add
    store_be<uint64_t>(at + 20, 0);                      // compare: the word is 0
  }
  if (row.invalidate) {
    store_be<uint32_t>(end - 4, rkey);
  }
  return end;
}

}  // namespace roce::enumeration
