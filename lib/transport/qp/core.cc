// Changes of a QP's state.
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/core.h"

#include <utility>

#include "base/trace.h"

namespace roce {

void QpCore::enter(QpState s) {
  trace::qp_state(qpn, static_cast<uint32_t>(now_in()), static_cast<uint32_t>(s));
  state.store(s, std::memory_order_release);
}

void QpCore::lose_completion(QpEvent overrun) {
  events |= overrun;
  if (!std::exchange(fatal_told, true)) {
    events |= kEventFatal;
  }
  enter(QpState::err);
}

}  // namespace roce
