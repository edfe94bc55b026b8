// Results of set-up calls. The data path uses plain codes (DropReason, CompletionStatus, errno).
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cerrno>
#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace roce {

/// Why a call was refused: the errno that verbs document for it, and one sentence for a person that
/// names the value, the limit and the remedy.
struct [[nodiscard]] Error {
  int code = EINVAL;
  std::string reason;
};

template <class T>
using Result = tl::expected<T, Error>;

using Status = Result<void>;

/// Builds the failure arm of any Result.
inline tl::unexpected<Error> failure(int code, std::string reason) {
  return tl::make_unexpected(Error{code, std::move(reason)});
}

}  // namespace roce
