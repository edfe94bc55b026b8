// Choice of the CRC-32 kernel.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire/crc32.h"

#include "wire/crc32_poly.h"

namespace roce::wire {
namespace {

const CrcFunctions& choose() {
  const CrcFunctions& best = crc_functions(best_crc_kernel());
  // Relaxed is enough: the functions are constant data, and racing callers store the same value.
  detail::crc_in_use.store(&best, std::memory_order_relaxed);
  return best;
}

uint32_t first_update(uint32_t state, const uint8_t* data, size_t len) {
  return choose().update(state, data, len);
}

uint32_t first_copy(uint32_t state, uint8_t* dst, const uint8_t* src, size_t len) {
  return choose().copy(state, dst, src, len);
}

uint32_t first_update_masked(uint32_t state, const uint8_t* data, const uint8_t* ones, size_t len) {
  return choose().update_masked(state, data, ones, len);
}

constexpr CrcFunctions kChoosing{first_update, first_copy, first_update_masked};

[[gnu::constructor]] void choose_before_main() {
  choose();
}

}  // namespace

namespace detail {
constinit std::atomic<const CrcFunctions*> crc_in_use{&kChoosing};
}  // namespace detail

const char* name(CrcKernel kernel) {
  switch (kernel) {
    case CrcKernel::table:
      return "table";
    case CrcKernel::pclmul:
      return "pclmul";
    case CrcKernel::vpclmul:
      return "vpclmul";
  }
  return "unknown";
}

bool supported(CrcKernel kernel) {
  __builtin_cpu_init();  // others' initialisers may call before the compiler's own has run
  const bool pclmul = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
  switch (kernel) {
    case CrcKernel::table:
      return true;
    case CrcKernel::pclmul:
      return pclmul;
    case CrcKernel::vpclmul:
      return pclmul && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("bmi2") &&
             __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  }
  return false;
}

const CrcFunctions& crc_functions(CrcKernel kernel) {
  switch (kernel) {
    case CrcKernel::table:
      break;
    case CrcKernel::pclmul:
      return detail::kCrcPclmulFunctions;
    case CrcKernel::vpclmul:
      return detail::kCrcVpclmulFunctions;
  }
  return detail::kCrcTableFunctions;
}

CrcKernel best_crc_kernel() {
  CrcKernel best = CrcKernel::table;
  for (const CrcKernel kernel : kCrcKernels) {
    if (supported(kernel)) {
      best = kernel;
    }
  }
  return best;
}

}  // namespace roce::wire
