// ATOMIC WRITE and FLUSH.
// SPDX-License-Identifier: BSD-3-Clause
#include "script/registry.h"

namespace roce::script {
namespace {

constexpr uint64_t kVa = Script::kPeerVa;
constexpr uint32_t kRkey = Script::kPeerRkey;
constexpr int kFlush = 1 << 8;  // IBV_ACCESS_FLUSH_GLOBAL of later headers

}  // namespace

RULE_CASE("X1", atomic_write_stores_eight_bytes) {
  connect();
  inject(atomic_write(0).reth(at(16), rkey(), 8).data(8));
  expect(read_only(0, 1));
  expect_memory(16, pattern(8));
}

RULE_CASES(wrong_atomic_writes) {
  struct Row {
    const char* name;
    uint32_t payload;
    uint32_t dma_length;
    size_t offset;
  };
  for (const Row& row : {Row{"of_4_bytes", 4, 4, 0}, Row{"of_16_bytes", 16, 16, 0},
                         Row{"whose_reth_says_4", 8, 4, 0}, Row{"off_the_grid", 8, 8, 4}}) {
    cases.add("X2", std::string("atomic_write_") + row.name, [row](Script& s) {
      s.connect();
      s.inject(atomic_write(0).reth(s.at(row.offset), s.rkey(), row.dma_length).data(row.payload));
      s.expect_refused(nak_invalid(0, 0));
      s.expect_memory_untouched();
    });
  }
}

RULE_CASE("X2 R8", atomic_write_without_the_right_on_the_queue_pair) {
  connect({.access = IBV_ACCESS_REMOTE_READ});
  inject(atomic_write(0).reth(at(0), rkey(), 8).data(8));
  expect_refused(nak_invalid(0, 0));
}

RULE_CASE("X2 R11", atomic_write_with_a_wrong_key) {
  connect();
  inject(atomic_write(0).reth(at(0), rkey() ^ 0x80000000, 8).data(8));
  expect_refused(nak_access(0, 0));
}

RULE_CASE("X3", duplicate_atomic_write) {
  connect();
  inject(atomic_write(0).reth(at(16), rkey(), 8).data(8));
  expect(read_only(0, 1));
  set_memory(16, pattern(8, 5));
  inject(atomic_write(0).reth(at(16), rkey(), 8).data(8));
  expect(read_only(0, 1));
  expect_memory(16, pattern(8, 5));
}

RULE_CASE("X4", flush_is_answered) {
  connect(
      {.access = kAllRemote | kFlush, .mr_access = IBV_ACCESS_LOCAL_WRITE | kAllRemote | kFlush});
  inject(flush(0).reth(at(0), rkey(), 64));
  expect(read_only(0, 1));
  inject(flush(0).reth(at(0), rkey(), 64));
  expect(read_only(0, 1));
}

RULE_CASE("X4", flush_of_the_whole_region) {
  connect(
      {.access = kAllRemote | kFlush, .mr_access = IBV_ACCESS_LOCAL_WRITE | kAllRemote | kFlush});
  inject(flush(0).feth(1, 1).reth(0, rkey(), 0));
  expect(read_only(0, 1));
}

RULE_CASE("X4 R8", flush_without_the_right_on_the_queue_pair) {
  connect({.mr_access = IBV_ACCESS_LOCAL_WRITE | kAllRemote | kFlush});
  inject(flush(0).reth(at(0), rkey(), 64));
  expect_refused(nak_invalid(0, 0));
}

RULE_CASE("X4 R11", flush_without_the_right_on_the_region) {
  connect({.access = kAllRemote | kFlush});
  inject(flush(0).reth(at(0), rkey(), 64));
  expect_refused(nak_access(0, 0));
}

RULE_CASE("X4", flush_to_persistence) {
  connect(
      {.access = kAllRemote | kFlush, .mr_access = IBV_ACCESS_LOCAL_WRITE | kAllRemote | kFlush});
  inject(flush(0).feth(2, 0).reth(at(0), rkey(), 64));
  expect_refused(nak_invalid(0, 0));
}

RULE_CASE("X5 P1", atomic_write_sent) {
  connect();
  post(request(1, static_cast<ibv_wr_opcode>(15)).from(0, 8).remote(kVa, kRkey));
  expect(atomic_write(0).reth(kVa, kRkey, 8).bytes(memory(0, 8)).ack_req());
  inject(read_only(0, 1));
  Done d;
  d.wr_id = 1;
  expect_sent({d});
}

RULE_CASE("X5 Q7", atomic_write_answered_with_data) {
  connect();
  post(request(1, static_cast<ibv_wr_opcode>(15)).from(0, 8).remote(kVa, kRkey));
  expect(atomic_write(0).reth(kVa, kRkey, 8).bytes(memory(0, 8)).ack_req());
  inject(read_only(0, 1).data(8));
  expect_sent({failed(1, IBV_WC_BAD_RESP_ERR)});
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("X5 P1 E4", flush_sent) {
  connect({.rd_atomic = 1});
  verbs::FlushRequest request;
  request.wr_id = 1;
  request.remote_addr = kVa;
  request.rkey = kRkey;
  request.length = 64;
  expect_that(qp().post_flush(request) == 0, "it is posted");
  expect(flush(0).reth(kVa, kRkey, 64).ack_req());
  post(wr_read(2).from(0, 8).remote(kVa, kRkey));
  expect_nothing();
  inject(read_only(0, 1));
  Done d;
  d.wr_id = 1;
  expect_sent({d});
  expect(read_request(1).reth(kVa, kRkey, 8).ack_req());
}

}  // namespace roce::script
