// The last step that both carry-less multiplication kernels share. Internal to crc32_*clmul.cc.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "wire/crc32_poly.h"

namespace roce::wire::detail {

/// The register for a sum of products with kCrcFactors (bit 95 - i for x^i): the remainder mod P by
/// one multiplication for the quotient and one for its product with P.
[[gnu::always_inline, gnu::target("sse4.2,pclmul")]] inline uint32_t crc_reduce(__m128i sum) {
  const __m128i constants =
      _mm_set_epi64x(static_cast<int64_t>(kCrcModulus), static_cast<int64_t>(kCrcReciprocal));
  const __m128i quotient = _mm_clmulepi64_si128(sum, constants, 0x00);
  const __m128i multiple = _mm_clmulepi64_si128(quotient, constants, 0x10);
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(sum, multiple), 2));
}

}  // namespace roce::wire::detail
