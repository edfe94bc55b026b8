// uroce-pingpong: ibv_rc_pingpong over uroce, with READ and WRITE, checks and a distribution.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/guarded.h"
#include "common/run/session.h"
#include "common/signals.h"
#include "options.h"
#include "run.h"

namespace {

namespace pingpong = uroce::pingpong;

int run(int argc, char** argv) {
  pingpong::Options options;
  if (const auto code = pingpong::parse(argc, argv, options)) {
    return *code;
  }
  roce::Config config;
  if (const auto code = uroce::app::load_settings(pingpong::kProgram, options, config)) {
    return *code;
  }
  uroce::app::watch_signals();
  return pingpong::run(options, config);
}

}  // namespace

int main(int argc, char** argv) {
  return uroce::app::guarded(pingpong::kProgram, [&] { return run(argc, argv); });
}
