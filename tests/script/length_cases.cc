// Length rules: every opcode at every path MTU, sums of WRITEs, pads.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "script/names.h"
#include "script/registry.h"

namespace roce::script {
namespace {

using wire::Operation;

/// A data opcode and what the length rules say about it, written from protocol-and-verbs.md 1.1.
struct DataOpcode {
  Operation op;
  bool write;
  bool first;  ///< FIRST or ONLY
  bool last;   ///< LAST or ONLY
  bool imm;

  bool allows(uint32_t length, uint32_t pmtu) const {
    if (!last) {
      return length == pmtu;
    }
    return length <= pmtu && (first || length > 0);
  }
};

constexpr DataOpcode kDataOpcodes[] = {{Operation::send_first, false, true, false, false},
                                       {Operation::send_middle, false, false, false, false},
                                       {Operation::send_last, false, false, true, false},
                                       {Operation::send_last_imm, false, false, true, true},
                                       {Operation::send_only, false, true, true, false},
                                       {Operation::send_only_imm, false, true, true, true},
                                       {Operation::write_first, true, true, false, false},
                                       {Operation::write_middle, true, false, false, false},
                                       {Operation::write_last, true, false, true, false},
                                       {Operation::write_last_imm, true, false, true, true},
                                       {Operation::write_only, true, true, true, false},
                                       {Operation::write_only_imm, true, true, true, true}};

Pkt data_packet(const Script& s, const DataOpcode& o, int32_t psn, uint32_t length) {
  const uint32_t dma_length = o.last ? length : 3 * s.pmtu();
  return packet(o.op, psn).data(length).reth(s.at(0), s.rkey(), dma_length).imm(9).ack_req();
}

/// Opens the message that a MIDDLE or LAST belongs to; returns the next PSN.
int32_t open_message(Script& s, const DataOpcode& o, uint32_t length) {
  if (o.first) {
    return 0;
  }
  s.inject(o.write ? write_first(0).data(s.pmtu()).reth(
                         s.at(0), s.rkey(), s.pmtu() + std::max(length, 1u) + (o.last ? 0 : 64))
                   : send_first(0).data(s.pmtu()));
  return 1;
}

void check_length(Script& s, const DataOpcode& o, ibv_mtu mtu, uint32_t length) {
  s.connect({.pmtu = mtu});
  s.recv(1, 0, 20000);
  const int32_t psn = open_message(s, o, length);
  s.inject(data_packet(s, o, psn, length));
  const bool takes_receive = !o.write || o.imm;
  const uint32_t total = length + (o.first ? 0 : s.pmtu());
  if (o.allows(length, s.pmtu())) {
    s.expect(ack(psn, o.last ? 1 : 0));
    if (o.last && takes_receive) {
      Done d = received(1, total);
      d.opcode = o.write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
      s.expect_received({o.imm ? d.imm(9) : d});
    }
    s.expect_memory(o.first ? 0 : s.pmtu(), pattern(length));
    return;
  }
  s.expect(nak_invalid(psn, 0));
  if (takes_receive) {
    s.expect_received({failed(1, IBV_WC_REM_INV_REQ_ERR).vendor(0x61)});
  } else {
    s.expect_event(IBV_EVENT_QP_REQ_ERR);
    s.expect_received({flushed(1)});
  }
  s.expect_state(IBV_QPS_ERR);
}

}  // namespace

RULE_CASES(lengths_of_every_opcode) {
  for (const ibv_mtu mtu : kEveryPmtu) {
    const uint32_t pmtu = 128u << mtu;
    for (const DataOpcode& o : kDataOpcodes) {
      for (const uint32_t length : {0u, 1u, pmtu - 1, pmtu, pmtu + 1}) {
        cases.add("P4 R12",
                  name_of(o.op) + "_of_" + std::to_string(length) + "_bytes_" + pmtu_name(mtu),
                  [=](Script& s) { check_length(s, o, mtu, length); });
      }
    }
  }
}

RULE_CASES(read_lengths) {
  for (const ibv_mtu mtu : kEveryPmtu) {
    const uint32_t pmtu = 128u << mtu;
    for (const uint32_t length : {1u, pmtu - 1, pmtu, pmtu + 1, 2 * pmtu, 3 * pmtu - 1}) {
      cases.add("A5 P8", "read_of_" + std::to_string(length) + "_bytes_" + pmtu_name(mtu),
                [=](Script& s) {
                  s.connect({.pmtu = mtu});
                  s.inject(read_request(0).reth(s.at(3), s.rkey(), length));
                  const uint32_t count = (length + pmtu - 1) / pmtu;
                  std::vector<Pkt> replies;
                  for (uint32_t i = 0; i < count; ++i) {
                    const auto psn = static_cast<int32_t>(i);
                    Pkt p = count == 1       ? read_only(psn, 1)
                            : i == 0         ? read_first(psn, 1)
                            : i + 1 == count ? read_last(psn, 1)
                                             : read_middle(psn);
                    const uint32_t at = i * pmtu;
                    replies.push_back(p.bytes(s.memory(3 + at, std::min(pmtu, length - at))));
                  }
                  s.expect(replies);
                  s.inject(write_only(static_cast<int32_t>(count)).reth(0, 0, 0).ack_req());
                  s.expect(ack(static_cast<int32_t>(count), 2));
                });
    }
  }
}

RULE_CASES(sums_of_writes) {
  struct Row {
    const char* name;
    uint32_t dma_length;
    std::vector<uint32_t> payloads;
    size_t refused_at;  ///< index of the packet
  };
  const Row rows[] = {{"only_packet_shorter_than_its_reth", 9, {8}, 0},
                      {"only_packet_longer_than_its_reth", 7, {8}, 0},
                      {"only_packet_with_payload_and_a_reth_of_nothing", 0, {8}, 0},
                      {"only_packet_without_payload_and_a_reth_of_something", 8, {0}, 0},
                      {"first_packet_with_a_reth_of_one_packet", 256, {256, 8}, 0},
                      {"first_packet_longer_than_its_reth", 100, {256, 8}, 0},
                      {"last_packet_brings_too_much", 264, {256, 9}, 1},
                      {"last_packet_brings_too_little", 264, {256, 7}, 1},
                      {"middle_packet_brings_all_that_is_left", 512, {256, 256, 8}, 1},
                      {"middle_packet_brings_more_than_is_left", 300, {256, 256, 8}, 1},
                      {"last_packet_comes_too_early", 600, {256, 256}, 1}};
  for (const Row& row : rows) {
    cases.add("P5 R12", row.name, [row](Script& s) {
      s.connect();
      const size_t n = row.payloads.size();
      for (size_t i = 0; i <= row.refused_at; ++i) {
        const auto psn = static_cast<int32_t>(i);
        Pkt p = n == 1       ? write_only(psn)
                : i == 0     ? write_first(psn)
                : i + 1 == n ? write_last(psn)
                             : write_middle(psn);
        s.inject(p.reth(s.at(0), s.rkey(), row.dma_length).data(row.payloads[i]));
      }
      s.expect_refused(nak_invalid(static_cast<int32_t>(row.refused_at), 0));
    });
  }
}

RULE_CASES(messages_beyond_two_gibibytes) {
  for (const uint32_t length : {0x8000'0001u, 0xffff'ffffu}) {
    cases.add("P5 R12", "write_of_" + std::to_string(length) + "_bytes", [=](Script& s) {
      s.connect();
      s.inject(write_first(0).reth(s.at(0), s.rkey(), length).data(256));
      s.expect_refused(nak_invalid(0, 0));
    });
    cases.add("P5 R12", "read_of_" + std::to_string(length) + "_bytes", [=](Script& s) {
      s.connect();
      s.inject(read_request(0).reth(s.at(0), s.rkey(), length));
      s.expect_refused(nak_invalid(0, 0));
    });
  }
}

RULE_CASE("P5 R11", message_of_two_gibibytes_is_a_question_of_the_region) {
  connect();
  inject(write_first(0).reth(at(0), rkey(), 0x8000'0000).data(256));
  expect_refused(nak_access(0, 0));
}

RULE_CASE("P5 R12", read_request_with_payload) {
  connect();
  inject(read_request(0).reth(at(0), rkey(), 8).data(4));
  expect_refused(nak_invalid(0, 0));
}

RULE_CASE("P5 R12", fetch_add_with_payload) {
  connect();
  inject(fetch_add(0).atomic(at(0), rkey(), 1).data(4));
  expect_refused(nak_invalid(0, 0));
  expect_memory_untouched();
}

RULE_CASE("P5 R12", cmp_swap_with_payload) {
  connect();
  inject(cmp_swap(0).atomic(at(0), rkey(), 1).data(4));
  expect_refused(nak_invalid(0, 0));
  expect_memory_untouched();
}

RULE_CASES(pads) {
  for (uint32_t length = 4; length < 8; ++length) {
    for (uint32_t pad = 0; pad < 4; ++pad) {
      const bool right = (length + pad) % 4 == 0;
      const std::string name =
          "_of_" + std::to_string(length) + "_bytes_with_a_pad_of_" + std::to_string(pad);
      cases.add("P3 R12", "send" + name, [=](Script& s) {
        s.connect();
        s.recv(1, 0, 100);
        s.inject(send_only(0).data(length).pad(pad).ack_req());
        if (right) {
          s.expect(ack(0, 1));
          s.expect_received({received(1, length)});
          return;
        }
        s.expect(nak_invalid(0, 0));
        s.expect_received({failed(1, IBV_WC_REM_INV_REQ_ERR)});
        s.expect_state(IBV_QPS_ERR);
      });
      cases.add("P3 R12", "write" + name, [=](Script& s) {
        s.connect();
        s.inject(write_only(0).reth(s.at(0), s.rkey(), length).data(length).pad(pad).ack_req());
        if (right) {
          s.expect(ack(0, 1));
          s.expect_memory(0, pattern(length));
        } else {
          s.expect_refused(nak_invalid(0, 0));
          s.expect_memory_untouched();
        }
      });
    }
  }
  for (uint32_t pad = 1; pad < 4; ++pad) {
    cases.add("P3 R12", "read_request_with_a_pad_of_" + std::to_string(pad), [=](Script& s) {
      s.connect();
      s.inject(read_request(0).reth(s.at(0), s.rkey(), 8).pad(pad));
      s.expect_refused(nak_invalid(0, 0));
    });
  }
}

RULE_CASES(pads_sent) {
  for (uint32_t length = 0; length < 5; ++length) {
    cases.add("P3", "send_of_" + std::to_string(length) + "_bytes_is_padded", [=](Script& s) {
      s.connect();
      s.post(wr_send(1).from(0, length));
      // The Script computes the pad; this says what it must be.
      s.expect(send_only(0).bytes(s.memory(0, length)).pad((4 - length % 4) % 4).ack_req());
      s.inject(ack(0, 1));
      s.expect_sent({done(1, IBV_WC_SEND)});
    });
  }
}

}  // namespace roce::script
