// Fuzzes what looks at a frame before anything trusts it: the parser, the ICRC, the decoder of all
// headers, and the small protocols of the link. Decoding and encoding again must give the same
// bytes.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "fuzz/tally.h"
#include "net/link_responder.h"
#include "net/local_addresses.h"
#include "net/neighbour_table.h"
#include "wire/fields.h"
#include "wire/icrc.h"
#include "wire/packet.h"

namespace roce::fuzz {
namespace {

Tally tally;

constexpr MacAddress kMac{{0x02, 0, 0, 0, 0, 1}};

LocalAddresses addresses() {
  LocalAddresses local;
  local.mac = kMac;
  ROCE_CHECK(local.add(Gid::from(Ipv4Address{{192, 0, 2, 1}}), 24));
  ROCE_CHECK(local.add(Gid::from(link_local_address(kMac)), 64));
  return local;
}

/// The frame up to the end of its ICRC: what follows the IP packet is nobody's.
size_t used_length(std::span<const uint8_t> frame, const wire::Packet& packet) {
  return static_cast<size_t>(packet.l3 - frame.data()) + packet.l3_len;
}

void check_packet(std::span<const uint8_t> frame, const wire::Packet& packet) {
  const uint8_t* const end = frame.data() + frame.size();
  ROCE_CHECK(packet.payload + packet.payload_len + packet.pad_count + wire::kIcrcSize <= end);
  const bool whole = wire::icrc_ok(packet.l3, packet.l3_len);
  const wire::Fields fields = wire::decode(frame, packet);
  const std::vector<uint8_t> again = wire::emit(fields);
  const size_t used = used_length(frame, packet);
  // Reserved bits of headers are not kept apart, so only what was read is the same afterwards.
  wire::Packet second;
  const wire::ParseResult parsed = wire::parse(again, second);
  ROCE_CHECK(again.size() == used && parsed.kind == wire::FrameKind::roce);
  ROCE_CHECK(second.opcode == packet.opcode && second.psn == packet.psn &&
             second.dest_qp == packet.dest_qp && second.payload_len == packet.payload_len &&
             second.pad_count == packet.pad_count && second.pkey == packet.pkey &&
             second.ack_req == packet.ack_req && second.solicited == packet.solicited);
  if (whole && std::equal(again.begin(), again.end(), frame.begin())) {
    ROCE_CHECK(wire::icrc_ok(second.l3, second.l3_len));
  }
}

/// The whole life of a link responder is one input.
void check_link(std::span<const uint8_t> frame) {
  static const LocalAddresses local = addresses();
  NeighbourTable neighbours(local, {.capacity = 4});
  LinkResponder link(local, neighbours);
  const Instant now{1'000'000'000};
  link.on_frame(now, frame);
  std::array<uint8_t, 1600> out;
  for (int i = 0; i < 64 && link.wants_tx(); ++i) {
    const size_t n = link.pull(now, out.data(), out.size());
    if (n == 0) {
      break;
    }
    ROCE_CHECK(n <= out.size());
  }
  link.on_timeout(now + Duration::from_s(1));
}

}  // namespace
}  // namespace roce::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace roce;
  const std::span<const uint8_t> frame(data, size);
  wire::Packet packet;
  const wire::ParseResult parsed = wire::parse(frame, packet);
  switch (parsed.kind) {
    case wire::FrameKind::roce:
      fuzz::check_packet(frame, packet);
      break;
    case wire::FrameKind::other:
      fuzz::check_link(frame);
      break;
    case wire::FrameKind::bad:
      ROCE_CHECK(parsed.reason != DropReason::none);
      break;
  }
  return 0;
}
