// uroce-wire-bench: what a wire carries bare, and what of it uroce reaches, measured in turn in one
// run by two processes on a core each. SPDX-License-Identifier: BSD-3-Clause
#include "wire_bench/program.h"

int main(int argc, char** argv) {
  return uroce::wire_bench::run_program(argc, argv);
}
