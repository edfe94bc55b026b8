// TOML into raw settings: sections of keys, and the same sections again under side.a and side.b.
// toml++ reports errors by exceptions, which end here.
// SPDX-License-Identifier: BSD-3-Clause
#include "config_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "roce/text.h"

namespace roce {
namespace {

const std::vector<std::string>& all_paths() {
  static const std::vector<std::string> paths = [] {
    std::vector<std::string> list;
    for (const ConfigKey& key : config_keys()) {
      list.emplace_back(key.path);
    }
    return list;
  }();
  return paths;
}

bool is_section(std::string_view name) {
  for (const ConfigKey& key : config_keys()) {
    if (key.path.starts_with(name) && key.path.substr(name.size()).starts_with('.')) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> section_names() {
  std::vector<std::string> names = {"side"};
  for (const ConfigKey& key : config_keys()) {
    const std::string section(key.path.substr(0, key.path.find('.')));
    if (names.back() != section) {
      names.push_back(section);
    }
  }
  return names;
}

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  Status read_root(const toml::table& root) {
    for (auto&& [key, node] : root) {
      if (key.str() == "side") {
        if (auto done = read_sides(key, node); !done) {
          return done;
        }
      } else if (auto done = read_section(key, node, std::nullopt); !done) {
        return done;
      }
    }
    return {};
  }

  std::vector<FileSetting> take() { return std::move(settings_); }

 private:
  std::string place(const toml::source_region& source) const {
    return fmt::format("{}:{}", file_, source.begin.line);
  }

  Status read_sides(const toml::key& key, const toml::node& node) {
    const toml::table* const sides = node.as_table();
    if (sides == nullptr) {
      return failure(EINVAL, fmt::format("{}: side holds the tables side.a and side.b; the end is "
                                         "chosen by port.side",
                                         place(key.source())));
    }
    for (auto&& [name, side_node] : *sides) {
      const toml::table* const sections = side_node.as_table();
      const bool known = name.str() == "a" || name.str() == "b";
      if (!known || sections == nullptr) {
        return failure(EINVAL, fmt::format("{}: unknown key side.{}; allowed: the tables side.a "
                                           "and side.b",
                                           place(name.source()), name.str()));
      }
      const Side side = name.str() == "a" ? Side::a : Side::b;
      for (auto&& [section, section_node] : *sections) {
        if (auto done = read_section(section, section_node, side); !done) {
          return done;
        }
      }
    }
    return {};
  }

  Status read_section(const toml::key& section, const toml::node& node, std::optional<Side> side) {
    const toml::table* const keys = node.as_table();
    if (keys == nullptr || !is_section(section.str())) {
      const std::vector<std::string> names = section_names();
      const std::string hint =
          keys == nullptr ? suggest_key(section.str()) : did_you_mean(section.str(), names);
      return failure(
          EINVAL, fmt::format("{}: unknown {} {}{}; the sections are {}", place(section.source()),
                              keys == nullptr ? "key" : "section", section.str(), hint,
                              fmt::join(names, ", ")));
    }
    for (auto&& [name, value] : *keys) {
      if (auto done = read_key(fmt::format("{}.{}", section.str(), name.str()), name, value, side);
          !done) {
        return done;
      }
    }
    return {};
  }

  Status read_key(const std::string& path, const toml::key& name, const toml::node& node,
                  std::optional<Side> side) {
    const std::string where = place(name.source());
    const auto index = find_key(path);
    if (!index) {
      return failure(EINVAL, fmt::format("{}: unknown key {}{}", where, path, suggest_key(path)));
    }
    if (side && path == "port.side") {
      return failure(EINVAL, fmt::format("{}: port.side cannot stand under side.{}, which it "
                                         "chooses",
                                         where, name_of(*side)));
    }
    FileSetting setting{.key = *index, .value = {{}, "file " + where}, .side = side};
    if (!collect(*index, node, setting.value.items)) {
      std::ostringstream text;
      text << toml::default_formatter(node);
      return failure(EINVAL, fmt::format("{}: {} = {}: must be {}", where, path, text.str(),
                                         typed_values(*index)));
    }
    settings_.push_back(std::move(setting));
    return {};
  }

  static std::string typed_values(size_t index) {
    const ConfigKey& key = config_keys()[index];
    Config blank;
    const ValueShape shape = shape_of(key.slot(blank));
    const bool in_quotes = shape == ValueShape::text || shape == ValueShape::list;
    return fmt::format("{}, {} quotes", allowed_values(key), in_quotes ? "in" : "without");
  }

  // Turns a node into items when its type is the one the key wants.
  static bool collect(size_t index, const toml::node& node, std::vector<std::string>& items) {
    Config blank;
    switch (shape_of(config_keys()[index].slot(blank))) {
      case ValueShape::boolean:
        return collect_one<bool>(node, items);
      case ValueShape::integer:
        return collect_one<int64_t>(node, items);
      case ValueShape::text:
        return collect_one<std::string>(node, items);
      case ValueShape::list:
        return collect_list(node, items);
    }
    return false;
  }

  // Exactly of type T: the parser would convert a number by a cast, whatever its size.
  template <class T>
  static bool collect_one(const toml::node& node, std::vector<std::string>& items) {
    const std::optional<T> value = node.value_exact<T>();
    if (value) {
      items = {fmt::format("{}", *value)};
    }
    return value.has_value();
  }

  static bool collect_list(const toml::node& node, std::vector<std::string>& items) {
    const toml::array* const array = node.as_array();
    if (array == nullptr) {
      return false;
    }
    for (const toml::node& element : *array) {
      if (element.is_string()) {
        items.push_back(element.value_or(std::string()));
        continue;
      }
      // A neighbour may also be { ip = "...", mac = "..." }.
      const toml::table* const table = element.as_table();
      if (table == nullptr || table->size() != 2 || !(*table)["ip"].is_string() ||
          !(*table)["mac"].is_string()) {
        return false;
      }
      items.push_back(fmt::format("{}={}", (*table)["ip"].value_or(std::string()),
                                  (*table)["mac"].value_or(std::string())));
    }
    return true;
  }

  const std::string& file_;
  std::vector<FileSetting> settings_;
};

Result<std::string> read_text(const std::string& file) {
  std::error_code ignored;
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  const bool folder = std::filesystem::is_directory(file, ignored);
  if (!stream || folder) {
    const int code = folder ? EISDIR : errno;
    return failure(code == 0 ? EIO : code,
                   fmt::format("{}: cannot read the configuration file: {}; name a TOML file, for "
                               "example one of config/*.toml",
                               file, std::generic_category().message(code)));
  }
  text << stream.rdbuf();
  return text.str();
}

}  // namespace

std::optional<size_t> find_key(std::string_view path) {
  const auto keys = config_keys();
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].path == path) {
      return i;
    }
  }
  return std::nullopt;
}

std::string suggest_key(std::string_view path) {
  const std::string name = fmt::format(".{}", path.substr(path.rfind('.') + 1));
  for (const ConfigKey& key : config_keys()) {
    if (key.path.ends_with(name)) {
      return fmt::format(" (did you mean {}?)", key.path);
    }
  }
  return did_you_mean(path, all_paths());
}

Result<std::vector<FileSetting>> read_config_text(std::string_view text, const std::string& file) {
  try {
    const toml::table root = toml::parse(text, file);
    Reader reader(file);
    if (auto done = reader.read_root(root); !done) {
      return tl::make_unexpected(done.error());
    }
    return reader.take();
  } catch (const toml::parse_error& error) {
    return failure(EINVAL, fmt::format("{}:{}: not TOML: {}", file, error.source().begin.line,
                                       error.description()));
  }
}

Result<std::vector<FileSetting>> read_config_file(const std::string& file) {
  const Result<std::string> text = read_text(file);
  if (!text) {
    return tl::make_unexpected(text.error());
  }
  return read_config_text(*text, file);
}

}  // namespace roce
