// Memory windows and invalidation.
// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <optional>

#include "script/registry.h"

namespace roce::script {
namespace {

constexpr int kBindable = IBV_ACCESS_LOCAL_WRITE | kAllRemote | IBV_ACCESS_MW_BIND;
constexpr Setup kWindows{.mr_access = kBindable};

/// Of the memory of a case.
struct Extent {
  size_t offset;
  uint64_t length;
};

Wr bind(Script& s, uint64_t id, verbs::Mw& mw, uint32_t key, Extent extent, int access) {
  Wr w = request(id, IBV_WR_BIND_MW);
  w.wr.bind_mw.mw = mw.ibv();
  w.wr.bind_mw.rkey = key;
  w.wr.bind_mw.bind_info = {s.mr().ibv(), s.at(extent.offset), extent.length,
                            static_cast<unsigned>(access)};
  return w;
}

/// A window of type 2 over [64, 128) of the memory, for READ and WRITE; its key.
uint32_t bound_window(Script& s, verbs::Mw& mw) {
  const uint32_t key = ibv_inc_rkey(mw.rkey());
  s.post(bind(s, 1, mw, key, {64, 64}, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE));
  s.expect_sent({done(1, IBV_WC_BIND_MW)});
  return key;
}

}  // namespace

RULE_CASE("M1", bound_window_can_be_written_and_read) {
  connect(kWindows);
  verbs::Mw mw = *device().alloc_mw(pd(), IBV_MW_TYPE_2);
  const uint32_t key = bound_window(*this, mw);
  inject({write_only(0).reth(at(64), key, 8).data(8), read_request(1).reth(at(120), key, 8)});
  expect(read_only(1, 2).bytes(memory(120, 8)));
  expect_memory(64, pattern(8));
}

RULE_CASES(outside_of_the_window) {
  struct Row {
    const char* name;
    size_t offset;
    uint32_t length;
  };
  for (const Row& row : {Row{"before", 63, 1}, Row{"behind", 128, 1}, Row{"over_the_end", 121, 8},
                         Row{"at_the_regions_beginning", 0, 8}}) {
    cases.add("M2 R11", std::string("window_accessed_") + row.name, [row](Script& s) {
      s.connect(kWindows);
      verbs::Mw mw = *s.device().alloc_mw(s.pd(), IBV_MW_TYPE_2);
      const uint32_t key = bound_window(s, mw);
      s.inject(read_request(0).reth(s.at(row.offset), key, row.length));
      s.expect_refused(nak_access(0, 0));
    });
  }
}

RULE_CASE("M2", window_without_the_right) {
  connect(kWindows);
  verbs::Mw mw = *device().alloc_mw(pd(), IBV_MW_TYPE_2);
  const uint32_t key = bound_window(*this, mw);
  inject(fetch_add(0).atomic(at(64), key, 1));
  expect_refused(nak_access(0, 0));
  expect_memory_untouched();
}

RULE_CASE("M3", window_that_was_never_bound) {
  connect(kWindows);
  verbs::Mw mw = *device().alloc_mw(pd(), IBV_MW_TYPE_2);
  inject(read_request(0).reth(at(64), mw.rkey(), 8));
  expect_refused(nak_access(0, 0));
}

RULE_CASE("M3", window_used_through_another_queue_pair) {
  connect(kWindows);
  verbs::Mw mw = *device().alloc_mw(pd(), IBV_MW_TYPE_2);
  const uint32_t key = bound_window(*this, mw);
  const verbs::Qp other = another_qp();
  inject(read_request(0).reth(at(64), key, 8).edit([&other](wire::Fields& f) {
    f.bth.dest_qp = other.qpn();
  }));
  expect_that(forget_sent() == 1, "the other one answers with a NAK");
  expect_event(IBV_EVENT_QP_ACCESS_ERR);
  expect_that(other.query().qp_state == IBV_QPS_ERR, "it is in error");
  expect_state(IBV_QPS_RTS);
}

RULE_CASE("M3 M5", window_invalidated_by_its_owner) {
  connect(kWindows);
  verbs::Mw mw = *device().alloc_mw(pd(), IBV_MW_TYPE_2);
  const uint32_t key = bound_window(*this, mw);
  post(wr_local_inv(2).invalidate(key));
  expect_sent({done(2, IBV_WC_LOCAL_INV)});
  inject(read_request(0).reth(at(64), key, 8));
  expect_refused(nak_access(0, 0));
}

RULE_CASES(wrong_binds) {
  struct Row {
    const char* name;
    int mr_access;
    size_t offset;
    uint64_t length;
    int access;
  };
  for (const Row& row :
       {Row{"to_a_region_without_the_right", IBV_ACCESS_LOCAL_WRITE | kAllRemote, 64, 64,
            IBV_ACCESS_REMOTE_READ},
        Row{"over_the_end_of_the_region", kBindable, Script::kMemory - 8, 64,
            IBV_ACCESS_REMOTE_READ},
        Row{"for_writing_to_a_region_without_local_write",
            IBV_ACCESS_MW_BIND | IBV_ACCESS_REMOTE_READ, 64, 64, IBV_ACCESS_REMOTE_WRITE},
        Row{"of_nothing", kBindable, 64, 0, IBV_ACCESS_REMOTE_READ}}) {
    cases.add("M4", std::string("bind_") + row.name, [row](Script& s) {
      s.connect({.mr_access = row.mr_access});
      verbs::Mw mw = *s.device().alloc_mw(s.pd(), IBV_MW_TYPE_2);
      s.post(bind(s, 1, mw, ibv_inc_rkey(mw.rkey()), {row.offset, row.length}, row.access));
      s.expect_sent({failed(1, IBV_WC_MW_BIND_ERR)});
      s.expect_state(IBV_QPS_ERR);
    });
  }
}

RULE_CASE("M4", window_of_type_2_that_is_bound_already) {
  connect(kWindows);
  verbs::Mw mw = *device().alloc_mw(pd(), IBV_MW_TYPE_2);
  const uint32_t key = bound_window(*this, mw);
  post(bind(*this, 2, mw, ibv_inc_rkey(key), {0, 8}, IBV_ACCESS_REMOTE_READ));
  expect_sent({failed(2, IBV_WC_MW_BIND_ERR)});
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("M5", invalidating_what_is_no_window) {
  connect(kWindows);
  post(wr_local_inv(1).invalidate(rkey() ^ 0x1000));
  expect_sent({failed(1, IBV_WC_LOC_QP_OP_ERR)});
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("M5", invalidating_the_window_of_another_queue_pair) {
  connect(kWindows);
  verbs::Mw mw = *device().alloc_mw(pd(), IBV_MW_TYPE_2);
  const uint32_t key = bound_window(*this, mw);
  verbs::Qp other = another_qp();
  Wr invalidate = wr_local_inv(2).invalidate(key);
  ibv_send_wr* bad = nullptr;
  expect_that(other.post_send(&invalidate.wr, &bad) == 0, "it is posted");
  Done d = failed(2, IBV_WC_LOC_QP_OP_ERR);
  d.qpn = other.qpn();
  expect_sent({d});
  expect_that(other.query().qp_state == IBV_QPS_ERR, "it is in error");
  inject(read_request(0).reth(at(64), key, 8));
  expect(read_only(0, 1).bytes(memory(64, 8)));
}

RULE_CASE("M4", window_of_another_domain) {
  connect(kWindows);
  const verbs::Pd other = *device().alloc_pd();
  verbs::Mw mw = *device().alloc_mw(other, IBV_MW_TYPE_2);
  post(bind(*this, 1, mw, ibv_inc_rkey(mw.rkey()), {64, 64}, IBV_ACCESS_REMOTE_READ));
  expect_sent({failed(1, IBV_WC_MW_BIND_ERR)});
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("M6 E3", fenced_invalidate_waits_for_everything) {
  connect(kWindows);
  verbs::Mw mw = *device().alloc_mw(pd(), IBV_MW_TYPE_2);
  const uint32_t key = bound_window(*this, mw);
  post({wr_send(2).from(0, 8), wr_local_inv(3).invalidate(key).fence(), wr_send(4).from(8, 8)});
  expect(send_only(0).bytes(memory(0, 8)).ack_req());
  inject(read_request(0).reth(at(64), key, 8));
  expect(read_only(0, 1).bytes(memory(64, 8)));
  inject(ack(0, 1));
  expect(send_only(1).bytes(memory(8, 8)).ack_req());
  expect_sent({done(2, IBV_WC_SEND), done(3, IBV_WC_LOCAL_INV)});
  inject(read_request(1).reth(at(64), key, 8));
  expect_refused(nak_access(1, 1));
  expect_sent({flushed(4)});
}

RULE_CASE("M7 C2", send_with_invalidate_takes_the_key_away) {
  connect(kWindows);
  verbs::Mw mw = *device().alloc_mw(pd(), IBV_MW_TYPE_2);
  const uint32_t key = bound_window(*this, mw);
  recv(2, 1000, 8);
  inject(send_only_inv(0, key).data(8).ack_req());
  expect(ack(0, 1));
  expect_received({received(2, 8).invalidates(key)});
  inject(read_request(1).reth(at(64), key, 8));
  expect_refused(nak_access(1, 1));
}

RULE_CASE("M7 P11", send_with_invalidate_of_two_packets) {
  connect(kWindows);
  verbs::Mw mw = *device().alloc_mw(pd(), IBV_MW_TYPE_2);
  const uint32_t key = bound_window(*this, mw);
  recv(2, 1000, 300);
  inject({send_first(0).data(256), send_last_inv(1, key).data(4)});
  expect_received({received(2, 260).invalidates(key)});
}

RULE_CASE("M7 P1 P11", send_with_invalidate_sent) {
  connect();
  post(wr_send_inv(1).from(0, 8).invalidate(0xa1b2c3d4));
  expect(send_only_inv(0, 0xa1b2c3d4).bytes(memory(0, 8)).ack_req());
  inject(ack(0, 1));
  expect_sent({done(1, IBV_WC_SEND)});
}

RULE_CASE("R15", send_with_invalidate_of_an_unknown_key) {
  connect();
  recv(1, 1000, 8);
  recv(2, 1000, 8);
  inject(send_only_inv(0, rkey() ^ 0x1000).data(8));
  expect_received({failed(1, IBV_WC_REM_INV_REQ_ERR), flushed(2)});
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("R15", send_with_invalidate_of_a_region) {
  connect();
  recv(1, 1000, 8);
  inject(send_only_inv(0, rkey()).data(8).ack_req());
  expect(ack(0, 1));
  expect_received({failed(1, IBV_WC_REM_INV_REQ_ERR)});
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("R15 R2 M7", duplicate_of_a_send_with_invalidate) {
  connect(kWindows);
  verbs::Mw mw = *device().alloc_mw(pd(), IBV_MW_TYPE_2);
  const uint32_t key = bound_window(*this, mw);
  recv(2, 1000, 8);
  inject(send_only_inv(0, key).data(8).ack_req());
  expect(ack(0, 1));
  expect_received({received(2, 8).invalidates(key)});
  inject(send_only_inv(0, key).data(8).ack_req());
  expect(ack(0, 1));
  expect_state(IBV_QPS_RTS);
}

RULE_CASE("M8", window_of_type_1) {
  connect(kWindows);
  verbs::Mw mw = *device().alloc_mw(pd(), IBV_MW_TYPE_1);
  const uint32_t before = mw.rkey();
  ibv_mw_bind info{};
  info.wr_id = 1;
  info.send_flags = IBV_SEND_SIGNALED;
  info.bind_info = {mr().ibv(), at(64), 64, IBV_ACCESS_REMOTE_READ};
  expect_that(qp().bind_mw(mw, info) == 0 && mw.rkey() != before, "the key changes at once");
  expect_sent({done(1, IBV_WC_BIND_MW)});
  inject(read_request(0).reth(at(64), mw.rkey(), 8));
  expect(read_only(0, 1).bytes(memory(64, 8)));
  info.wr_id = 2;
  info.bind_info.length = 0;
  expect_that(qp().bind_mw(mw, info) == 0, "it is unbound");
  expect_sent({done(2, IBV_WC_BIND_MW)});
  inject(read_request(1).reth(at(64), mw.rkey(), 8));
  expect_refused(nak_access(1, 1));
}

// --- X

RULE_CASE("M8", window_of_type_1_is_not_bound_by_a_request) {
  connect(kWindows);
  verbs::Mw mw = *device().alloc_mw(pd(), IBV_MW_TYPE_1);
  const uint32_t key = ibv_inc_rkey(mw.rkey());
  post_refused(bind(*this, 1, mw, key, {64, 64}, IBV_ACCESS_REMOTE_READ), EINVAL, "type 1");
}

RULE_CASE("M9 M3", window_of_a_queue_pair_that_was_destroyed) {
  connect(kWindows);
  std::optional<verbs::Mw> mw = *device().alloc_mw(pd(), IBV_MW_TYPE_2);
  const uint32_t key = ibv_inc_rkey(mw->rkey());
  {
    verbs::Qp owner = another_qp();
    Wr request = bind(*this, 1, *mw, key, {64, 64}, IBV_ACCESS_REMOTE_READ);
    ibv_send_wr* bad = nullptr;
    expect_that(owner.post_send(&request.wr, &bad) == 0, "it is posted");
    Done d = done(1, IBV_WC_BIND_MW);
    d.qpn = owner.qpn();
    expect_sent({d});
  }
  const Status held = mr().deregister();
  expect_that(!held && held.error().code == EBUSY, "the window holds its memory still");
  inject(read_request(0).reth(at(64), key, 8));
  expect_refused(nak_access(0, 0));
  mw.reset();
  expect_that(mr().deregister().has_value(), "nothing holds the memory any more");
}

}  // namespace roce::script
