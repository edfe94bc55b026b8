// The state table: every move of every type with the right attributes, each missing one and each
// one too many. Each accepted move starts from a queue pair of its own; refused ones share one.
// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <string>

#include "script/registry.h"
#include "script/state_table.h"

namespace roce::script {
namespace {

constexpr const char* kStateNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
constexpr ibv_qp_state kStates[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                                    IBV_QPS_SQD,   IBV_QPS_SQE,  IBV_QPS_ERR};
constexpr int kAttributeBits = 26;

struct Type {
  ibv_qp_type type;
  const char* name;
};
constexpr Type kTypes[] = {{IBV_QPT_RC, "RC"}, {IBV_QPT_UC, "UC"}, {IBV_QPT_UD, "UD"}};

struct Transition {
  Type type;
  ibv_qp_state from;
  ibv_qp_state to;

  std::string words() const {
    return std::string(type.name) + " QP " + kStateNames[from] + " -> " + kStateNames[to];
  }
  std::string name() const {
    return std::string(type.name) + "_from_" + kStateNames[from] + "_to_" + kStateNames[to];
  }
};

ibv_qp_attr attributes_of(const Script& s, const Transition& t) {
  ibv_qp_attr attr = s.attributes(t.to);
  attr.cur_qp_state = t.from;
  attr.en_sqd_async_notify = 0;
  return attr;
}

/// A queue pair in the state that the move starts from.
void start(Script& s, const Transition& t) {
  s.create({.type = t.type.type});
  s.bring_to(t.from);
}

void check_accepted(Script& s, const Transition& t, int mask) {
  start(s, t);
  s.modify(attributes_of(s, t), mask | IBV_QP_STATE);
  s.expect_state(t.to);
}

/// Alternate paths are allowed by the table, but uroce has none.
void check_alternate_path(Script& s, const Transition& t, int mask) {
  start(s, t);
  const Status refused = s.qp().modify(attributes_of(s, t), mask | IBV_QP_STATE | IBV_QP_ALT_PATH);
  s.expect_that(!refused && refused.error().code == EOPNOTSUPP, "alternate paths are refused");
  s.expect_state(t.from);
}

void check_existing(Script& s, const Transition& t, const Move& move) {
  check_accepted(s, t, move.required);
  for (int i = 1; i < kAttributeBits; ++i) {
    const int bit = 1 << i;
    if ((move.optional & bit) != 0) {
      if (bit == IBV_QP_ALT_PATH) {
        check_alternate_path(s, t, move.required);
      } else {
        check_accepted(s, t, move.required | bit);
      }
    }
  }
  check_accepted(s, t, move.required | (move.optional & ~IBV_QP_ALT_PATH));
  start(s, t);
  for (int i = 1; i < kAttributeBits; ++i) {
    const int bit = 1 << i;
    if ((move.optional & bit) == 0) {
      const bool missing = (move.required & bit) != 0;
      s.modify_refused(attributes_of(s, t), (move.required ^ bit) | IBV_QP_STATE,
                       t.words() + (missing ? ": missing" : ": not allowed"));
    }
  }
}

void check_missing_move(Script& s, const Transition& t) {
  start(s, t);
  s.modify_refused(attributes_of(s, t), IBV_QP_STATE, t.words() + ": there is no such");
  for (int i = 1; i < kAttributeBits; ++i) {
    s.modify_refused(attributes_of(s, t), IBV_QP_STATE | 1 << i, t.words());
  }
}

}  // namespace

RULE_CASES(state_table) {
  for (const Type& type : kTypes) {
    for (const ibv_qp_state from : kStates) {
      if (from == IBV_QPS_SQE && type.type == IBV_QPT_RC) {
        continue;  // cannot be reached
      }
      for (const ibv_qp_state to : kStates) {
        const Transition t{type, from, to};
        const auto move = specified_move(type.type, from, to);
        cases.add(move ? move->rule : "T12", t.name(), [=](Script& s) {
          if (move) {
            check_existing(s, t, *move);
          } else {
            check_missing_move(s, t);
          }
        });
      }
    }
  }
}

}  // namespace roce::script
