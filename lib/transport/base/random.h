// Random numbers that an outsider must not be able to guess: keys, QPNs, start PSNs (decisions:
// keys carry at least 24 random bits from the system's CSPRNG).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>

namespace roce {

/// Source of unguessable 64-bit values. Control path only. A simulator supplies a seeded one.
using RandomSource = std::function<uint64_t()>;

/// The kernel's CSPRNG (getrandom). Never fails: the process stops if the kernel has none.
RandomSource system_random();

}  // namespace roce
