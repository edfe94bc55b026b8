// The flags that the programs share, by subject.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <limits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "common/args.h"
#include "common/perftest_flags.h"

namespace uroce::app {
namespace {

const std::string kOwnGroup = "uroce's own";

}  // namespace

void CommandLine::add_run_flags() {
  add_number_into("-p,--port", "TCP port of the side channel [18515]", 1, 65535, options_.port);
  app_->add_option("-d,--ib-dev", options_.device, "device [the first]");
  add_number("-i,--ib-port", "port of the device [1]", 1, 1, [](uint64_t) {});
  add_number_into("-s,--size",
                  fmt::format("bytes of a message, also 64K or 1M [{}]", options_.size), 1,
                  program_.max_size, options_.size);
  add_number_into("-n,--iters", fmt::format("messages to exchange [{}]", options_.iterations), 1,
                  uint64_t{1} << 40U, options_.iterations);
  add_number_into("-r,--rx-depth",
                  fmt::format("receives posted ahead [{}]", options_.connection.recv_depth), 1,
                  program_.max_recv_depth, options_.connection.recv_depth);
  add_number_into("-q,--qp,--num-qp", "queue pairs [1]", 1, 1024, options_.qps);
  add_operation();
}

void CommandLine::add_operation() {
  std::vector<std::string> words;
  words.reserve(kOperations.size());
  for (const Operation operation : kOperations) {
    words.emplace_back(name_of(operation));
  }
  const auto take = [this](const std::string& word) {
    for (const Operation operation : kOperations) {
      options_.operation = name_of(operation) == word ? operation : options_.operation;
    }
  };
  add_choice("--op", "what is measured [send]", std::move(words), take);
}

void CommandLine::add_connection_flags() {
  ConnectionOptions& connection = options_.connection;
  const auto take_mtu = [this](const std::string& text) {
    const auto value = parse_amount(text);
    if (!value || *value < 256 || *value > 4096 || (*value & (*value - 1)) != 0) {
      refuse("--mtu", text, "one of 256, 512, 1024, 2048, 4096");
    }
    options_.connection.mtu = static_cast<uint32_t>(*value);
  };
  const std::string fallback =
      program_.mtu == 0 ? "the largest the port carries" : fmt::format("{}", program_.mtu);
  app_->add_option_function<std::string>("-m,--mtu", take_mtu,
                                         fmt::format("path MTU, bytes [{}]", fallback))
      ->type_name("N");
  add_number_into("-u,--qp-timeout", "wait for an ACK: 4.096 us * 2^N, 0: for ever [14]", 0, 31,
                  connection.timeout);
  add_number_into("--retry_count", "retries after such a wait [7]", 0, 7, connection.retry_count);
  add_number_into("--rnr_retry", "retries while the receiver is not ready, 7: for ever [7]", 0, 7,
                  connection.rnr_retry);
  app_->add_flag("--use-srq", connection.use_srq,
                 "receive all queue pairs' messages from one shared queue");
  app_->add_flag("-e,--events", connection.events, "wait for completion events instead of polling");
}

/// `words` in the order of Transport.
void CommandLine::add_transport(const std::string& names, const std::vector<std::string>& words) {
  add_choice(names, fmt::format("transport [{}]", words.front()), words,
             [this, words](const std::string& word) {
               const auto at = std::find(words.begin(), words.end(), word);
               options_.connection.transport = static_cast<Transport>(at - words.begin());
             });
}

void CommandLine::add_gid_flags(const std::string& names) {
  CLI::Option* const index = add_number_into(names, "index of the own GID [the first IPv4 one]", 0,
                                             255, options_.connection.gid_index);
  app_->add_flag("--ipv6,--ipv6-addr", options_.connection.ipv6,
                 "the first IPv6 GID, link-local if need be")
      ->excludes(index);
}

/// Flags of others: those without an effect here, and those that are refused with the reason.
void CommandLine::add_known(std::span<const KnownFlag> idle, std::span<const KnownFlag> refused) {
  constexpr std::string_view kIdleGroup = "accepted without an effect";
  const auto add = [this](const KnownFlag& flag, std::string group, const auto& take) {
    const std::string names(flag.names);
    const std::string help(flag.reason);
    (flag.takes_value ? app_->add_option_function<std::string>(names, take, help)->type_name("X")
                      : app_->add_flag_function(
                            names, [take](int64_t) { take({}); }, help))
        ->group(group);
  };
  for (const KnownFlag& flag : idle) {
    add(flag, std::string(kIdleGroup), [](const std::string&) {});
  }
  for (const KnownFlag& flag : refused) {
    add(flag, "", [&flag](const std::string&) {
      throw CLI::ValidationError(fmt::format(
          "{} is not in uroce: {}", flag.names.substr(flag.names.find("--")), flag.reason));
    });
  }
}

void CommandLine::add_ibverbs_flags() {
  add_gid_flags("-g,--gid-idx,--gid-index");
  add_number_into("-l,--sl", "service level [0]", 0, 7, options_.connection.service_level);
  app_->add_flag("-c,--chk", options_.validate, "check every byte that arrives");
  add_known(idle_ibverbs_flags(), refused_ibverbs_flags());
  add_transport("--transport", {"rc", "uc", "ud"});
}

void CommandLine::add_perftest_flags() {
  add_gid_flags("-x,--gid-index,--gid-idx");
  add_transport("-c,--connection", {"RC", "UC", "UD"});
  add_number_into("-D,--duration", "run for this many seconds instead of -n", 1, 1000000,
                  options_.duration_s);
  add_number_into("-S,--sl", "service level [0]", 0, 7, options_.connection.service_level);
  add_number_into("--tclass,-T,--tos", "traffic class [0]", 0, 255,
                  options_.connection.traffic_class);
  add_number_into("--hop_limit,-L", "hop limit, or TTL [64]", 0, 255,
                  options_.connection.hop_limit);
  add_number_into("--flow_label", "IPv6 flow label [0]", 0, 0xfffff,
                  options_.connection.flow_label);
  add_number_into("-I,--inline_size", "messages up to this size are copied when posted [0]", 0, 512,
                  options_.connection.inline_size);
  add_number("--pkey_index", "index of the P_Key [0]", 0, 0, [](uint64_t) {});
  add_known(idle_perftest_flags(), refused_perftest_flags());
  app_->add_flag("--data_validation", options_.validate, "check every byte that arrives");
}

void CommandLine::add_uroce_flags() {
  add_config_flags();
  add_json();
  app_->add_option("--plot", options_.plot, "draw the result into this *.svg or *.png, by gnuplot")
      ->type_name("FILE")
      ->group(kOwnGroup);
  add_number("--start-psn", "first PSN to send [random]", 0, 0xffffff, [this](uint64_t v) {
    options_.connection.start_psn = static_cast<uint32_t>(v);
  })->group(kOwnGroup);
  add_number("--seed", "seed of what is drawn at random [random]", 0,
             std::numeric_limits<uint64_t>::max(), [this](uint64_t v) { options_.seed = v; })
      ->group(kOwnGroup);
}

void CommandLine::add_json() {
  app_->add_option_function<std::string>(
          "--completion", [](const std::string&) { throw CLI::Success(); },
          "print the shell's completion of this program's flags, then end: bash")
      ->type_name("SHELL")
      ->group(kOwnGroup);
  app_->add_flag("--json{-}", options_.json, "the result as JSON, to stdout or to --json=FILE")
      ->group(kOwnGroup);
}

void CommandLine::add_config_flags() {
  app_->add_option("--config", options_.config_file, "TOML file of settings, see config/")
      ->type_name("FILE")
      ->group(kOwnGroup);
  const auto take_setting = [this](const std::vector<std::string>& settings) {
    for (const std::string& setting : settings) {
      const size_t equals = setting.find('=');
      if (equals == std::string::npos || equals == 0) {
        refuse("--set", setting, "KEY=VALUE, like port.mtu=1500; --show-config lists the keys");
      }
      const std::string key = setting.substr(0, equals);
      options_.config_flags.push_back({key, setting.substr(equals + 1), "--set " + key});
    }
  };
  app_->add_option_function<std::vector<std::string>>("--set", take_setting,
                                                      "one setting, like port.mtu=1500; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->group(kOwnGroup);
  app_->add_flag("--show-config", options_.show_config,
                 "print all settings and where each came from, then end")
      ->group(kOwnGroup);
  for (const roce::ConfigKey& key : roce::config_keys()) {
    if (key.flag.empty()) {
      continue;
    }
    const auto take = [this, &key](const std::string& text) {
      options_.config_flags.push_back({std::string(key.path), text, std::string(key.flag)});
    };
    app_->add_option_function<std::string>(std::string(key.flag), take, std::string(key.help))
        ->type_name("TEXT")
        ->group(kOwnGroup);
  }
}

}  // namespace uroce::app
