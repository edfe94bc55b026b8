// Fuzzes the native API: sequences of calls with arbitrary arguments, valid and not.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>

#include "fuzz/input.h"
#include "fuzz/tally.h"
#include "fuzz/verbs_session.h"

namespace {
roce::fuzz::Tally tally;
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace roce::fuzz;
  constexpr size_t kCalls = 48;
  static World world;
  Input in(data, size);
  VerbsSession session(world, in);
  for (size_t i = 0; i < kCalls && !in.empty(); ++i) {
    session.call();
  }
  session.end();
  return 0;
}
