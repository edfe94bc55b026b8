// Nearest-word search by edit distance, for error messages.
// SPDX-License-Identifier: BSD-3-Clause
#include "roce/text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace roce {

namespace {

/// The table of distances between two words' beginnings, three rows of it, for one word after
/// another.
class Distance {
 public:
  /// As edit_distance(), or anything above `most` when it is that.
  size_t between(std::string_view a, std::string_view b, size_t most) {
    const size_t longer = std::max(a.size(), b.size());
    if (longer - std::min(a.size(), b.size()) > most) {
      return longer;
    }
    const size_t columns = b.size() + 1;
    if (cells_.size() < 3 * columns) {
      cells_.resize(3 * columns);
    }
    size_t* before = cells_.data();    // row i - 2
    size_t* above = before + columns;  // row i - 1
    size_t* row = before + 2 * columns;
    for (size_t j = 0; j < columns; ++j) {
      above[j] = j;
    }
    for (size_t i = 1; i <= a.size(); ++i) {
      size_t least = row[0] = i;
      for (size_t j = 1; j < columns; ++j) {
        const size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
        size_t best = std::min(replaced, std::min(above[j], row[j - 1]) + 1);
        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
          best = std::min(best, before[j - 2] + 1);
        }
        row[j] = best;
        least = std::min(least, best);
      }
      if (least > most) {
        return least;  // no later row has less
      }
      size_t* const oldest = before;
      before = above;
      above = row;
      row = oldest;
    }
    return above[b.size()];
  }

 private:
  std::vector<size_t> cells_;
};

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
  return Distance().between(a, b, std::max(a.size(), b.size()));
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  Distance distances;
  const std::string* best = nullptr;
  size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const size_t near_enough = std::max<size_t>(1, std::max(word.size(), candidate.size()) / 3);
    const size_t distance = distances.between(word, candidate, near_enough);
    if (distance <= near_enough && (best == nullptr || distance < best_distance)) {
      best = &candidate;
      best_distance = distance;
    }
  }
  return best == nullptr ? std::string() : *best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string found = nearest(word, candidates);
  return found.empty() ? std::string() : fmt::format(" (did you mean {}?)", found);
}

}  // namespace roce
