// Requests that the RC responder refuses: order of packets, rights, keys, limits, receivers.
// SPDX-License-Identifier: BSD-3-Clause
#include "script/names.h"
#include "script/registry.h"

namespace roce::script {
namespace {

using wire::Operation;

/// A request of this kind that would be all right at PSN `psn`.
Pkt sound_request(const Script& s, Operation op, int32_t psn) {
  Pkt p = packet(op, psn).ack_req();
  const wire::OpcodeInfo& info = wire::kOpcodes[static_cast<uint8_t>(op)];
  const bool atomic = info.atomic_eth;
  if (info.payload) {
    p.data(info.last ? 8 : s.pmtu());
  }
  if (info.reth) {
    p.reth(s.at(0), s.rkey(), info.last ? 8 : 2 * s.pmtu());
  }
  return atomic ? p.atomic(s.at(0), s.rkey(), 1) : p;
}

constexpr Operation kWhole[] = {Operation::send_first,     Operation::send_only,
                                Operation::send_only_imm,  Operation::send_only_inv,
                                Operation::write_first,    Operation::write_only,
                                Operation::write_only_imm, Operation::read_request,
                                Operation::cmp_swap,       Operation::fetch_add};
constexpr Operation kSendRest[] = {Operation::send_middle, Operation::send_last,
                                   Operation::send_last_imm, Operation::send_last_inv};
constexpr Operation kWriteRest[] = {Operation::write_middle, Operation::write_last,
                                    Operation::write_last_imm};

void add_out_of_place(const Generator& cases, Operation op, bool send_open, bool write_open) {
  const std::string where = send_open    ? "inside_a_send"
                            : write_open ? "inside_a_write"
                                         : "outside_of_a_message";
  cases.add("R7", name_of(op) + "_" + where, [=](Script& s) {
    s.connect();
    s.recv(1, 0, 4096);
    s.recv(2, 0, 4096);
    if (send_open) {
      s.inject(send_first(0).data(s.pmtu()));
    } else if (write_open) {
      s.inject(write_first(0).reth(s.at(0), s.rkey(), 1000).data(s.pmtu()));
    }
    const int32_t psn = send_open || write_open ? 1 : 0;
    s.inject(sound_request(s, op, psn));
    s.expect(nak_invalid(psn, 0));
    if (send_open) {
      s.expect_received({failed(1, IBV_WC_REM_INV_REQ_ERR).vendor(0x61), flushed(2)});
    } else {
      s.expect_event(IBV_EVENT_QP_REQ_ERR);
      s.expect_received({flushed(1), flushed(2)});
    }
    s.expect_state(IBV_QPS_ERR);
  });
}

}  // namespace

RULE_CASES(packets_out_of_place) {
  for (const Operation op : kSendRest) {
    add_out_of_place(cases, op, false, false);
    add_out_of_place(cases, op, false, true);
  }
  for (const Operation op : kWriteRest) {
    add_out_of_place(cases, op, false, false);
    add_out_of_place(cases, op, true, false);
  }
  for (const Operation op : kWhole) {
    add_out_of_place(cases, op, true, false);
    add_out_of_place(cases, op, false, true);
  }
}

RULE_CASES(reserved_opcodes) {
  for (const int opcode : {0x15, 0x18, 0x19, 0x1a, 0x1b, 0x1e, 0x1f}) {
    const auto byte = static_cast<uint8_t>(opcode);
    cases.add("R8", "reserved_opcode_" + hex(byte, 2), [byte](Script& s) {
      s.connect();
      s.inject(send_only(0).with_opcode(byte).data(8));
      s.expect_refused(nak_invalid(0, 0));
    });
    cases.add("R8 A7", "reserved_opcode_ahead_" + hex(byte, 2), [byte](Script& s) {
      s.connect();
      s.inject(send_only(1).with_opcode(byte).data(8));
      s.expect(nak_sequence(0, 0));
      s.expect_drop(DropReason::out_of_sequence);
    });
    cases.add("R4", "reserved_opcode_behind_" + hex(byte, 2), [byte](Script& s) {
      s.connect();
      s.inject(write_only(0).reth(0, 0, 0));
      s.inject(send_only(0).with_opcode(byte).data(8).ack_req());
      s.expect_drop(DropReason::duplicate_request);
    });
  }
}

RULE_CASES(rights_of_the_queue_pair) {
  struct Row {
    Operation op;
    int right;
  };
  for (const Row& row : {Row{Operation::write_first, IBV_ACCESS_REMOTE_WRITE},
                         Row{Operation::write_only, IBV_ACCESS_REMOTE_WRITE},
                         Row{Operation::write_only_imm, IBV_ACCESS_REMOTE_WRITE},
                         Row{Operation::read_request, IBV_ACCESS_REMOTE_READ},
                         Row{Operation::cmp_swap, IBV_ACCESS_REMOTE_ATOMIC},
                         Row{Operation::fetch_add, IBV_ACCESS_REMOTE_ATOMIC}}) {
    cases.add("R8", name_of(row.op) + "_without_the_right_on_the_queue_pair", [row](Script& s) {
      s.connect({.access = kAllRemote & ~row.right});
      s.inject(sound_request(s, row.op, 0));
      s.expect_refused(nak_invalid(0, 0));
      s.expect_memory_untouched();
    });
    cases.add("R11", name_of(row.op) + "_without_the_right_on_the_region", [row](Script& s) {
      s.connect({.mr_access = IBV_ACCESS_LOCAL_WRITE | (kAllRemote & ~row.right)});
      s.recv(1, 0, 16);
      s.inject(sound_request(s, row.op, 0));
      s.expect(nak_access(0, 0));
      if (row.op == Operation::write_only_imm) {
        s.expect_received({failed(1, IBV_WC_REM_ACCESS_ERR).vendor(0x62)});
      } else {
        s.expect_event(IBV_EVENT_QP_ACCESS_ERR);
        s.expect_received({flushed(1)});
      }
      s.expect_state(IBV_QPS_ERR);
      s.expect_memory_untouched();
    });
  }
}

RULE_CASES(atomics_off_the_grid) {
  for (unsigned offset = 1; offset < 8; ++offset) {
    for (const Operation op : {Operation::cmp_swap, Operation::fetch_add}) {
      cases.add("R9", name_of(op) + "_at_an_address_plus_" + std::to_string(offset),
                [=](Script& s) {
                  s.connect();
                  s.inject(packet(op, 0).atomic(s.at(offset), s.rkey(), 1));
                  s.expect_refused(nak_invalid(0, 0));
                  s.expect_memory_untouched();
                });
    }
  }
}

RULE_CASES(keys_and_ranges) {
  struct Row {
    const char* what;
    uint64_t (*va)(const Script&);
    uint32_t key_error;
  };
  constexpr Row kRows[] = {
      {"with_a_key_whose_tag_is_wrong", [](const Script& s) { return s.at(0); }, 0x80000000},
      {"with_a_key_of_another_slot", [](const Script& s) { return s.at(0); }, 1},
      {"before_the_region", [](const Script& s) { return s.at(0) - 8; }, 0},
      {"right_behind_the_region", [](const Script& s) { return s.at(0) + Script::kMemory; }, 0},
      {"round_the_end_of_the_address_space", [](const Script&) { return ~uint64_t{7}; }, 0},
      {"at_address_0", [](const Script&) { return uint64_t{0}; }, 0}};
  for (const Row& row : kRows) {
    for (const Operation op :
         {Operation::write_only, Operation::write_first, Operation::read_request,
          Operation::cmp_swap, Operation::fetch_add}) {
      cases.add("R11", name_of(op) + "_" + row.what, [=](Script& s) {
        s.connect();
        Pkt p = sound_request(s, op, 0);
        p.reth(row.va(s), s.rkey() ^ row.key_error, op == Operation::write_first ? 512 : 8);
        p.atomic(row.va(s), s.rkey() ^ row.key_error, 1);
        s.inject(p);
        s.expect_refused(nak_access(0, 0));
        s.expect_memory_untouched();
      });
    }
  }
}

RULE_CASES(regions_of_another_domain) {
  for (const Operation op :
       {Operation::write_only, Operation::read_request, Operation::fetch_add}) {
    cases.add("R11", name_of(op) + "_to_a_region_of_another_domain", [=](Script& s) {
      s.connect();
      const verbs::Pd other = *s.device().alloc_pd();
      alignas(8) uint8_t bytes[64] = {};
      const verbs::Mr region =
          *s.device().reg_mr(other, bytes, sizeof bytes, IBV_ACCESS_LOCAL_WRITE | kAllRemote);
      const auto va = reinterpret_cast<uint64_t>(&bytes[0]);
      s.inject(sound_request(s, op, 0).reth(va, region.rkey(), 8).atomic(va, region.rkey(), 1));
      s.expect_refused(nak_access(0, 0));
      s.expect_that(bytes[0] == 0, "nothing was written");
    });
  }
}

RULE_CASE("R11", last_byte_of_the_region_can_be_had_and_the_next_cannot) {
  connect();
  inject(read_request(0).reth(at(kMemory - 8), rkey(), 8));
  expect(read_only(0, 1).bytes(memory(kMemory - 8, 8)));
  inject(read_request(1).reth(at(kMemory - 7), rkey(), 8));
  expect_refused(nak_access(1, 1));
}

RULE_CASE("R11", region_gone_between_the_packets_of_a_write) {
  connect();
  inject(write_first(0).reth(at(0), rkey(), 512).data(256));
  deregister_memory();
  inject(write_last(1).data(256).ack_req());
  expect_refused(nak_access(1, 0));
}

RULE_CASE("R11 N8", region_gone_in_the_middle_of_a_read_response) {
  connect();
  const uint32_t key = rkey();
  refuse_frames(true);
  inject(read_request(0).reth(at(0), key, 200 * 256));
  deregister_memory();
  refuse_frames(false);
  const size_t n = sent_count();
  expect_that(n > 2 && n < 200, "part of the response was built before");
  std::vector<Pkt> replies = {read_first(0, 1).bytes(memory(0, 256))};
  for (size_t i = 1; i + 1 < n; ++i) {
    replies.push_back(read_middle(int32_t(i)).bytes(memory(i * 256, 256)));
  }
  replies.push_back(nak_access(int32_t(n) - 1, 1));
  expect(replies);
  expect_event(IBV_EVENT_QP_ACCESS_ERR);
  expect_state(IBV_QPS_ERR);
}

RULE_CASE("R11 S19", nothing_is_answered_after_a_fatal_nak) {
  connect();
  inject(read_request(0).reth(at(0), rkey() ^ 1, 8));
  expect_refused(nak_access(0, 0));
  inject(read_request(0).reth(at(0), rkey(), 8));
  expect_drop(DropReason::qp_state);
  inject(write_only(1).reth(at(0), rkey(), 0).ack_req());
  expect_drop(DropReason::qp_state);
}

RULE_CASE("R11", refused_request_in_a_burst_stops_what_is_behind_it) {
  connect();
  inject({write_only(0).reth(at(0), rkey(), 4).data(4).ack_req(),
          write_only(1).reth(at(8), rkey() ^ 1, 4).data(4).ack_req(),
          write_only(2).reth(at(16), rkey(), 4).data(4).ack_req()});
  expect_refused(nak_access(1, 1));
  expect_drop(DropReason::qp_state);
  expect_memory(0, pattern(4));
}

// --- R10

RULE_CASES(more_than_negotiated) {
  for (const int limit : {0, 1, 2, 4}) {
    for (const Operation op :
         {Operation::read_request, Operation::cmp_swap, Operation::fetch_add}) {
      cases.add(
          "R10",
          name_of(op) + "_number_" + std::to_string(limit + 1) + "_of_" + std::to_string(limit),
          [=](Script& s) {
            s.connect({.dest_rd_atomic = static_cast<uint8_t>(limit)});
            std::vector<Pkt> burst;
            std::vector<Pkt> replies;
            for (int i = 0; i <= limit; ++i) {
              burst.push_back(
                  packet(op, i).reth(s.at(8), s.rkey(), 8).atomic(s.at(8), s.rkey(), 0, 0));
              const auto msn = static_cast<uint32_t>(i) + 1;
              replies.push_back(op == Operation::read_request
                                    ? read_only(i, msn).bytes(s.memory(8, 8))
                                    : atomic_ack(i, msn, s.word(8)));
            }
            replies.back() = nak_invalid(limit, static_cast<uint32_t>(limit));
            s.inject(burst);
            s.expect(replies);
            s.expect_event(IBV_EVENT_QP_REQ_ERR);
            s.expect_state(IBV_QPS_ERR);
          });
    }
  }
}

RULE_CASE("R10", answered_ones_do_not_count) {
  connect({.dest_rd_atomic = 1});
  for (int i = 0; i < 10; ++i) {
    inject(read_request(i).reth(at(0), rkey(), 8));
    expect(read_only(i, uint32_t(i) + 1).bytes(memory(0, 8)));
  }
}

RULE_CASE("R10 R5", duplicate_that_is_pending_again_does_not_count) {
  connect({.dest_rd_atomic = 1});
  set_word(0, 7);
  inject(fetch_add(0).atomic(at(0), rkey(), 1));
  expect(atomic_ack(0, 1, 7));
  inject({fetch_add(0).atomic(at(0), rkey(), 1), fetch_add(1).atomic(at(0), rkey(), 1)});
  expect(atomic_ack(1, 2, 8));
}

}  // namespace roce::script
