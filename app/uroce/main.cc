// uroce: starts unmodified verbs programs over uroce. `uroce run -- PROGRAM ARGS...`.
// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <vector>

#include "common/guarded.h"
#include "options.h"
#include "run.h"

namespace {

int run(int argc, char** argv) {
  uroce::launcher::Options options;
  const std::vector<std::string> arguments(argv + (argc > 0), argv + argc);
  if (const auto code = uroce::launcher::parse(arguments, options)) {
    return *code;
  }
  return uroce::launcher::run(options);
}

}  // namespace

int main(int argc, char** argv) {
  return uroce::app::guarded("uroce", [&] { return run(argc, argv); });
}
