// Duplicates of READs and atomics: what the replay table answers, and what it does not.
// SPDX-License-Identifier: BSD-3-Clause
#include "script/registry.h"

namespace roce::script {

RULE_CASE("R3", duplicate_read_is_executed_again_from_memory) {
  connect();
  inject(read_request(0).reth(at(0), rkey(), 8));
  expect(read_only(0, 1).bytes(memory(0, 8)));
  set_memory(0, pattern(8, 5));
  inject(read_request(0).reth(at(0), rkey(), 8));
  expect(read_only(0, 1).data(8, 5));
}

RULE_CASE("R3", duplicate_read_of_several_packets) {
  connect();
  inject(read_request(0).reth(at(0), rkey(), 600));
  const std::vector<Pkt> replies = {read_first(0, 1).bytes(memory(0, 256)),
                                    read_middle(1).bytes(memory(256, 256)),
                                    read_last(2, 1).bytes(memory(512, 88))};
  expect(replies);
  inject(read_request(0).reth(at(0), rkey(), 600));
  expect(replies);
}

RULE_CASE("R3", duplicate_read_of_the_rest) {
  connect();
  inject(read_request(0).reth(at(0), rkey(), 600));
  expect({read_first(0, 1).bytes(memory(0, 256)), read_middle(1).bytes(memory(256, 256)),
          read_last(2, 1).bytes(memory(512, 88))});
  inject(read_request(1).reth(at(256), rkey(), 344));
  expect({read_first(1, 1).bytes(memory(256, 256)), read_last(2, 1).bytes(memory(512, 88))});
  inject(read_request(2).reth(at(512), rkey(), 88));
  expect(read_only(2, 1).bytes(memory(512, 88)));
}

RULE_CASE("R3", duplicate_read_of_a_part_in_the_middle) {
  connect();
  inject(read_request(0).reth(at(0), rkey(), 1000));
  expect({read_first(0, 1).bytes(memory(0, 256)), read_middle(1).bytes(memory(256, 256)),
          read_middle(2).bytes(memory(512, 256)), read_last(3, 1).bytes(memory(768, 232))});
  inject(read_request(1).reth(at(256), rkey(), 512));
  expect({read_first(1, 1).bytes(memory(256, 256)), read_last(2, 1).bytes(memory(512, 256))});
}

RULE_CASE("R3 A3", duplicate_read_keeps_its_message_number) {
  connect();
  inject({read_request(0).reth(at(0), rkey(), 8), read_request(1).reth(at(8), rkey(), 8)});
  expect({read_only(0, 1).bytes(memory(0, 8)), read_only(1, 2).bytes(memory(8, 8))});
  inject({read_request(0).reth(at(0), rkey(), 8), read_request(1).reth(at(8), rkey(), 8)});
  expect({read_only(0, 1).bytes(memory(0, 8)), read_only(1, 2).bytes(memory(8, 8))});
}

RULE_CASE("R3 R14", duplicate_read_of_nothing) {
  connect();
  inject(read_request(0).reth(0, 0, 0));
  expect(read_only(0, 1));
  inject(read_request(0).reth(0, 0, 0));
  expect(read_only(0, 1));
}

RULE_CASE("R3", duplicate_read_then_a_new_request) {
  connect();
  inject(read_request(0).reth(at(0), rkey(), 8));
  expect(read_only(0, 1).bytes(memory(0, 8)));
  inject({read_request(0).reth(at(0), rkey(), 8),
          write_only(1).reth(at(100), rkey(), 1).data(1).ack_req()});
  expect({read_only(0, 1).bytes(memory(0, 8)), ack(1, 2)});
}

RULE_CASE("R4", duplicate_read_with_another_rkey) {
  connect();
  inject(read_request(0).reth(at(0), rkey(), 8));
  expect(read_only(0, 1).bytes(memory(0, 8)));
  inject(read_request(0).reth(at(0), rkey() ^ 1, 8));
  expect_drop(DropReason::duplicate_request);
  expect_state(IBV_QPS_RTS);
}

RULE_CASE("R4", duplicate_read_from_another_address) {
  connect();
  inject(read_request(0).reth(at(0), rkey(), 8));
  expect(read_only(0, 1).bytes(memory(0, 8)));
  inject(read_request(0).reth(at(8), rkey(), 8));
  expect_drop(DropReason::duplicate_request);
}

RULE_CASE("R4", duplicate_read_of_more_than_the_original) {
  connect();
  inject(read_request(0).reth(at(0), rkey(), 8));
  expect(read_only(0, 1).bytes(memory(0, 8)));
  inject(read_request(0).reth(at(0), rkey(), 9));
  expect_drop(DropReason::duplicate_request);
  inject(read_request(0).reth(at(0), rkey(), 0xffffffff));
  expect_drop(DropReason::duplicate_request);
}

RULE_CASE("R4", duplicate_read_of_the_rest_with_the_first_address) {
  connect();
  inject(read_request(0).reth(at(0), rkey(), 600));
  expect({read_first(0, 1).bytes(memory(0, 256)), read_middle(1).bytes(memory(256, 256)),
          read_last(2, 1).bytes(memory(512, 88))});
  inject(read_request(1).reth(at(0), rkey(), 344));
  expect_drop(DropReason::duplicate_request);
}

RULE_CASE("R4", duplicate_read_no_longer_in_the_table) {
  connect({.dest_rd_atomic = 2});
  for (int i = 0; i < 3; ++i) {
    inject(read_request(i).reth(at(0), rkey(), 8));
    expect(read_only(i, uint32_t(i) + 1).bytes(memory(0, 8)));
  }
  inject(read_request(0).reth(at(0), rkey(), 8));
  expect_drop(DropReason::duplicate_request);
  inject(read_request(1).reth(at(0), rkey(), 8));
  expect(read_only(1, 2).bytes(memory(0, 8)));
}

RULE_CASE("R4", read_at_the_psn_of_a_write) {
  connect();
  inject(write_only(0).reth(at(0), rkey(), 4).data(4));
  inject(read_request(0).reth(at(0), rkey(), 4));
  expect_drop(DropReason::duplicate_request);
}

RULE_CASE("R4", atomic_at_the_psn_of_a_read) {
  connect();
  inject(read_request(0).reth(at(0), rkey(), 8));
  expect(read_only(0, 1).bytes(memory(0, 8)));
  inject(fetch_add(0).atomic(at(0), rkey(), 1));
  expect_drop(DropReason::duplicate_request);
  expect_memory_untouched();
}

RULE_CASE("R4", read_at_the_psn_of_an_atomic) {
  connect();
  const uint64_t before = word(0);
  inject(fetch_add(0).atomic(at(0), rkey(), 0));
  expect(atomic_ack(0, 1, before));
  inject(read_request(0).reth(at(0), rkey(), 8));
  expect_drop(DropReason::duplicate_request);
}

RULE_CASE("R4", duplicate_read_whose_region_is_gone_is_an_access_error) {
  connect();
  const uint32_t key = rkey();
  inject(read_request(0).reth(at(0), key, 8));
  expect(read_only(0, 1).bytes(memory(0, 8)));
  deregister_memory();
  inject(read_request(0).reth(at(0), key, 8));
  expect(nak_access(0, 1));
  expect_event(IBV_EVENT_QP_ACCESS_ERR);
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("R5", duplicate_fetch_add_gets_the_stored_result) {
  connect();
  set_word(16, 10);
  inject(fetch_add(0).atomic(at(16), rkey(), 5));
  expect(atomic_ack(0, 1, 10));
  inject(fetch_add(0).atomic(at(16), rkey(), 5));
  expect(atomic_ack(0, 1, 10));
  expect_that(word(16) == 15, "it was added once");
}

RULE_CASE("R5", duplicate_cmp_swap_gets_the_stored_result) {
  connect();
  set_word(16, 10);
  inject(cmp_swap(0).atomic(at(16), rkey(), 20, 10));
  expect(atomic_ack(0, 1, 10));
  set_word(16, 10);
  inject(cmp_swap(0).atomic(at(16), rkey(), 20, 10));
  expect(atomic_ack(0, 1, 10));
  expect_that(word(16) == 10, "memory is not touched again");
}

RULE_CASE("R5", duplicates_of_several_atomics_each_get_their_own_result) {
  connect();
  set_word(16, 0);
  for (int i = 0; i < 4; ++i) {
    inject(fetch_add(i).atomic(at(16), rkey(), 1));
    expect(atomic_ack(i, uint32_t(i) + 1, uint64_t(i)));
  }
  for (int i = 0; i < 4; ++i) {
    inject(fetch_add(i).atomic(at(16), rkey(), 1));
    expect(atomic_ack(i, uint32_t(i) + 1, uint64_t(i)));
  }
  expect_that(word(16) == 4, "each was executed once");
}

RULE_CASE("R5 R4", duplicate_atomic_no_longer_in_the_table) {
  connect({.dest_rd_atomic = 1});
  set_word(16, 0);
  inject(fetch_add(0).atomic(at(16), rkey(), 1));
  expect(atomic_ack(0, 1, 0));
  inject(fetch_add(1).atomic(at(16), rkey(), 1));
  expect(atomic_ack(1, 2, 1));
  inject(fetch_add(0).atomic(at(16), rkey(), 1));
  expect_drop(DropReason::duplicate_request);
  expect_that(word(16) == 2, "it was not executed again");
}

RULE_CASE("R5", duplicate_atomic_whose_region_is_gone_still_gets_its_result) {
  connect();
  const uint32_t key = rkey();
  set_word(16, 3);
  inject(fetch_add(0).atomic(at(16), key, 1));
  expect(atomic_ack(0, 1, 3));
  deregister_memory();
  inject(fetch_add(0).atomic(at(16), key, 1));
  expect(atomic_ack(0, 1, 3));
}

}  // namespace roce::script
