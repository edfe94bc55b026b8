// Every opcode with every payload length around the edges and every pad, in every state of a queue
// pair of each type, in the middle of everything that it can be in the middle of: more than a
// million packets with a right ICRC, each judged by the rules.
// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "enumeration/judge.h"
#include "enumeration/rig.h"

namespace roce::enumeration {
namespace {

constexpr size_t kReported = 10;  // of the differences

std::vector<ibv_qp_state> states_of(ibv_qp_type type) {
  std::vector<ibv_qp_state> states = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
                                      IBV_QPS_RTS,   IBV_QPS_SQD,  IBV_QPS_ERR};
  if (type != IBV_QPT_RC) {
    states.push_back(IBV_QPS_SQE);
  }
  return states;
}

std::vector<Context> contexts_of(ibv_qp_type type, ibv_qp_state state) {
  std::vector<Context> contexts = {Context::nothing};
  const bool receives = state >= IBV_QPS_RTR && state <= IBV_QPS_SQE;
  if (type != IBV_QPT_UD && receives) {
    contexts.push_back(Context::send_open);
    contexts.push_back(Context::write_open);
  }
  if (type == IBV_QPT_RC && receives) {
    contexts.push_back(Context::ahead);
    contexts.push_back(Context::behind);
  }
  if (type == IBV_QPT_RC && (state == IBV_QPS_RTS || state == IBV_QPS_SQD)) {
    contexts.push_back(Context::send_sent);
    contexts.push_back(Context::read_sent);
    contexts.push_back(Context::atomic_sent);
  }
  return contexts;
}

/// Nothing, little, a READ's and an atomic's bytes, and around the path MTU up to 8 more.
std::vector<uint32_t> lengths() {
  std::vector<uint32_t> all;
  for (uint32_t n = 0; n <= 12; ++n) {
    all.push_back(n);
  }
  for (uint32_t n = kPmtu - 2; n <= kPmtu + 8; ++n) {
    all.push_back(n);
  }
  return all;
}

size_t go_through(ibv_qp_type type) {
  Rig rig;
  size_t tuples = 0;
  size_t different = 0;
  for (const ibv_qp_state state : states_of(type)) {
    for (const Context context : contexts_of(type, state)) {
      for (uint32_t opcode = 0; opcode < 256; ++opcode) {
        for (const uint32_t bytes : lengths()) {
          for (uint32_t pad = 0; pad < 4; ++pad, ++tuples) {
            const Tuple t{type, state, context, static_cast<uint8_t>(opcode), bytes, pad};
            const Outcome expected = judge(t);
            const Outcome seen = rig.play(t);
            if (seen != expected && ++different <= kReported) {
              ADD_FAILURE() << in_words(t) << "\n  expected: " << in_words(expected)
                            << "\n  seen:     " << in_words(seen);
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(different, 0u) << "of " << tuples << " packets";
  return tuples;
}

TEST(Tuples, RcDoesWithEachPacketWhatTheRulesSay) {
  EXPECT_GT(go_through(IBV_QPT_RC), 500'000u);
}

TEST(Tuples, UcDoesWithEachPacketWhatTheRulesSay) {
  EXPECT_GT(go_through(IBV_QPT_UC), 350'000u);
}

TEST(Tuples, UdDoesWithEachPacketWhatTheRulesSay) {
  EXPECT_GT(go_through(IBV_QPT_UD), 150'000u);
}

}  // namespace
}  // namespace roce::enumeration
