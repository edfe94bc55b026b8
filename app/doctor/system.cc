// Files of /proc and /sys.
// SPDX-License-Identifier: BSD-3-Clause
#include "system.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace uroce::doctor {
namespace {

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) {
    return {};
  }
  return std::string(text.substr(first, text.find_last_not_of(" \t\n") - first + 1));
}

std::optional<int64_t> parse(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::filesystem::path System::path(std::string_view file) const {
  return root_ / file.substr(1);
}

bool System::exists(std::string_view file) const {
  std::error_code ignored;
  return std::filesystem::exists(path(file), ignored);
}

bool System::may_use(std::string_view file) const {
  return ::access(path(file).c_str(), R_OK | W_OK) == 0;
}

std::optional<std::string> System::read(std::string_view file) const {
  std::ifstream stream(path(file));
  if (!stream) {
    return std::nullopt;
  }
  std::ostringstream text;
  text << stream.rdbuf();
  return stream.bad() ? std::nullopt : std::optional(trimmed(text.str()));
}

std::optional<int64_t> System::number(std::string_view file) const {
  const auto text = read(file);
  return text ? parse(*text) : std::nullopt;
}

std::optional<std::string> System::field(std::string_view file, std::string_view name) const {
  std::ifstream stream(path(file));
  for (std::string line; std::getline(stream, line);) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos && trimmed(line.substr(0, colon)) == name) {
      return trimmed(line.substr(colon + 1));
    }
  }
  return std::nullopt;
}

std::vector<std::string> System::list(std::string_view folder) const {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path(folder), ignored)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string System::link_name(std::string_view file) const {
  std::error_code failed;
  const auto target = std::filesystem::read_symlink(path(file), failed);
  return failed ? std::string() : target.filename().string();
}

bool in_cpu_list(std::string_view list, uint32_t cpu) {
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(','));
    const size_t dash = part.find('-');
    const auto low = parse(part.substr(0, dash));
    const auto high = dash == std::string_view::npos ? low : parse(part.substr(dash + 1));
    if (low && high && *low <= cpu && cpu <= *high) {
      return true;
    }
    list.remove_prefix(std::min(list.size(), part.size() + 1));
  }
  return false;
}

}  // namespace uroce::doctor
