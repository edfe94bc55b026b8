// All 256 AETH syndromes as the RC requester sees them, on each kind of response.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include "script/registry.h"
#include "script/words.h"

namespace roce::script {
namespace {

/// Microseconds of the 32 RNR timer codes, written from protocol-and-verbs.md 3.2.
constexpr std::array<int64_t, 32> kRnrUs = {
    655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,   320,
    480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240, 15360,
    20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};

void check_rnr(Script& s, const Pkt& request, int timer) {
  s.expect_counter(&QpCounters::rnr_naks_rcvd, 1);
  s.advance(us(kRnrUs[static_cast<size_t>(timer)]) - ns(1));
  s.expect_nothing();
  s.advance(ns(1));
  s.expect(request);
}

void check_error(Script& s, ibv_wc_status status, uint8_t syndrome) {
  s.expect_sent({failed(1, status).vendor(syndrome), flushed(2)});
  s.expect_state(IBV_QPS_ERR);
}

/// What an ACKNOWLEDGE with this syndrome does to a SEND that waits for its ACK.
void check_acknowledge(Script& s, uint8_t syndrome) {
  s.connect();
  const Pkt request = send_only(0).bytes(s.memory(0, 8)).ack_req();
  s.post(wr_send(1).from(0, 8));
  s.expect(request);
  if (syndrome >= 0x61 && syndrome <= 0x63) {
    s.post(wr_send(2).from(8, 8));
    s.expect(send_only(1).bytes(s.memory(8, 8)).ack_req());
  }
  s.inject(acknowledge(0, syndrome < 0x20 ? 1 : 0, syndrome));
  switch (syndrome) {
    case 0x60:
      s.expect(request);
      break;
    case 0x61:
      return check_error(s, IBV_WC_REM_INV_REQ_ERR, syndrome);
    case 0x62:
      return check_error(s, IBV_WC_REM_ACCESS_ERR, syndrome);
    case 0x63:
      return check_error(s, IBV_WC_REM_OP_ERR, syndrome);
    default:
      if (syndrome < 0x20) {
        s.expect_sent({done(1, IBV_WC_SEND)});
        return;
      }
      if (syndrome < 0x40) {
        check_rnr(s, request, syndrome - 0x20);
      } else {
        s.expect_drop(DropReason::reserved_syndrome);
      }
      break;
  }
  s.inject(ack(0, 1));
  s.expect_sent({done(1, IBV_WC_SEND)});
}

const char* rules_of(int syndrome) {
  if (syndrome < 0x20) {
    return "E2 P10";
  }
  if (syndrome < 0x40) {
    return "Q5 P9 P10";
  }
  return syndrome == 0x60                       ? "Q3 P10"
         : syndrome >= 0x61 && syndrome <= 0x63 ? "Q6 C3 P10"
                                                : "Q9 P10";
}

}  // namespace

RULE_CASES(acknowledge_syndromes) {
  for (int i = 0; i < 256; ++i) {
    const auto syndrome = static_cast<uint8_t>(i);
    cases.add(rules_of(i), "acknowledge_with_syndrome_" + hex(syndrome, 2),
              [=](Script& s) { check_acknowledge(s, syndrome); });
  }
}

RULE_CASES(response_syndromes) {
  for (int block = 0; block < 256; block += 0x20) {
    const std::string range = hex(uint64_t(block), 2) + "_to_" + hex(uint64_t(block) + 0x1f, 2);
    cases.add("Q7 P10", "read_response_with_syndromes_" + range, [=](Script& s) {
      for (int i = block; i < block + 0x20; ++i) {
        s.connect();
        s.post(wr_read(1).from(0, 8).remote(Script::kPeerVa, Script::kPeerRkey));
        s.expect(read_request(0).reth(Script::kPeerVa, Script::kPeerRkey, 8).ack_req());
        Pkt p = read_only(0, 1).data(8);
        p.fields.aeth.syndrome = static_cast<uint8_t>(i);
        s.inject(p);
        if (block == 0) {
          s.expect_sent({done(1, IBV_WC_RDMA_READ)});
          s.expect_memory(0, pattern(8));
        } else {
          s.expect_sent({failed(1, IBV_WC_BAD_RESP_ERR)});
          s.expect_memory_untouched();
        }
      }
    });
    cases.add("Q7 P10", "atomic_response_with_syndromes_" + range, [=](Script& s) {
      for (int i = block; i < block + 0x20; ++i) {
        s.connect();
        s.post(wr_fetch_add(1).from(0, 8).atomic(Script::kPeerVa, Script::kPeerRkey, 3));
        s.expect(fetch_add(0).atomic(Script::kPeerVa, Script::kPeerRkey, 3).ack_req());
        Pkt p = atomic_ack(0, 1, 5);
        p.fields.aeth.syndrome = static_cast<uint8_t>(i);
        s.inject(p);
        if (block == 0) {
          s.expect_sent({done(1, IBV_WC_FETCH_ADD)});
          s.expect_that(s.word(0) == 5, "the value found is in memory");
        } else {
          s.expect_sent({failed(1, IBV_WC_BAD_RESP_ERR)});
          s.expect_memory_untouched();
        }
      }
    });
  }
}

}  // namespace roce::script
