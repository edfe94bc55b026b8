// Fuzzes the text of configuration files: whatever it is, load_config() accepts it or says in words
// why not, and what it accepts survives being shown and read again.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include <roce/config.h>

#include "base/check.h"
#include "fuzz/tally.h"

namespace roce::fuzz {
namespace {

Tally tally;

Result<Config> load(std::string text, Side side) {
  ConfigSources sources;
  sources.file = "file.toml";
  sources.text = std::move(text);
  sources.default_side = side;
  sources.cpus = {0, 1};
  return load_config(sources);
}

/// What is accepted says the same after being shown and read again.
void check_shown(Config config, Side side) {
  Result<Config> again = load(show_config(config), side);
  ROCE_CHECK(again.has_value());
  for (const ConfigKey& key : config_keys()) {
    const bool alike = std::visit(
        [&again, &key](auto* a) { return *a == *std::get<decltype(a)>(key.slot(*again)); },
        key.slot(config));
    ROCE_CHECK(alike);
  }
}

}  // namespace
}  // namespace roce::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace roce;
  // For one end, drawn by the length: twice the inputs instead of each input twice.
  const Side side = size % 2 == 0 ? Side::a : Side::b;
  Result<Config> config = fuzz::load({reinterpret_cast<const char*>(data), size}, side);
  if (config) {
    fuzz::check_shown(std::move(*config), side);
  } else {
    ROCE_CHECK(config.error().code != 0 && !config.error().reason.empty());
  }
  return 0;
}
