// One setting's value between text and its typed place in a Config. Owned by the configuration; it
// knows no key by name.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "roce/config.h"

namespace roce {

/// What kind of TOML value a slot takes.
enum class ValueShape : uint8_t { boolean, integer, text, list };

/// A value as it was written somewhere, and where.
struct RawValue {
  std::vector<std::string> items;  ///< one, or any number for a list
  std::string origin;              ///< "file x.toml:12", "environment UROCE_...", ...
};

ValueShape shape_of(const ConfigSlot& slot);

/// Splits one text from the environment, a flag or the table of defaults into items.
std::vector<std::string> items_of(const ConfigSlot& slot, std::string_view text);

/// What the slot takes, for people.
std::string allowed_for(const ConfigSlot& slot, uint32_t low, uint32_t high);

/// The words of an enumeration slot; empty for other slots.
std::vector<std::string> words_of(const ConfigSlot& slot);

/// Sets the slot; false (the slot is then unspecified) when an item is not one of allowed_for().
bool assign(const ConfigSlot& slot, const std::vector<std::string>& items, uint32_t low,
            uint32_t high);

/// The slot's value as TOML.
std::string toml_of(const ConfigSlot& slot);

/// A TOML basic string with its quotes.
std::string quoted(std::string_view text);

}  // namespace roce
