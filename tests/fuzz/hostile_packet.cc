// Frames byte by byte.
// SPDX-License-Identifier: BSD-3-Clause
#include "fuzz/hostile_packet.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "wire/icrc.h"
#include "wire/ipv4.h"
#include "wire/opcode.h"

namespace roce::fuzz {
namespace {

constexpr size_t kIpAt = 14;
constexpr size_t kUdpAt = 34;
constexpr size_t kBthAt = 42;
constexpr uint32_t kMask24 = 0xffffff;
/// Payloads count from their PSN on.
constexpr auto kPattern = [] {
  std::array<uint8_t, HostileFrame::kRoom + 256> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(i);
  }
  return bytes;
}();

template <class Header>
uint8_t* put(uint8_t* at, const Header& header) {
  header.emit(at);
  return at + Header::kSize;
}

uint8_t* put_extensions(uint8_t* at, const HostilePacket& p) {
  const wire::OpcodeInfo& info = wire::kOpcodes[p.opcode];
  if (info.deth) {
    at = put(at, wire::Deth{p.qkey, 0, p.src_qp & kMask24});
  }
  if (info.feth) {
    at = put(at, wire::Feth{static_cast<uint8_t>(p.feth), static_cast<uint8_t>(p.feth >> 4), 0});
  }
  if (info.reth) {
    at = put(at, wire::Reth{p.va, p.rkey, p.dma_length});
  }
  if (info.aeth) {
    at = put(at, wire::Aeth{p.syndrome, p.imm_or_rkey & kMask24});
  }
  if (info.atomic_eth) {
    at = put(at, wire::AtomicEth{p.va, p.rkey, p.swap_or_add, p.compare});
  }
  if (info.atomic_ack_eth) {
    at = put(at, wire::AtomicAckEth{p.swap_or_add});
  }
  if (info.imm || info.ieth) {
    store_be<uint32_t>(at, p.imm_or_rkey);
    at += sizeof p.imm_or_rkey;
  }
  return at;
}

}  // namespace

std::span<uint8_t> HostileFrame::build(const HostilePacket& p) {
  uint8_t* const f = frame_.data();
  const size_t headers = wire::kOpcodes[p.opcode].headers_len;
  const size_t total = kBthAt + headers + p.bytes + wire::kIcrcSize;
  ROCE_CHECK(total <= frame_.size());
  std::fill_n(f, kBthAt + headers, uint8_t{0});
  const MacAddress to = p.to_group ? MacAddress{{0x01, 0, 0x5e, 1, 2, 3}} : kOwnMac;
  std::copy(to.bytes.begin(), to.bytes.end(), f);
  std::copy(kPeerMac.bytes.begin(), kPeerMac.bytes.end(), f + 6);
  store_be<uint16_t>(f + 12, 0x0800);
  f[kIpAt] = 0x45;
  f[kIpAt + 1] = p.congested ? 3 : 0;
  store_be<uint16_t>(f + kIpAt + 2, static_cast<uint16_t>(total - kIpAt));
  f[kIpAt + 8] = 64;
  f[kIpAt + 9] = 17;
  const Ipv4Address& destination = p.to_group ? kGroupIp : kOwnIp;
  std::copy_n(kPeerIp.bytes.data(), 4, f + kIpAt + 12);
  std::copy_n(destination.bytes.data(), 4, f + kIpAt + 16);
  store_be<uint16_t>(f + kIpAt + 10, wire::Ipv4Header::checksum_of(f + kIpAt));
  store_be<uint16_t>(f + kUdpAt, 0xc321);
  store_be<uint16_t>(f + kUdpAt + 2, 4791);
  store_be<uint16_t>(f + kUdpAt + 4, static_cast<uint16_t>(total - kUdpAt));
  uint8_t* const bth = f + kBthAt;
  bth[0] = p.opcode;
  bth[1] = static_cast<uint8_t>((p.solicited ? 0x80 : 0) | (p.pad & 3) << 4);
  store_be<uint16_t>(bth + 2, p.pkey);
  store_be<uint32_t>(bth + 4, p.qpn & kMask24);
  store_be<uint32_t>(bth + 8, (p.ack_req ? 0x8000'0000 : 0) | (p.psn & kMask24));
  uint8_t* at = put_extensions(bth + 12, p);
  std::memcpy(at, kPattern.data() + (p.psn & 0xff), p.bytes);
  at += p.bytes;
  wire::store_icrc(
      at, wire::icrc_finish(wire::icrc_of_headers(f + kIpAt, static_cast<size_t>(at - f) - kIpAt)));
  return {f, total};
}

}  // namespace roce::fuzz
