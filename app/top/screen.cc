// Lines about a process.
// SPDX-License-Identifier: BSD-3-Clause
#include "screen.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace uroce::top {
namespace {

uint64_t number(const Json& json, const char* name) {
  return json.is_object() && json.contains(name) && json.at(name).is_number()
             ? json.at(name).get<uint64_t>()
             : 0;
}

std::string word(const Json& json, const char* name) {
  return json.is_object() && json.contains(name) && json.at(name).is_string()
             ? json.at(name).get<std::string>()
             : "?";
}

double per_second(const Json& now, const Json& before, const char* name, double seconds) {
  const uint64_t a = number(before, name);
  const uint64_t b = number(now, name);
  return seconds > 0 && b >= a ? static_cast<double>(b - a) / seconds : 0;
}

const Json* find_qp(const Sample& sample, uint64_t qpn) {
  const auto at = std::find_if(sample.qps.begin(), sample.qps.end(),
                               [qpn](const Json& qp) { return number(qp, "qpn") == qpn; });
  return at == sample.qps.end() ? nullptr : &*at;
}

std::string qp_line(const Json& qp, const Json& before, double seconds) {
  return fmt::format("  {:>8}  {:<4} {:<5} {:>9} {:>9} {:>12.0f} {:>12.0f} {:>8}\n",
                     fmt::format("0x{:06x}", number(qp, "qpn")), word(qp, "type"),
                     word(qp, "state"), number(qp, "in_flight"), number(qp, "pmtu"),
                     per_second(qp, before, "retransmitted", seconds),
                     per_second(qp, before, "acks_sent", seconds), number(qp, "timeouts"));
}

std::string drop_line(const Json& drops) {
  std::string text;
  for (const auto& [name, value] : drops.items()) {
    if (value.is_number() && value.get<uint64_t>() > 0) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value.get<uint64_t>());
    }
  }
  return text.empty() ? "none" : text;
}

}  // namespace

roce::Result<Sample> take_sample(Client& client, size_t most_qps) {
  Sample sample;
  const std::array questions = {std::pair<const char*, Json*>{"/roce/devices", &sample.device},
                                std::pair<const char*, Json*>{"/roce/ports", &sample.port},
                                std::pair<const char*, Json*>{"/roce/counters", &sample.counters},
                                std::pair<const char*, Json*>{"/roce/drops", &sample.drops}};
  for (const auto& [command, into] : questions) {
    auto answer = client.ask(command);
    if (!answer) {
      return tl::make_unexpected(answer.error());
    }
    *into = std::move(*answer);
  }
  for (uint64_t i = 0; i < std::max<uint64_t>(number(sample.device, "lcores"), 1); ++i) {
    auto lcore = client.ask(fmt::format("/roce/lcores,{}", i));
    if (!lcore) {
      return tl::make_unexpected(lcore.error());
    }
    sample.lcores.push_back(std::move(*lcore));
  }
  auto list = client.ask("/roce/qps");
  if (!list) {
    return tl::make_unexpected(list.error());
  }
  sample.all_qps = list->is_array() ? list->size() : 0;
  for (size_t i = 0; i < std::min(sample.all_qps, most_qps); ++i) {
    auto qp = client.ask(fmt::format("/roce/qp,{}", list->at(i).get<uint64_t>()));
    if (!qp) {
      return tl::make_unexpected(qp.error());
    }
    sample.qps.push_back(std::move(*qp));
  }
  return sample;
}

std::string show(const Client& client, const Sample& now, const Sample& before) {
  if (now.device.is_object() && now.device.contains("error")) {
    return fmt::format("process {}: {}\n", client.pid(), word(now.device, "error"));
  }
  const uint64_t then_ns = before.lcores.empty() ? 0 : number(before.lcores[0], "time_ns");
  const uint64_t now_ns = now.lcores.empty() ? 0 : number(now.lcores[0], "time_ns");
  const double span = then_ns == 0 ? 0 : static_cast<double>(now_ns - then_ns) / 1e9;
  std::string text =
      fmt::format("process {}  {} on {}, drive {}, link {}\n", client.pid(),
                  word(now.device, "name"), word(now.port, "name"), word(now.device, "drive"),
                  number(now.port, "link_up") != 0 ? "up" : "down");
  for (size_t i = 0; i < now.lcores.size(); ++i) {
    const Json& lcore = now.lcores[i];
    const Json& old = i < before.lcores.size() ? before.lcores[i] : Json::object();
    text += fmt::format("  lcore CPU {}: {} % busy, {:.2f} M turns/s\n", number(lcore, "cpu"),
                        number(lcore, "busy_percent_since_last_asked"),
                        per_second(lcore, old, "turns", span) / 1e6);
  }
  text +=
      fmt::format("  packets/s: {:.0f} in, {:.0f} out; {:.0f} sent again; missed {}, refused {}\n",
                  per_second(now.counters, before.counters, "rcvd_packets", span),
                  per_second(now.counters, before.counters, "sent_packets", span),
                  per_second(now.counters, before.counters, "retransmitted", span),
                  number(now.port, "rx_missed"), number(now.port, "tx_refused"));
  text += fmt::format("  drops: {}\n", drop_line(now.drops));
  text += fmt::format("  {} queue pairs, {} completion queues, {} memory regions\n", now.all_qps,
                      number(now.device, "cqs"), number(now.device, "mrs"));
  if (!now.qps.empty()) {
    text += fmt::format("  {:>8}  {:<4} {:<5} {:>9} {:>9} {:>12} {:>12} {:>8}\n", "QPN", "type",
                        "state", "in flight", "path MTU", "resent/s", "ACKs out/s", "timeouts");
  }
  for (const Json& qp : now.qps) {
    const Json* const old = find_qp(before, number(qp, "qpn"));
    text += qp_line(qp, old != nullptr ? *old : Json::object(), old != nullptr ? span : 0);
  }
  return text;
}

}  // namespace uroce::top
