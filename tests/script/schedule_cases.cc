// What the end at host 1 does in schedule 14 of the simulator, as it was: no violation.
// build/bin/uroce-sim --seed 14 --simple --host 1 --rules "E1 Q3 A1" --script FILE
// SPDX-License-Identifier: BSD-3-Clause
#include "script/registry.h"

namespace roce::script {

RULE_CASE("E1 Q3 A1", schedule_14) {
  connect({.pmtu = IBV_MTU_2048,
           .timeout = 7,
           .retry_cnt = 7,
           .rnr_retry = 2,
           .min_rnr_timer = 1,
           .rd_atomic = 6,
           .dest_rd_atomic = 6,
           .cap = {6, 2, 4, 4, 64},
           .signal_all = true,
           .ipv6 = false,
           .window = 9,
           .held = 0,
           .first_psns = FirstPsns{0x4bec4f, 0xf15a83}});
  recv(1, 17064, 17000);
  recv(2, 34096, 17000);
  advance(ns(4786));
  inject(send_only(0).data(2047, 96).ack_req());
  expect(ack(0, 1));
  expect_received({received(1, 2047)});
  recv(6, 17064, 17000);
  advance(ns(6748));
  post({wr_send(7).from(51128, 71).signaled(),
        wr_send(8).from(51232, 156).from(51398, 1343).from(52754, 53).from(52810, 104).signaled(),
        wr_send(9).from(52920, 9479).signaled(),
        wr_send(10).from(62432, 1).from(62442, 4).signaled().inlined()});
  expect({send_only(0).bytes(memory(51128, 71)).ack_req(),
          send_only(1)
              .bytes(joined(
                  {memory(51232, 156), memory(51398, 1343), memory(52754, 53), memory(52810, 104)}))
              .ack_req(),
          send_first(2).bytes(memory(52920, 2048)).ack_req(),
          send_middle(3).bytes(memory(54968, 2048)),
          send_middle(4).bytes(memory(57016, 2048)).ack_req(),
          send_middle(5).bytes(memory(59064, 2048)),
          send_last(6).bytes(memory(61112, 1287)).ack_req(),
          send_only(7).bytes(joined({memory(62432, 1), memory(62442, 4)})).ack_req()});
  advance(ns(2887));
  inject(acknowledge(2, 2, 0x21));
  expect_sent({done(7, IBV_WC_SEND), done(8, IBV_WC_SEND)});
  advance(ns(1282));
  inject(write_only(1).reth(at(11050), rkey(), 160).data(160, 97).ack_req());
  expect(ack(1, 2));
  advance(ns(8653));
  inject(send_only(2).data(58, 98).ack_req());
  expect(ack(2, 3));
  expect_received({received(2, 58)});
  recv(15, 34096, 17000);
  advance(ns(65));
  expect({send_first(2).bytes(memory(52920, 2048)).ack_req(),
          send_middle(3).bytes(memory(54968, 2048)),
          send_middle(4).bytes(memory(57016, 2048)).ack_req(),
          send_middle(5).bytes(memory(59064, 2048)),
          send_last(6).bytes(memory(61112, 1287)).ack_req(),
          send_only(7).bytes(joined({memory(62432, 1), memory(62442, 4)})).ack_req()});
  advance(ns(2606));
  inject(nak_sequence(3, 2));
  expect({send_middle(3).bytes(memory(54968, 2048)),
          send_middle(4).bytes(memory(57016, 2048)).ack_req(),
          send_middle(5).bytes(memory(59064, 2048)),
          send_last(6).bytes(memory(61112, 1287)).ack_req(),
          send_only(7).bytes(joined({memory(62432, 1), memory(62442, 4)})).ack_req()});
  advance(ns(18466));
  inject(ack(3, 2));
  advance(ns(116666));
  post(wr_write(147).remote(0x0, 0x0).signaled());
  expect(write_only(8).reth(0x0, 0x0, 0).ack_req());
}

}  // namespace roce::script
