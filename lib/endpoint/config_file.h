// Reading a TOML configuration file into raw settings. Owned by load_config().
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config_value.h"
#include "roce/config.h"

namespace roce {

/// A setting found in a file. `side` is set for one under [side.a] or [side.b], which counts for
/// that end only and then goes before the common one.
struct FileSetting {
  size_t key = 0;  ///< index into config_keys()
  RawValue value;
  std::optional<Side> side;
};

/// Index into config_keys() of `path`, if it is one.
std::optional<size_t> find_key(std::string_view path);

/// " (did you mean port.mtu?)" for a path that is no key, or "".
std::string suggest_key(std::string_view path);

/// Reads the TOML `text`, which is that of `file`. Each value has the TOML type its key wants; the
/// value itself is not yet judged. Errors name file and line: EINVAL (no TOML, unknown key, wrong
/// type).
Result<std::vector<FileSetting>> read_config_text(std::string_view text, const std::string& file);

/// The same of the file's own text. Errors: also the system's when it cannot be read.
Result<std::vector<FileSetting>> read_config_file(const std::string& file);

}  // namespace roce
