// Small text helpers for messages to people: the nearest known word for a mistyped one. Shared by
// the configuration and the programs' command lines.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace roce {

/// How many single-character insertions, removals, replacements and swaps of neighbours turn `a`
/// into `b`. Letters' case counts; meant for words, it takes |a| * |b| steps.
size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `word`, the first of equals; empty when none is near enough to be meant
/// (more than a third of the longer word, and more than one letter, would have to change).
std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// " (did you mean X?)" when a candidate is near, else "".
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace roce
