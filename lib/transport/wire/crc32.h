// CRC-32 of Ethernet and of the invariant CRC (reflected polynomial 0xEDB88320), alone or in one
// pass with a copy. The value handed around is the raw register: start with kCrc32Start, chain as
// many calls as there are pieces, invert at the end. The machine's fastest kernel is chosen once;
// calls are right at any time, also from initialisers of static objects.
//
// Thread: any; nothing here keeps state.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace roce::wire {

inline constexpr uint32_t kCrc32Start = 0xffffffff;

/// Bytes at the front of a packet that CrcFunctions::update_masked can cover with ones.
inline constexpr size_t kCrcMaskSize = 64;

/// One implementation of the CRC. No function reads or writes outside the given ranges; addresses
/// need no alignment.
struct CrcFunctions {
  /// The register after `len` (0 or more) bytes at `data`.
  uint32_t (*update)(uint32_t state, const uint8_t* data, size_t len);
  /// The same, and `dst` becomes a copy of `src`. The two ranges do not overlap. The CRC is that of
  /// the copy even if others write to `src` meanwhile: each byte counts as it was stored.
  uint32_t (*copy)(uint32_t state, uint8_t* dst, const uint8_t* src, size_t len);
  /// As update, but over data[i] | ones[i] for i < kCrcMaskSize; `ones` has kCrcMaskSize bytes.
  /// `len` is at least 16.
  uint32_t (*update_masked)(uint32_t state, const uint8_t* data, const uint8_t* ones, size_t len);
};

enum class CrcKernel : uint8_t {
  table,    ///< slicing by 8, any processor
  pclmul,   ///< 128-bit carry-less multiplication
  vpclmul,  ///< 512-bit carry-less multiplication
};

inline constexpr std::array<CrcKernel, 3> kCrcKernels{CrcKernel::table, CrcKernel::pclmul,
                                                      CrcKernel::vpclmul};

const char* name(CrcKernel kernel);

/// True if this processor and system can run `kernel`.
bool supported(CrcKernel kernel);

/// The functions of one kernel, for tests and benches. Calling them requires supported(kernel).
const CrcFunctions& crc_functions(CrcKernel kernel);

/// The kernel behind crc32_update and its fellows: the last supported one of kCrcKernels.
CrcKernel best_crc_kernel();

namespace detail {
// Constant-initialised with functions that choose; after the first call or the start of main,
// whichever comes first, the chosen kernel's. Never changes again.
extern std::atomic<const CrcFunctions*> crc_in_use;
}  // namespace detail

/// See CrcFunctions::update.
inline uint32_t crc32_update(uint32_t state, const uint8_t* data, size_t len) {
  return detail::crc_in_use.load(std::memory_order_relaxed)->update(state, data, len);
}

/// See CrcFunctions::copy.
inline uint32_t crc32_copy(uint32_t state, uint8_t* dst, const uint8_t* src, size_t len) {
  return detail::crc_in_use.load(std::memory_order_relaxed)->copy(state, dst, src, len);
}

/// See CrcFunctions::update_masked.
inline uint32_t crc32_update_masked(uint32_t state, const uint8_t* data, const uint8_t* ones,
                                    size_t len) {
  return detail::crc_in_use.load(std::memory_order_relaxed)->update_masked(state, data, ones, len);
}

}  // namespace roce::wire
