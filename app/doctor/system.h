// System: reads what the kernel tells in files, below a root folder that tests replace.
// Nothing is written anywhere. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace uroce::doctor {

class System {
 public:
  explicit System(std::filesystem::path root) : root_(std::move(root)) {}

  /// The kernel's own files, not a copy of them.
  bool live() const { return root_ == "/"; }

  /// `file` is absolute, as the system would have it.
  std::filesystem::path path(std::string_view file) const;
  bool exists(std::string_view file) const;
  /// This process may open it for reading and writing.
  bool may_use(std::string_view file) const;

  /// Without white space around it; nothing when it cannot be read.
  std::optional<std::string> read(std::string_view file) const;
  std::optional<int64_t> number(std::string_view file) const;
  /// The value after "NAME:" or "NAME :" in a file of such lines.
  std::optional<std::string> field(std::string_view file, std::string_view name) const;
  /// Names of the entries of a folder, in order; none when it cannot be read.
  std::vector<std::string> list(std::string_view folder) const;
  /// Last part of where a link leads; empty when it is none.
  std::string link_name(std::string_view file) const;

 private:
  std::filesystem::path root_;
};

/// Whether `cpu` is in a list as the kernel writes it, "0-3,8".
bool in_cpu_list(std::string_view list, uint32_t cpu);

}  // namespace uroce::doctor
