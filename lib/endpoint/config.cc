// load_config(): lays the sources over each other, then checks the whole; and its reverse,
// show_config().
// SPDX-License-Identifier: BSD-3-Clause
#include "roce/config.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/check.h"
#include "config_check.h"
#include "config_file.h"
#include "config_value.h"
#include "roce/text.h"

namespace roce {
namespace {

constexpr std::string_view kFileVariable = "UROCE_CONFIG";
// Left to the test harness; never read here.
constexpr std::string_view kTestPrefix = "UROCE_TEST_";

// The winning raw value of each key.
class Layers {
 public:
  Layers() : values_(config_keys().size()) {
    Config blank;
    for (size_t i = 0; i < values_.size(); ++i) {
      const ConfigKey& key = config_keys()[i];
      values_[i] = {items_of(key.slot(blank), key.fallback), "default"};
    }
  }

  void put(size_t key, RawValue value) { values_[key] = std::move(value); }

  void put_text(size_t key, std::string_view text, std::string origin) {
    Config blank;
    put(key, {items_of(config_keys()[key].slot(blank), text), std::move(origin)});
  }

  const RawValue& at(size_t key) const { return values_[key]; }

 private:
  std::vector<RawValue> values_;
};

Status set_value(Config& config, size_t index, const RawValue& raw) {
  const ConfigKey& key = config_keys()[index];
  const ConfigSlot slot = key.slot(config);
  config.origins[index] = raw.origin;
  if (assign(slot, raw.items, key.low, key.high)) {
    return {};
  }
  return failure(EINVAL, fmt::format("{}: {} = {}: must be {}{}", place_of_origin(raw.origin),
                                     key.path, fmt::join(raw.items, " "), allowed_values(key),
                                     did_you_mean(raw.items.front(), words_of(slot))));
}

Status put_environment(const ConfigSources& sources, Layers& layers) {
  std::vector<std::string> names{std::string(kFileVariable)};
  for (const ConfigKey& key : config_keys()) {
    names.push_back(environment_name(key));
  }
  for (const auto& [name, value] : sources.environment) {
    if (name == kFileVariable || name.starts_with(kTestPrefix)) {
      continue;
    }
    const auto found = std::find(names.begin() + 1, names.end(), name);
    if (found == names.end()) {
      return failure(EINVAL, fmt::format("environment {}: unknown variable{}; unset it", name,
                                         did_you_mean(name, names)));
    }
    layers.put_text(static_cast<size_t>(found - names.begin() - 1), value,
                    fmt::format("environment {}", name));
  }
  return {};
}

Status put_flags(const ConfigSources& sources, Layers& layers) {
  for (const ConfigFlag& flag : sources.flags) {
    const auto index = find_key(flag.key);
    if (!index) {
      return failure(EINVAL, fmt::format("flag {}: unknown key {}{}; --show-config lists all",
                                         flag.flag, flag.key, suggest_key(flag.key)));
    }
    layers.put_text(*index, flag.value, fmt::format("flag {}", flag.flag));
  }
  return {};
}

std::string file_of(const ConfigSources& sources) {
  if (!sources.file.empty()) {
    return sources.file;
  }
  for (const auto& [name, value] : sources.environment) {
    if (name == kFileVariable) {
      return value;
    }
  }
  return {};
}

// Values for the other end are checked as well: a file is right or wrong as a whole.
Status check_each(const std::vector<FileSetting>& settings) {
  Config scratch;
  scratch.origins.resize(config_keys().size());
  for (const FileSetting& setting : settings) {
    if (auto done = set_value(scratch, setting.key, setting.value); !done) {
      return done;
    }
  }
  return {};
}

void put_file(const std::vector<FileSetting>& settings, std::optional<Side> side, Layers& layers) {
  for (const FileSetting& setting : settings) {
    if (setting.side == side) {
      layers.put(setting.key, setting.value);
    }
  }
}

Status put_upper_layers(const ConfigSources& sources, Layers& layers) {
  if (auto done = put_environment(sources, layers); !done) {
    return done;
  }
  return put_flags(sources, layers);
}

// Which end this is must be known before the file's tables for that end can be laid in.
Result<Side> find_side(const ConfigSources& sources, const Layers& layers) {
  const size_t index = *find_key("port.side");
  const RawValue& raw = layers.at(index);
  if (raw.origin == "default") {
    return sources.default_side;
  }
  Config scratch;
  scratch.origins.resize(config_keys().size());
  if (auto done = set_value(scratch, index, raw); !done) {
    return tl::make_unexpected(done.error());
  }
  return scratch.port.side;
}

Result<std::vector<FileSetting>> read_file(const ConfigSources& sources) {
  if (sources.text) {
    return read_config_text(*sources.text, sources.file);
  }
  const std::string file = file_of(sources);
  return file.empty() ? std::vector<FileSetting>() : read_config_file(file);
}

Result<Layers> collect(const ConfigSources& sources) {
  const Result<std::vector<FileSetting>> read = read_file(sources);
  if (!read) {
    return tl::make_unexpected(read.error());
  }
  const std::vector<FileSetting>& settings = *read;
  if (auto done = check_each(settings); !done) {
    return tl::make_unexpected(done.error());
  }
  Layers layers;
  put_file(settings, std::nullopt, layers);
  Layers without_sides = layers;
  if (auto done = put_upper_layers(sources, without_sides); !done) {
    return tl::make_unexpected(done.error());
  }
  const auto side = find_side(sources, without_sides);
  if (!side) {
    return tl::make_unexpected(side.error());
  }
  put_file(settings, *side, layers);
  if (auto done = put_upper_layers(sources, layers); !done) {
    return tl::make_unexpected(done.error());
  }
  const size_t side_key = *find_key("port.side");
  layers.put_text(side_key, name_of(*side), layers.at(side_key).origin);
  return layers;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> process_environment() {
  constexpr std::string_view kPrefix = "UROCE_";
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (text.starts_with(kPrefix) && equals != std::string_view::npos) {
      found.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return found;
}

Result<Config> load_config(const ConfigSources& sources) {
  const auto layers = collect(sources);
  if (!layers) {
    return tl::make_unexpected(layers.error());
  }
  Config config;
  config.origins.resize(config_keys().size());
  for (size_t i = 0; i < config_keys().size(); ++i) {
    const RawValue& raw = layers->at(i);
    config.origins[i] = raw.origin;
    if (raw.origin == "default" && config_keys()[i].fallback.empty() &&
        !config_keys()[i].derived.empty() && config_keys()[i].path != "port.side") {
      continue;  // derive_defaults() sets it
    }
    if (auto done = set_value(config, i, raw); !done) {
      return tl::make_unexpected(done.error());
    }
  }
  const std::vector<uint32_t> cpus = sources.cpus.empty() ? allowed_cpus() : sources.cpus;
  derive_defaults(config, cpus);
  if (auto done = check_config(config, cpus); !done) {
    return tl::make_unexpected(done.error());
  }
  return config;
}

const std::string& origin_of(const Config& config, std::string_view path) {
  const auto index = find_key(path);
  ROCE_CHECK(index.has_value() && *index < config.origins.size());
  return config.origins[*index];
}

std::string show_config(const Config& config) {
  Config copy = config;  // slots give write access
  std::vector<std::string> values;
  size_t widest = 0;
  for (const ConfigKey& key : config_keys()) {
    values.push_back(fmt::format("{} = {}", key.path, toml_of(key.slot(copy))));
    widest = std::max(widest, values.back().size());
  }
  widest = std::min<size_t>(widest, 48);
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    text += fmt::format("{:<{}}  # {}\n", values[i], widest, config.origins[i]);
  }
  return text;
}

}  // namespace roce
