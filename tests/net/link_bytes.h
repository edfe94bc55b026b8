// Frames written down byte by byte: what the tests feed to a LinkResponder and expect from it.
// We are 02:00:00:00:00:01 with 10.0.0.1/24, 2001:db8::1/64 and fe80::ff:fe00:1/64; the peer is
// 02:00:00:00:00:02 with 10.0.0.2 and 2001:db8::2. Checksums were computed by other programs.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "wire/icmp.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"

namespace roce::test {

using Bytes = std::vector<uint8_t>;

/// Bytes from pairs of hexadecimal digits; blanks between pairs are skipped.
inline Bytes hex(std::string_view text) {
  Bytes out;
  for (size_t i = 0; i + 1 < text.size();) {
    if (text[i] == ' ') {
      ++i;
      continue;
    }
    out.push_back(static_cast<uint8_t>(std::stoul(std::string(text.substr(i, 2)), nullptr, 16)));
    i += 2;
  }
  return out;
}

inline const Bytes kArpRequest =
    hex("ffffffffffff0200000000020806 0001080006040001 0200000000020a000002"
        "0000000000000a000001 000000000000000000000000000000000000");
inline const Bytes kArpReply =
    hex("0200000000020200000000010806 0001080006040002 0200000000010a000001"
        "0200000000020a000002 000000000000000000000000000000000000");
inline const Bytes kArpProbe =
    hex("ffffffffffff0200000000020806 0001080006040001 02000000000200000000"
        "0000000000000a000001");
inline const Bytes kArpProbeReply =
    hex("0200000000020200000000010806 0001080006040002 0200000000010a000001"
        "02000000000200000000 000000000000000000000000000000000000");
inline const Bytes kOwnArpRequest =
    hex("ffffffffffff0200000000010806 0001080006040001 0200000000010a000001"
        "0000000000000a000002 000000000000000000000000000000000000");
inline const Bytes kPeerArpReply =
    hex("0200000000010200000000020806 0001080006040002 0200000000020a000002"
        "0200000000010a000001 000000000000000000000000000000000000");
inline const Bytes kGratuitousArp =
    hex("ffffffffffff0200000000010806 0001080006040001 0200000000010a000001"
        "0000000000000a000001 000000000000000000000000000000000000");
inline const Bytes kSolicitation =
    hex("3333ff00000102000000000286dd 6000000000203aff 20010db8000000000000000000000002"
        "ff0200000000000000000001ff000001 87001c2700000000 20010db8000000000000000000000001"
        "0101020000000002");
inline const Bytes kAdvertisement =
    hex("02000000000202000000000186dd 6000000000203aff 20010db8000000000000000000000001"
        "20010db8000000000000000000000002 88008a7360000000 20010db8000000000000000000000001"
        "0201020000000001");
inline const Bytes kSolicitationWithoutOption =
    hex("02000000000102000000000286dd 6000000000183aff 20010db8000000000000000000000002"
        "20010db8000000000000000000000001 8700ef7d00000000 20010db8000000000000000000000001");
inline const Bytes kProbe =
    hex("3333ff00000102000000000286dd 6000000000183aff 00000000000000000000000000000000"
        "ff0200000000000000000001ff000001 87004ced00000000 20010db8000000000000000000000001");
inline const Bytes kProbeAdvertisement =
    hex("33330000000102000000000186dd 6000000000203aff 20010db8000000000000000000000001"
        "ff020000000000000000000000000001 8800f92a20000000 20010db8000000000000000000000001"
        "0201020000000001");
inline const Bytes kOwnSolicitation =
    hex("3333ff00000202000000000186dd 6000000000203aff 20010db8000000000000000000000001"
        "ff0200000000000000000001ff000002 87001c2700000000 20010db8000000000000000000000002"
        "0101020000000001");
inline const Bytes kPeerAdvertisement =
    hex("02000000000102000000000286dd 6000000000203aff 20010db8000000000000000000000002"
        "20010db8000000000000000000000001 88008a7160000000 20010db8000000000000000000000002"
        "0201020000000002");
inline const Bytes kLinkLocalAnnouncement =
    hex("33330000000102000000000186dd 6000000000203aff fe80000000000000000000fffe000001"
        "ff020000000000000000000000000001 8800599b20000000 fe80000000000000000000fffe000001"
        "0201020000000001");
inline const Bytes kPing =
    hex("0200000000010200000000020800 4528002111110000030192a10a0000020a000001"
        "0800bbfd12340007 6162636465");
inline const Bytes kPong =
    hex("0200000000020200000000010800 4528002100004000400126b20a0000010a000002"
        "0000c3fd12340007 616263646500000000000000000000000000");
inline const Bytes kPing6 =
    hex("02000000000102000000000286dd 60000000000d3a03 20010db8000000000000000000000002"
        "20010db8000000000000000000000001 8000e84012340007 6162636465");
inline const Bytes kPong6 =
    hex("02000000000202000000000186dd 60000000000d3a40 20010db8000000000000000000000001"
        "20010db8000000000000000000000002 8100e74012340007 6162636465");

/// An advertisement to all nodes is the same bytes, asked for or not.
inline const Bytes kOwnAnnouncement = kProbeAdvertisement;

// Offsets in an untagged frame.
inline constexpr size_t kIp = 14;          // offset of the IP header in an untagged frame
inline constexpr size_t kIcmp4 = 14 + 20;  // of the ICMP message
inline constexpr size_t kIcmp6 = 14 + 40;

inline Bytes with(Bytes frame, size_t at, uint8_t value) {
  frame[at] = value;
  return frame;
}

/// Puts the right checksums into a frame that was changed.
inline Bytes mended(Bytes frame) {
  uint8_t* ip = frame.data() + kIp;
  if (ip[0] >> 4 == 4) {
    store_be<uint16_t>(ip + 10, 0);
    store_be<uint16_t>(ip + 10, wire::Ipv4Header::checksum_of(ip));
    const size_t len = load_be<uint16_t>(ip + 2) - wire::Ipv4Header::kSize;
    store_be<uint16_t>(frame.data() + kIcmp4 + 2, 0);
    store_be<uint16_t>(frame.data() + kIcmp4 + 2, wire::icmp_checksum(frame.data() + kIcmp4, len));
  } else {
    const auto header = wire::Ipv6Header::parse(ip);
    uint8_t* message = frame.data() + kIcmp6;
    store_be<uint16_t>(message + 2, 0);
    store_be<uint16_t>(message + 2, wire::icmpv6_checksum(header.source, header.destination,
                                                          message, header.payload_length));
  }
  return frame;
}

inline Bytes tagged(const Bytes& frame, uint8_t priority, uint16_t vlan) {
  Bytes out(frame.begin(), frame.begin() + 12);
  const Bytes tag = {0x81, 0x00, static_cast<uint8_t>(priority << 5 | vlan >> 8),
                     static_cast<uint8_t>(vlan & 0xff)};
  out.insert(out.end(), tag.begin(), tag.end());
  out.insert(out.end(), frame.begin() + 12, frame.end());
  return out;
}

/// A ping with `data_len` bytes of data.
inline Bytes long_ping(size_t data_len) {
  Bytes frame = kPing;
  frame.resize(kIcmp4 + 8 + data_len, 0x5a);
  store_be<uint16_t>(frame.data() + kIp + 2, static_cast<uint16_t>(28 + data_len));
  return mended(frame);
}

}  // namespace roce::test
