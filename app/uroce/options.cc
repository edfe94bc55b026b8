// Flags of `uroce run`, and where they end and the program begins.
// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <algorithm>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "common/args.h"
#include "help.h"
#include "roce/address_text.h"
#include "roce/text.h"

namespace uroce::launcher {
namespace {

constexpr std::string_view kSeeHelp = "see uroce run --help";

int complain(std::string_view what) {
  std::string line(what);
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::fprintf(stderr, "uroce: %s; %.*s\n", line.c_str(), static_cast<int>(kSeeHelp.size()),
               kSeeHelp.data());
  return app::kUsageError;
}

/// An address without its network's length gets that of a network of two nodes and some more.
roce::ConfigFlag flag_of_address(const std::string& text) {
  const bool has_length = text.find('/') != std::string::npos;
  if (roce::parse_ipv4_prefix(text)) {
    return {"address.ipv4", has_length ? text : text + "/24", "--gid-ip"};
  }
  if (roce::parse_ipv6_prefix(text)) {
    return {"address.ipv6", has_length ? text : text + "/64", "--gid-ip"};
  }
  app::refuse("--gid-ip", text, "an IPv4 or IPv6 address, like 192.0.2.7 or 2001:db8::7/64");
}

roce::ConfigFlag flag_of_setting(const std::string& setting) {
  const size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0) {
    app::refuse("--set", setting, "KEY=VALUE, like port.mtu=1500");
  }
  const std::string key = setting.substr(0, equals);
  return {key, setting.substr(equals + 1), "--set " + key};
}

void add_flags(CLI::App& run, Options& options) {
  run.add_option("--config", options.config_file);
  const auto add_setting = [&run, &options](const std::string& flag, const std::string& key) {
    run.add_option_function<std::string>(flag, [&options, flag, key](const std::string& value) {
      options.flags.push_back({key, value, flag});
    });
  };
  add_setting("--node", "port.side");
  add_setting("--fault", "wrap.fault");
  add_setting("--capture", "wrap.capture");
  run.add_option_function<std::string>("--gid-ip", [&options](const std::string& text) {
    options.flags.push_back(flag_of_address(text));
  });
  run.add_option_function<std::vector<std::string>>(
         "--set",
         [&options](const std::vector<std::string>& settings) {
           for (const std::string& setting : settings) {
             options.flags.push_back(flag_of_setting(setting));
           }
         })
      ->allow_extra_args(false);
}

std::string unknown_flag(const CLI::App& run, const std::string& flag) {
  std::vector<std::string> names;
  for (const CLI::Option* option : run.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  const std::string name = flag.substr(0, flag.find('='));
  return fmt::format("unknown flag {}{}", name, roce::did_you_mean(name, names));
}

std::optional<int> parse_run(const std::vector<std::string>& arguments, Options& options) {
  // What follows the first "--" is never looked at.
  const auto mark = std::find(arguments.begin(), arguments.end(), "--");
  CLI::App run("", "uroce run");
  run.prefix_command();
  add_flags(run, options);
  try {
    run.parse(std::vector<std::string>(std::make_reverse_iterator(mark), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    std::fwrite(kHelp.data(), 1, kHelp.size(), stdout);
    return 0;
  } catch (const CLI::Error& error) {
    return complain(error.what());
  }
  options.program = run.remaining();
  if (!options.program.empty()) {
    if (options.program.front().starts_with('-')) {
      return complain(unknown_flag(run, options.program.front()));
    }
    // The program came without the mark: this one is the program's own.
    options.program.insert(options.program.end(), mark, arguments.end());
  } else if (mark != arguments.end()) {
    options.program.assign(mark + 1, arguments.end());
  }
  if (options.program.empty()) {
    return complain("no program is named");
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> parse(const std::vector<std::string>& arguments, Options& options) {
  if (arguments.empty()) {
    return complain("no command is named; the only one is run");
  }
  const std::string& command = arguments.front();
  if (command == "-h" || command == "--help") {
    std::fwrite(kHelp.data(), 1, kHelp.size(), stdout);
    return 0;
  }
  if (command == "--version") {
    std::puts("uroce " UROCE_VERSION);
    return 0;
  }
  if (command != "run") {
    return complain(fmt::format("unknown command {}; the only one is run", command));
  }
  return parse_run({arguments.begin() + 1, arguments.end()}, options);
}

}  // namespace uroce::launcher
