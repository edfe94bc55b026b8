// What UndefinedBehaviorSanitizer does in every fuzzer: the first finding ends it, as one of
// AddressSanitizer's does. SPDX-License-Identifier: BSD-3-Clause

extern "C" const char* __ubsan_default_options();  // NOLINT(bugprone-reserved-identifier)

extern "C" const char* __ubsan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "halt_on_error=1:print_stacktrace=1";
}
