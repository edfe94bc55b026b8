// CRC-32 by 512-bit carry-less multiplication: four registers fold 256 bytes a step; what is left
// (everything, in a short input) is multiplied once with factors chosen by its distance from the
// end and summed up. An input below 64 bytes is one masked load.
// SPDX-License-Identifier: BSD-3-Clause
#include <immintrin.h>

#include "wire/crc32_clmul.h"
#include "wire/crc32_poly.h"

#define ROCE_TARGET_512 \
  gnu::target("sse4.2,pclmul,bmi2,vpclmulqdq,avx512f,avx512bw,avx512vl,avx512dq")
#define ROCE_INLINE_512 [[gnu::always_inline, ROCE_TARGET_512]] inline

namespace roce::wire::detail {
namespace {

ROCE_INLINE_512 __m512i xor3(__m512i a, __m512i b, __m512i c) {
  return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}

// a times the factors, plus b.
ROCE_INLINE_512 __m512i multiply_add(__m512i a, __m512i factors, __m512i b) {
  return xor3(_mm512_clmulepi64_epi128(a, factors, 0x00),
              _mm512_clmulepi64_epi128(a, factors, 0x11), b);
}

// Moves a block to the end of the input, plus `sum`; `factors` are kCrcFactors' for its distance.
ROCE_INLINE_512 __m512i move_to_end(__m512i x, const uint64_t* factors, __m512i sum) {
  return multiply_add(x, _mm512_loadu_si512(factors), sum);
}

// The forms with an all-ones mask are plain extracts; gcc 12 warns of its own plain ones.
ROCE_INLINE_512 uint32_t reduce(__m512i sum) {
  const __m256i half = _mm256_xor_si256(_mm512_maskz_extracti64x4_epi64(0xff, sum, 0),
                                        _mm512_maskz_extracti64x4_epi64(0xff, sum, 1));
  return crc_reduce(_mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1)));
}

ROCE_INLINE_512 __m512i seed_of(uint32_t state) {
  return _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(state)));
}

template <bool kCopy>
ROCE_INLINE_512 __m512i take(uint8_t* dst, const uint8_t* src, size_t offset) {
  const __m512i x = _mm512_loadu_si512(src + offset);
  if constexpr (kCopy) {
    _mm512_storeu_si512(dst + offset, x);
  }
  return x;
}

ROCE_INLINE_512 __mmask64 first_bytes(size_t len) {
  return _bzhi_u64(~0ULL, static_cast<unsigned>(len));
}

// Whether 64 bytes at `p` touch two pages. Masked accesses that do are right but cost 0.4
// microseconds if the second page is not there.
ROCE_INLINE_512 bool crosses_page(const uint8_t* p) {
  constexpr uintptr_t kPage = 4096;
  return (reinterpret_cast<uintptr_t>(p) & (kPage - 1)) > kPage - 64;
}

// All bytes behind a first block `first` of 64 bytes, which holds the seed already.
template <bool kCopy>
ROCE_INLINE_512 uint32_t run(__m512i first, uint8_t* dst, const uint8_t* src, size_t len) {
  size_t done;
  const uint64_t* factors;
  __m512i sum = _mm512_setzero_si512();
  if (len >= 256) {
    const __m512i by_256 = _mm512_maskz_broadcast_i32x4(
        0xffff, _mm_set_epi64x(crc_factor(2048 - 32), crc_factor(2048 + 32)));
    __m512i x0 = first;
    __m512i x1 = take<kCopy>(dst, src, 64);
    __m512i x2 = take<kCopy>(dst, src, 128);
    __m512i x3 = take<kCopy>(dst, src, 192);
    for (done = 256; len - done >= 256; done += 256) {
      x0 = multiply_add(x0, by_256, take<kCopy>(dst, src, done));
      x1 = multiply_add(x1, by_256, take<kCopy>(dst, src, done + 64));
      x2 = multiply_add(x2, by_256, take<kCopy>(dst, src, done + 128));
      x3 = multiply_add(x3, by_256, take<kCopy>(dst, src, done + 192));
    }
    factors = kCrcFactors.for_64(len - done + 256);
    sum = move_to_end(x0, factors, sum);
    sum = move_to_end(x1, factors + 8, sum);
    sum = move_to_end(x2, factors + 16, sum);
    sum = move_to_end(x3, factors + 24, sum);
    factors += 32;
  } else {
    factors = kCrcFactors.for_64(len);
    sum = move_to_end(first, factors, sum);
    factors += 8;
    done = 64;
  }
  for (; len - done >= 64; done += 64, factors += 8) {
    sum = move_to_end(take<kCopy>(dst, src, done), factors, sum);
  }
  if (done != len) {
    // The last 64 bytes without those that are in the sum already.
    const __mmask64 keep = ~first_bytes(64 - (len - done));
    const __m512i last = _mm512_maskz_loadu_epi8(keep, src + len - 64);
    if constexpr (kCopy) {
      _mm512_mask_storeu_epi8(dst + len - 64, keep, last);
    }
    sum = move_to_end(last, kCrcFactors.for_64(64), sum);
  }
  return reduce(sum);
}

// `x` holds 0 to 63 bytes and zeros behind them.
ROCE_INLINE_512 uint32_t finish_short(__m512i x, uint32_t state, size_t len) {
  return reduce(move_to_end(_mm512_xor_si512(x, seed_of(state)), kCrcFactors.for_64(len),
                            _mm512_setzero_si512()));
}

[[ROCE_TARGET_512]] uint32_t update(uint32_t state, const uint8_t* data, size_t len) {
  if (len >= 64) {
    const __m512i first = _mm512_xor_si512(take<false>(nullptr, data, 0), seed_of(state));
    return run<false>(first, nullptr, data, len);
  }
  if (crosses_page(data)) {
    return kCrcPclmulFunctions.update(state, data, len);
  }
  return finish_short(_mm512_maskz_loadu_epi8(first_bytes(len), data), state, len);
}

[[ROCE_TARGET_512]] uint32_t copy(uint32_t state, uint8_t* dst, const uint8_t* src, size_t len) {
  if (len >= 64) {
    const __m512i first = _mm512_xor_si512(take<true>(dst, src, 0), seed_of(state));
    return run<true>(first, dst, src, len);
  }
  if (crosses_page(src) || crosses_page(dst)) {
    return kCrcPclmulFunctions.copy(state, dst, src, len);
  }
  const __mmask64 present = first_bytes(len);
  const __m512i only = _mm512_maskz_loadu_epi8(present, src);
  _mm512_mask_storeu_epi8(dst, present, only);
  return finish_short(only, state, len);
}

[[ROCE_TARGET_512]] uint32_t update_masked(uint32_t state, const uint8_t* data, const uint8_t* ones,
                                           size_t len) {
  const __m512i cover = _mm512_loadu_si512(ones);
  if (len >= 64) {
    const __m512i first = _mm512_or_si512(take<false>(nullptr, data, 0), cover);
    return run<false>(_mm512_xor_si512(first, seed_of(state)), nullptr, data, len);
  }
  if (crosses_page(data)) {
    return kCrcPclmulFunctions.update_masked(state, data, ones, len);
  }
  const __mmask64 present = first_bytes(len);
  const __m512i only = _mm512_or_si512(_mm512_maskz_loadu_epi8(present, data),
                                       _mm512_maskz_mov_epi8(present, cover));
  return finish_short(only, state, len);
}

}  // namespace

constexpr CrcFunctions kCrcVpclmulFunctions{update, copy, update_masked};

}  // namespace roce::wire::detail
