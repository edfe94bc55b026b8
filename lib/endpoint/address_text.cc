// Addresses from and to text; the IP forms are the C library's.
// SPDX-License-Identifier: BSD-3-Clause
#include "roce/address_text.h"

#include <arpa/inet.h>

#include <array>
#include <charconv>

#include <fmt/format.h>

namespace roce {
namespace {

// Splits "address/length"; `longest` is also the length that is meant when none is written.
struct SplitPrefix {
  std::string_view address;
  std::optional<uint8_t> length;
};

SplitPrefix split_prefix(std::string_view text, uint8_t longest) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return {text, longest};
  }
  const std::string_view digits = text.substr(slash + 1);
  unsigned value = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
  if (digits.empty() || error != std::errc() || end != digits.end() || value > longest) {
    return {text.substr(0, slash), std::nullopt};
  }
  return {text.substr(0, slash), static_cast<uint8_t>(value)};
}

}  // namespace

std::optional<Ipv4Address> parse_ipv4(std::string_view text) {
  Ipv4Address address;
  if (inet_pton(AF_INET, std::string(text).c_str(), address.bytes.data()) != 1) {
    return std::nullopt;
  }
  return address;
}

std::optional<Ipv6Address> parse_ipv6(std::string_view text) {
  Ipv6Address address;
  if (inet_pton(AF_INET6, std::string(text).c_str(), address.bytes.data()) != 1) {
    return std::nullopt;
  }
  return address;
}

std::optional<Ipv4Prefix> parse_ipv4_prefix(std::string_view text) {
  const SplitPrefix split = split_prefix(text, 32);
  const auto address = parse_ipv4(split.address);
  if (!address || !split.length) {
    return std::nullopt;
  }
  return Ipv4Prefix{*address, *split.length};
}

std::optional<Ipv6Prefix> parse_ipv6_prefix(std::string_view text) {
  const SplitPrefix split = split_prefix(text, 128);
  const auto address = parse_ipv6(split.address);
  if (!address || !split.length) {
    return std::nullopt;
  }
  return Ipv6Prefix{*address, *split.length};
}

std::optional<MacAddress> parse_mac(std::string_view text) {
  MacAddress mac;
  if (text.size() != 17) {
    return std::nullopt;
  }
  for (size_t i = 0; i < mac.bytes.size(); ++i) {
    const char* const pair = text.data() + 3 * i;
    const auto [end, error] = std::from_chars(pair, pair + 2, mac.bytes[i], 16);
    const bool separated = i == 5 || pair[2] == ':';
    if (error != std::errc() || end != pair + 2 || !separated) {
      return std::nullopt;
    }
  }
  return mac;
}

std::optional<Gid> parse_gid(std::string_view text) {
  if (const auto v4 = parse_ipv4(text)) {
    return Gid::from(*v4);
  }
  if (const auto v6 = parse_ipv6(text)) {
    return Gid::from(*v6);
  }
  return std::nullopt;
}

std::string text_of(const Ipv4Address& address) {
  const auto& b = address.bytes;
  return fmt::format("{}.{}.{}.{}", b[0], b[1], b[2], b[3]);
}

std::string text_of(const Ipv6Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, address.bytes.data(), text.data(), text.size());
  return text.data();
}

std::string text_of(const Ipv4Prefix& prefix) {
  return fmt::format("{}/{}", text_of(prefix.address), prefix.length);
}

std::string text_of(const Ipv6Prefix& prefix) {
  return fmt::format("{}/{}", text_of(prefix.address), prefix.length);
}

std::string text_of(const MacAddress& mac) {
  const auto& b = mac.bytes;
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", b[0], b[1], b[2], b[3], b[4],
                     b[5]);
}

std::string text_of(const Gid& gid) {
  return gid.is_ipv4() ? text_of(gid.ipv4()) : text_of(gid.ipv6());
}

}  // namespace roce
