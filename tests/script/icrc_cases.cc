// The ICRC: which bytes it covers and which it does not.
// SPDX-License-Identifier: BSD-3-Clause
#include "base/bytes.h"
#include "script/frames.h"
#include "script/registry.h"

namespace roce::script {

RULE_CASE("S16 P13", each_byte_that_the_icrc_covers) {
  connect();
  const Bytes good = frame_of(sound(*this));
  // From the BTH to the end of the ICRC but for BTH's byte 4; earlier bytes have checks before.
  for (size_t i = kUdp4 + 8; i < good.size(); ++i) {
    Bytes bad = good;
    bad[i] ^= i == kUdp4 + 9 ? 0x80 : 0x01;
    const bool opcode = i == kUdp4 + 8;
    if (i == kUdp4 + 12 || opcode) {
      continue;
    }
    inject_frame(bad);
    expect_drop(DropReason::icrc);
  }
  inject_frame(good);
  expect(ack(0, 1));
}

RULE_CASE("S16 P13", ip_and_udp_fields_that_the_icrc_covers) {
  connect();
  for (const size_t at : {kIp + 4, kIp + 5, kIp + 12, kIp + 19, kUdp4 + 0, kUdp4 + 1}) {
    inject(sound(*this).spoil_frame([at](Bytes& f) {
      f[at] ^= 1;
      fix_ip_checksum(f);
    }));
    expect_drop(DropReason::icrc);
  }
}

RULE_CASE("S16 P13", fields_that_the_icrc_does_not_cover) {
  connect();
  const Bytes good = frame_of(write_only(0).reth(0, 0, 0).ack_req());
  for (const size_t at : {kIp + 1, kIp + 8, kUdp4 + 6, kUdp4 + 7, kUdp4 + 12}) {
    Bytes changed = good;
    changed[at] ^= 0x10;
    fix_ip_checksum(changed);
    inject_frame(changed);
    expect(ack(0, 1));
  }
}

RULE_CASE("S16 P13", ipv6_fields_that_the_icrc_does_not_cover) {
  connect({.ipv6 = true});
  const Bytes good = frame_of(write_only(0).reth(0, 0, 0).ack_req());
  for (const size_t at : {kIp + 1, kIp + 2, kIp + 3, kIp + 7, kUdp6 + 6, kUdp6 + 12}) {
    Bytes changed = good;
    changed[at] ^= 0x10;
    inject_frame(changed);
    expect(ack(0, 1));
  }
}

RULE_CASE("S16", icrc_in_network_byte_order) {
  connect();
  inject(sound(*this).spoil([](wire::Fields& f) { f.icrc = byteswap(f.icrc); }));
  expect_drop(DropReason::icrc);
}

RULE_CASE("S16", response_with_a_wrong_icrc) {
  connect();
  post(wr_send(1).from(0, 8));
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  inject(ack(0, 1).spoil([](wire::Fields& f) { f.icrc ^= 1; }));
  expect_drop(DropReason::icrc);
  inject(ack(0, 1));
  expect_sent({done(1, IBV_WC_SEND)});
}

}  // namespace roce::script
