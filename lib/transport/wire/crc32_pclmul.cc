// CRC-32 by 128-bit carry-less multiplication: four registers fold 64 bytes a step; what is left
// (everything, in a short input) is multiplied once with factors chosen by its distance from the
// end and summed up.
// SPDX-License-Identifier: BSD-3-Clause
#include <immintrin.h>

#include <array>
#include <cstring>

#include "wire/crc32_clmul.h"
#include "wire/crc32_poly.h"

#define ROCE_INLINE_128 [[gnu::always_inline, gnu::target("sse4.2,pclmul")]] inline

namespace roce::wire::detail {
namespace {

// Loaded at 16 - n: keeps the last n bytes of 16.
alignas(64) constexpr std::array<uint8_t, 32> kKeepLast = [] {
  std::array<uint8_t, 32> mask{};
  for (size_t i = 16; i < 32; ++i) {
    mask[i] = 0xff;
  }
  return mask;
}();

template <typename T>
ROCE_INLINE_128 __m128i load16(const T* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

ROCE_INLINE_128 __m128i multiply(__m128i x, __m128i factors) {
  return _mm_xor_si128(_mm_clmulepi64_si128(x, factors, 0x00),
                       _mm_clmulepi64_si128(x, factors, 0x11));
}

// Moves a block to the end of the input; `factors` are kCrcFactors' for its distance.
ROCE_INLINE_128 __m128i move_to_end(__m128i x, const uint64_t* factors) {
  return multiply(x, load16(factors));
}

// The input's bytes on their way through: copied if kCopy, OR-ed with `ones` if kMasked and `ones`
// is not null.
template <bool kCopy, bool kMasked>
struct Cursor {
  const uint8_t* src;
  uint8_t* dst;
  const uint8_t* ones;

  ROCE_INLINE_128 __m128i at(size_t offset) const {
    __m128i x = load16(src + offset);
    if constexpr (kCopy) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + offset), x);
    }
    if constexpr (kMasked) {
      if (ones != nullptr) {
        x = _mm_or_si128(x, load16(ones + offset));
      }
    }
    return x;
  }
};

template <typename T>
ROCE_INLINE_128 T load_as(const uint8_t* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// 1 to 15 bytes, in the low end of a register. Where two loads overlap, the first one's bytes are
// used and stored.
template <bool kCopy>
ROCE_INLINE_128 __m128i load_short(uint8_t* dst, const uint8_t* src, size_t len) {
  uint64_t low = 0;
  uint64_t high = 0;
  if (len >= 8) {
    low = load_as<uint64_t>(src);
    const auto tail = load_as<uint64_t>(src + len - 8);
    high = tail >> 8 >> (8 * (15 - len));
    if constexpr (kCopy) {
      std::memcpy(dst + len - 8, &tail, sizeof tail);
      std::memcpy(dst, &low, sizeof low);
    }
  } else if (len >= 4) {
    const auto head = load_as<uint32_t>(src);
    const auto tail = load_as<uint32_t>(src + len - 4);
    low = head | static_cast<uint64_t>(tail) >> (8 * (8 - len)) << 32;
    if constexpr (kCopy) {
      std::memcpy(dst + len - 4, &tail, sizeof tail);
      std::memcpy(dst, &head, sizeof head);
    }
  } else {
    for (size_t i = 0; i < len; ++i) {
      const uint8_t byte = src[i];
      low |= static_cast<uint64_t>(byte) << (8 * i);
      if constexpr (kCopy) {
        dst[i] = byte;
      }
    }
  }
  return _mm_set_epi64x(static_cast<int64_t>(high), static_cast<int64_t>(low));
}

template <bool kCopy, bool kMasked>
ROCE_INLINE_128 uint32_t run(uint32_t state, Cursor<kCopy, kMasked> in, size_t len) {
  const __m128i seed = _mm_cvtsi32_si128(static_cast<int>(state));
  const __m128i first = _mm_xor_si128(in.at(0), seed);
  size_t done;
  const uint64_t* factors;
  __m128i sum;
  if (len >= 64) {
    const __m128i by_64 = _mm_set_epi64x(crc_factor(512 - 32), crc_factor(512 + 32));
    __m128i x0 = first;
    __m128i x1 = in.at(16);
    __m128i x2 = in.at(32);
    __m128i x3 = in.at(48);
    in.ones = nullptr;
    for (done = 64; len - done >= 64; done += 64) {
      x0 = _mm_xor_si128(multiply(x0, by_64), in.at(done));
      x1 = _mm_xor_si128(multiply(x1, by_64), in.at(done + 16));
      x2 = _mm_xor_si128(multiply(x2, by_64), in.at(done + 32));
      x3 = _mm_xor_si128(multiply(x3, by_64), in.at(done + 48));
    }
    factors = kCrcFactors.for_16(len - done + 64);
    sum = _mm_xor_si128(_mm_xor_si128(move_to_end(x0, factors), move_to_end(x1, factors + 2)),
                        _mm_xor_si128(move_to_end(x2, factors + 4), move_to_end(x3, factors + 6)));
    factors += 8;
  } else {
    factors = kCrcFactors.for_16(len);
    sum = move_to_end(first, factors);
    factors += 2;
    done = 16;
  }
  for (; len - done >= 16; done += 16, factors += 2) {
    sum = _mm_xor_si128(sum, move_to_end(in.at(done), factors));
  }
  if (done != len) {
    if constexpr (kCopy) {
      const __m128i last = load_short<true>(in.dst + done, in.src + done, len - done);
      sum = _mm_xor_si128(sum, move_to_end(last, factors));
    } else {
      // The last 16 bytes again, without those that are in the sum already.
      const __m128i keep = load16(kKeepLast.data() + (len - done));
      const __m128i last = _mm_and_si128(in.at(len - 16), keep);
      sum = _mm_xor_si128(sum, move_to_end(last, kCrcFactors.for_16(16)));
    }
  }
  return crc_reduce(sum);
}

template <bool kCopy>
ROCE_INLINE_128 uint32_t run_any(uint32_t state, uint8_t* dst, const uint8_t* src, size_t len) {
  if (len >= 16) {
    return run(state, Cursor<kCopy, false>{src, dst, nullptr}, len);
  }
  if (len == 0) {
    return state;
  }
  const __m128i seed = _mm_cvtsi32_si128(static_cast<int>(state));
  return crc_reduce(
      move_to_end(_mm_xor_si128(load_short<kCopy>(dst, src, len), seed), kCrcFactors.for_16(len)));
}

[[gnu::target("sse4.2,pclmul")]] uint32_t update(uint32_t state, const uint8_t* data, size_t len) {
  return run_any<false>(state, nullptr, data, len);
}

[[gnu::target("sse4.2,pclmul")]] uint32_t copy(uint32_t state, uint8_t* dst, const uint8_t* src,
                                               size_t len) {
  return run_any<true>(state, dst, src, len);
}

[[gnu::target("sse4.2,pclmul")]] uint32_t update_masked(uint32_t state, const uint8_t* data,
                                                        const uint8_t* ones, size_t len) {
  return run(state, Cursor<false, true>{data, nullptr, ones}, len);
}

}  // namespace

constexpr CrcFunctions kCrcPclmulFunctions{update, copy, update_masked};

}  // namespace roce::wire::detail
