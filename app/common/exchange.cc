// The two exchanges: JSON lines between uroce's programs, fixed text with the stock tools.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/exchange.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace uroce::app {
namespace {

using Json = nlohmann::ordered_json;
using roce::failure;

constexpr std::string_view kMagic = "uroce/1";
// Their buffers hold the text with its NUL, and they read and write all of it in one call.
constexpr size_t kStockBytes = sizeof "0000:000000:000000:00000000000000000000000000000000";
constexpr std::string_view kStockDone{"done", sizeof "done"};

std::string hex(const Gid& gid) {
  std::string text;
  for (const uint8_t byte : gid.bytes) {
    text += fmt::format("{:02x}", byte);
  }
  return text;
}

template <class T>
bool read_hex(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.begin(), text.end(), out, 16);
  return error == std::errc() && end == text.end();
}

bool read_hex(std::string_view text, Gid& out) {
  if (text.size() != 2 * out.bytes.size()) {
    return false;
  }
  for (size_t i = 0; i < out.bytes.size(); ++i) {
    if (!read_hex(text.substr(2 * i, 2), out.bytes[i])) {
      return false;
    }
  }
  return true;
}

// Requires well-typed JSON: throws what nlohmann::json throws otherwise.
Hello hello_from(const Json& json) {
  Hello hello;
  hello.program = json.at("program").get<std::string>();
  for (const auto& [name, value] : json.at("parameters").items()) {
    hello.parameters.emplace_back(name, value.get<std::string>());
  }
  if (!read_hex(json.at("gid").get<std::string>(), hello.endpoint.gid)) {
    hello.endpoint.gid = Gid{};
  }
  for (const Json& qp : json.at("qps")) {
    hello.endpoint.qps.push_back({.qpn = qp.at("qpn").get<uint32_t>(),
                                  .psn = qp.at("psn").get<uint32_t>(),
                                  .rkey = qp.at("rkey").get<uint32_t>(),
                                  .va = qp.at("va").get<uint64_t>(),
                                  .length = qp.at("length").get<uint64_t>()});
  }
  return hello;
}

std::optional<std::string> find(const Parameters& parameters, const std::string& name) {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const auto& p) { return p.first == name; });
  return found == parameters.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::string hello_line(const Hello& hello) {
  Json json;
  json["magic"] = kMagic;
  json["program"] = hello.program;
  json["parameters"] = Json::object();
  for (const auto& [name, value] : hello.parameters) {
    json["parameters"][name] = value;
  }
  json["gid"] = hex(hello.endpoint.gid);
  json["qps"] = Json::array();
  for (const QpAddress& qp : hello.endpoint.qps) {
    json["qps"].push_back({{"qpn", qp.qpn},
                           {"psn", qp.psn},
                           {"rkey", qp.rkey},
                           {"va", qp.va},
                           {"length", qp.length}});
  }
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Result<Hello> parse_hello(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("magic")) {
    return failure(EPROTO, "the other end sent no greeting of uroce's; is it another program?");
  }
  if (json["magic"] != kMagic) {
    return failure(EPROTO, fmt::format("the other end speaks {}, this one \"{}\"; use programs of "
                                       "one version at both ends",
                                       printable(json["magic"].dump()), kMagic));
  }
  try {
    return hello_from(json);
  } catch (const Json::exception& error) {
    return failure(EPROTO, fmt::format("the other end's greeting cannot be understood ({}); use "
                                       "programs of one version at both ends",
                                       error.what()));
  }
}

std::string differences(const Parameters& here, const Parameters& there) {
  std::string list;
  const auto add = [&](const std::string& name, const std::optional<std::string>& a,
                       const std::optional<std::string>& b) {
    if (a != b) {
      list += fmt::format("{}{} is {} here and {} there", list.empty() ? "" : "; ", printable(name),
                          a.value_or("not known"), printable(b.value_or("not known")));
    }
  };
  for (const auto& [name, value] : here) {
    add(name, value, find(there, name));
  }
  for (const auto& [name, value] : there) {
    if (!find(here, name)) {
      add(name, std::nullopt, value);
    }
  }
  return list;
}

Result<EndAddress> exchange_hello(SideChannel& channel, const Hello& mine) {
  if (auto done = channel.send_line(hello_line(mine), "the own parameters"); !done) {
    return tl::make_unexpected(done.error());
  }
  const auto first = channel.peek("the other end's parameters");
  if (!first) {
    return tl::make_unexpected(first.error());
  }
  if (std::isxdigit(static_cast<unsigned char>(*first)) != 0) {
    return failure(EPROTO, fmt::format("{} is a stock ibverbs-utils program; call it with --stock",
                                       channel.peer()));
  }
  const auto line = channel.receive_line("the other end's parameters");
  if (!line) {
    return tl::make_unexpected(line.error());
  }
  auto theirs = parse_hello(*line);
  if (!theirs) {
    return tl::make_unexpected(theirs.error());
  }
  if (theirs->program != mine.program) {
    return failure(EPROTO, fmt::format("{} is {}, this is {}; use the same program at both ends",
                                       channel.peer(), printable(theirs->program), mine.program));
  }
  const std::string differ = differences(mine.parameters, theirs->parameters);
  if (!differ.empty()) {
    return failure(EINVAL, fmt::format("the two ends do not agree: {}; start both with the same "
                                       "flags",
                                       differ));
  }
  return std::move(theirs->endpoint);
}

Result<Dialect> recognise_client(SideChannel& channel) {
  const auto first = channel.peek("the client's parameters");
  if (!first) {
    return tl::make_unexpected(first.error());
  }
  if (*first == '{') {
    return Dialect::uroce;
  }
  if (std::isxdigit(static_cast<unsigned char>(*first)) != 0) {
    return Dialect::stock;
  }
  return failure(EPROTO, fmt::format("{} is neither a uroce program nor one of ibverbs-utils; is "
                                     "the port right?",
                                     channel.peer()));
}

std::string stock_text(const StockAddress& address) {
  return fmt::format("{:04x}:{:06x}:{:06x}:{}", address.lid, address.qpn, address.psn,
                     hex(address.gid));
}

Result<StockAddress> parse_stock(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  StockAddress address;
  const bool framed =
      text.size() == kStockBytes - 1 && text[4] == ':' && text[11] == ':' && text[18] == ':';
  if (!framed || !read_hex(text.substr(0, 4), address.lid) ||
      !read_hex(text.substr(5, 6), address.qpn) || !read_hex(text.substr(12, 6), address.psn) ||
      !read_hex(text.substr(19), address.gid)) {
    return failure(EPROTO, fmt::format("the other end sent \"{}\" where ibverbs-utils' programs "
                                       "send LID:QPN:PSN:GID; is it one of them?",
                                       printable(text)));
  }
  return address;
}

namespace {

Status send_stock(SideChannel& channel, const std::vector<StockAddress>& mine) {
  Status sent;
  for (size_t i = 0; sent && i < mine.size(); ++i) {
    const std::string text = stock_text(mine[i]);
    sent = channel.send_bytes({text.c_str(), kStockBytes}, "the own address");
  }
  return sent;
}

}  // namespace

Result<std::vector<StockAddress>> stock_client_exchange(SideChannel& channel,
                                                        const std::vector<StockAddress>& mine) {
  if (auto done = send_stock(channel, mine); !done) {
    return tl::make_unexpected(done.error());
  }
  auto theirs = stock_server_receive(channel, mine.size());
  if (!theirs) {
    return theirs;
  }
  if (auto done = channel.send_bytes(kStockDone, "the confirmation"); !done) {
    return tl::make_unexpected(done.error());
  }
  return theirs;
}

Result<std::vector<StockAddress>> stock_server_receive(SideChannel& channel, size_t count) {
  std::vector<StockAddress> theirs;
  while (theirs.size() < count) {
    const auto text = channel.receive_bytes(kStockBytes, "the other end's address");
    if (!text) {
      return tl::make_unexpected(text.error());
    }
    const auto address = parse_stock(*text);
    if (!address) {
      return tl::make_unexpected(address.error());
    }
    theirs.push_back(*address);
  }
  return theirs;
}

Status stock_server_reply(SideChannel& channel, const std::vector<StockAddress>& mine) {
  if (auto done = send_stock(channel, mine); !done) {
    return done;
  }
  const auto answer = channel.receive_bytes(kStockDone.size(), "the client's confirmation");
  if (!answer) {
    return tl::make_unexpected(answer.error());
  }
  if (*answer != kStockDone) {
    return failure(EPROTO, fmt::format("{} did not confirm the exchange", channel.peer()));
  }
  return {};
}

}  // namespace uroce::app
