// Parsing, printing and describing values, by their C++ type.
// SPDX-License-Identifier: BSD-3-Clause
#include "config_value.h"

#include <array>
#include <charconv>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace roce {
namespace {

template <class T>
struct Words;
template <>
struct Words<PortKind> {
  static constexpr std::array<std::string_view, 8> kList = {
      "virtio-user", "memif", "af_packet", "af_xdp", "tap", "ring", "pci", "vdev"};
};
template <>
struct Words<Side> {
  static constexpr std::array<std::string_view, 2> kList = {"a", "b"};
};
template <>
struct Words<Drive> {
  static constexpr std::array<std::string_view, 3> kList = {"rtc", "lcore", "assisted"};
};

template <class T>
constexpr bool kIsList = false;
template <class T>
constexpr bool kIsList<std::vector<T>> = true;

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;

bool parse(std::string_view text, bool& out) {
  out = text == "true";
  return text == "true" || text == "false";
}

bool parse(std::string_view text, std::string& out) {
  out = text;
  return true;
}

template <class E>
requires std::is_enum_v<E>
bool parse(std::string_view text, E& out) {
  for (size_t i = 0; i < Words<E>::kList.size(); ++i) {
    if (Words<E>::kList[i] == text) {
      out = static_cast<E>(i);
      return true;
    }
  }
  return false;
}

template <class T>
bool store(const std::optional<T>& found, T& out) {
  if (found) {
    out = *found;
  }
  return found.has_value();
}

bool parse(std::string_view text, MacAddress& out) {
  // A group address can be nobody's own.
  return store(parse_mac(text), out) && !out.is_multicast();
}

bool parse(std::string_view text, Ipv4Address& out) {
  return store(parse_ipv4(text), out);
}
bool parse(std::string_view text, Ipv6Address& out) {
  return store(parse_ipv6(text), out);
}
bool parse(std::string_view text, Ipv4Prefix& out) {
  return store(parse_ipv4_prefix(text), out);
}
bool parse(std::string_view text, Ipv6Prefix& out) {
  return store(parse_ipv6_prefix(text), out);
}

bool parse(std::string_view text, StaticNeighbour& out) {
  const size_t equals = text.find('=');
  return equals != std::string_view::npos && store(parse_gid(text.substr(0, equals)), out.ip) &&
         parse(text.substr(equals + 1), out.mac);
}

bool parse_number(std::string_view text, uint32_t low, uint32_t high, uint32_t& out) {
  const auto [end, error] = std::from_chars(text.begin(), text.end(), out);
  return error == std::errc() && end == text.end() && out >= low && out <= high;
}

template <class T>
std::string describe(T* /*unused*/) {
  if constexpr (std::is_same_v<T, bool>) {
    return "true or false";
  } else if constexpr (std::is_enum_v<T>) {
    return fmt::format("one of {}", fmt::join(Words<T>::kList, ", "));
  } else if constexpr (std::is_same_v<T, std::optional<MacAddress>>) {
    return "a unicast MAC address like 02:00:00:00:00:01, or empty";
  } else if constexpr (std::is_same_v<T, std::optional<Ipv4Address>>) {
    return "an IPv4 address like 192.0.2.254, or empty";
  } else if constexpr (std::is_same_v<T, std::optional<Ipv6Address>>) {
    return "an IPv6 address like 2001:db8::fe, or empty";
  } else if constexpr (std::is_same_v<T, std::optional<Ipv4Prefix>>) {
    return "an IPv4 address with its prefix length like 192.0.2.1/24, or empty";
  } else if constexpr (std::is_same_v<T, std::vector<Ipv6Prefix>>) {
    return "a list of IPv6 addresses with their prefix lengths like 2001:db8::1/64";
  } else if constexpr (std::is_same_v<T, std::vector<StaticNeighbour>>) {
    return "a list of neighbours like \"192.0.2.2=02:00:00:00:00:02\"";
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return "a list of texts";
  } else {
    return "a text";
  }
}

std::string toml_item(bool value) {
  return value ? "true" : "false";
}
std::string toml_item(uint32_t value) {
  return fmt::format("{}", value);
}
std::string toml_item(const std::string& value) {
  return quoted(value);
}

template <class E>
requires std::is_enum_v<E> std::string toml_item(E value) {
  return quoted(Words<E>::kList[static_cast<size_t>(value)]);
}

std::string toml_item(const StaticNeighbour& value) {
  return fmt::format("{{ ip = \"{}\", mac = \"{}\" }}", text_of(value.ip), text_of(value.mac));
}

template <class T>
requires requires(const T& value) {
  text_of(value);
}
std::string toml_item(const T& value) {
  return quoted(text_of(value));
}

template <class T>
std::string toml_item(const std::optional<T>& value) {
  return value ? toml_item(*value) : quoted("");
}

template <class T>
std::string toml_item(const std::vector<T>& values) {
  std::vector<std::string> items;
  items.reserve(values.size());
  for (const T& value : values) {
    items.push_back(toml_item(value));
  }
  return fmt::format("[{}]", fmt::join(items, ", "));
}

}  // namespace

ValueShape shape_of(const ConfigSlot& slot) {
  return std::visit(
      []<class T>(T* /*place*/) {
        if constexpr (std::is_same_v<T, bool>) {
          return ValueShape::boolean;
        } else if constexpr (std::is_same_v<T, uint32_t>) {
          return ValueShape::integer;
        } else if constexpr (kIsList<T>) {
          return ValueShape::list;
        } else {
          return ValueShape::text;
        }
      },
      slot);
}

std::vector<std::string> items_of(const ConfigSlot& slot, std::string_view text) {
  if (shape_of(slot) != ValueShape::list) {
    return {std::string(text)};
  }
  // Free texts may hold commas ("--vdev=net_x,iface=y"); addresses cannot.
  const bool free_text = std::holds_alternative<std::vector<std::string>*>(slot);
  const std::string_view separators = free_text ? " \t" : " \t,";
  std::vector<std::string> items;
  for (size_t at = text.find_first_not_of(separators); at != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(separators, at), text.size());
    items.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(separators, end);
  }
  return items;
}

std::string allowed_for(const ConfigSlot& slot, uint32_t low, uint32_t high) {
  if (std::holds_alternative<uint32_t*>(slot)) {
    return fmt::format("{} to {}", low, high);
  }
  return std::visit([](auto* place) { return describe(place); }, slot);
}

std::vector<std::string> words_of(const ConfigSlot& slot) {
  return std::visit(
      []<class T>(T* /*place*/) {
        std::vector<std::string> words;
        if constexpr (std::is_enum_v<T>) {
          words.assign(Words<T>::kList.begin(), Words<T>::kList.end());
        }
        return words;
      },
      slot);
}

bool assign(const ConfigSlot& slot, const std::vector<std::string>& items, uint32_t low,
            uint32_t high) {
  return std::visit(
      [&]<class T>(T* place) {
        if constexpr (kIsList<T>) {
          place->clear();
          for (const std::string& item : items) {
            if (!parse(item, place->emplace_back())) {
              return false;
            }
          }
          return true;
        } else if constexpr (kIsOptional<T>) {
          place->reset();
          return items.front().empty() || parse(items.front(), place->emplace());
        } else if constexpr (std::is_same_v<T, uint32_t>) {
          return parse_number(items.front(), low, high, *place);
        } else {
          return parse(items.front(), *place);
        }
      },
      slot);
}

std::string toml_of(const ConfigSlot& slot) {
  return std::visit([](const auto* place) { return toml_item(*place); }, slot);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string_view name_of(PortKind kind) {
  return Words<PortKind>::kList[static_cast<size_t>(kind)];
}
std::string_view name_of(Side side) {
  return Words<Side>::kList[static_cast<size_t>(side)];
}
std::string_view name_of(Drive drive) {
  return Words<Drive>::kList[static_cast<size_t>(drive)];
}

}  // namespace roce
