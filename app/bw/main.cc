// uroce-bw: perftest's bandwidth tests over uroce, with validation and losses beside the result.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/guarded.h"
#include "common/run/session.h"
#include "common/signals.h"
#include "options.h"
#include "run.h"

namespace {

namespace bw = uroce::bw;

int run(int argc, char** argv) {
  bw::Options options;
  if (const auto code = bw::parse(argc, argv, options)) {
    return *code;
  }
  roce::Config config;
  if (const auto code = uroce::app::load_settings(bw::kProgram, options, config)) {
    return *code;
  }
  uroce::app::watch_signals();
  return bw::run(options, config);
}

}  // namespace

int main(int argc, char** argv) {
  return uroce::app::guarded(bw::kProgram, [&] { return run(argc, argv); });
}
