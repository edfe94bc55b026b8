// Flags over CLI11, whose exceptions end here; its multi-line complaints become one line each.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/args.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <limits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "roce/text.h"

namespace uroce::app {
namespace {

constexpr std::string_view kVersion = "uroce " UROCE_VERSION;

// The name a flag is best known by: its first long one.
std::string first_long(const std::string& names) {
  const size_t at = names.find("--");
  return at == std::string::npos ? names : names.substr(at, names.find(',', at) - at);
}

}  // namespace

void refuse(std::string_view flag, std::string_view value, std::string_view allowed) {
  throw CLI::ValidationError(fmt::format("{} {}: must be {}", flag, value, allowed));
}

std::optional<uint64_t> parse_amount(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value, base);
  if (error != std::errc()) {
    return std::nullopt;
  }
  std::string_view suffix(end, static_cast<size_t>(text.end() - end));
  if (suffix.empty()) {
    return value;
  }
  constexpr std::string_view kLetters = "KMG";
  const size_t power =
      kLetters.find(static_cast<char>(std::toupper(static_cast<unsigned char>(suffix.front()))));
  suffix.remove_prefix(1);
  if (power == std::string_view::npos || base == 16 || !(suffix.empty() || suffix == "iB")) {
    return std::nullopt;
  }
  const auto shift = static_cast<unsigned>(10 * (power + 1));
  if (value > (std::numeric_limits<uint64_t>::max() >> shift)) {
    return std::nullopt;
  }
  return value << shift;
}

CommandLine::CommandLine(Program program, RunOptions& options)
    : program_(std::move(program)),
      options_(options),
      app_(std::make_unique<CLI::App>(program_.description, program_.name)) {
  options.size = program_.size;
  options.iterations = program_.iterations;
  options.connection.mtu = program_.mtu;
  options.connection.recv_depth = program_.recv_depth;
  app_->allow_extras();  // looked at in parse(), for a better message
  app_->get_formatter()->column_width(36);
  if (program_.style == FlagStyle::tool) {
    add_config_flags();
    add_json();
  } else {
    app_->add_option("host", options_.host,
                     "the server's name or address; without it, be the server");
    add_run_flags();
    add_connection_flags();
    if (program_.style == FlagStyle::ibverbs) {
      add_ibverbs_flags();
    } else {
      add_perftest_flags();
    }
    add_uroce_flags();
  }
  app_->set_version_flag(program_.style == FlagStyle::perftest ? "-V,--version" : "--version",
                         std::string(kVersion));
}

CommandLine::~CommandLine() = default;

CLI::Option* CommandLine::add_number(const std::string& names, const std::string& help,
                                     uint64_t low, uint64_t high,
                                     std::function<void(uint64_t)> store) {
  const auto take = [flag = first_long(names), low, high,
                     store = std::move(store)](const std::string& text) {
    const auto value = parse_amount(text);
    if (!value || *value < low || *value > high) {
      refuse(flag, text, fmt::format("{} to {}", low, high));
    }
    store(*value);
  };
  return app_->add_option_function<std::string>(names, take, help)->type_name("N");
}

CLI::Option* CommandLine::add_choice(const std::string& names, const std::string& help,
                                     std::vector<std::string> words,
                                     std::function<void(const std::string&)> store) {
  const std::string list = fmt::format("{}", fmt::join(words, ", "));
  const auto take = [flag = first_long(names), words = std::move(words), list,
                     store = std::move(store)](const std::string& text) {
    if (std::find(words.begin(), words.end(), text) == words.end()) {
      refuse(flag, text, fmt::format("one of {}{}", list, roce::did_you_mean(text, words)));
    }
    store(text);
  };
  return app_->add_option_function<std::string>(names, take, fmt::format("{}: {}", help, list))
      ->type_name("WORD");
}

std::string CommandLine::complaint(std::string_view what) const {
  std::string line(what);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return fmt::format("{}: {}; see {} --help", program_.name, line, program_.name);
}

std::vector<std::string> CommandLine::flag_names() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options()) {
    if (option->get_group().empty()) {
      continue;  // refused
    }
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
    for (const std::string& name : option->get_snames()) {
      names.push_back("-" + name);
    }
  }
  return names;
}

/// A function for bash that offers the flags, and files after those that take one.
std::string CommandLine::completion() const {
  std::string name = "_" + program_.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return fmt::format(
      "{0}() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}\n"
      "  case $before in\n"
      "    --config | --capture | --flight-recorder | --plot | --out_json_file)\n"
      "      mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;\n"
      "    *) mapfile -t COMPREPLY < <(compgen -W '{1}' -- \"$word\") ;;\n"
      "  esac\n}}\ncomplete -F {0} {2}\n",
      name, fmt::join(flag_names(), " "), program_.name);
}

std::string CommandLine::unknown(const std::vector<std::string>& rest) const {
  const auto flag = std::find_if(rest.begin(), rest.end(),
                                 [](const std::string& s) { return s.starts_with('-'); });
  if (flag != rest.end()) {
    const std::string name = flag->substr(0, flag->find('='));
    return complaint(
        fmt::format("unknown flag {}{}", name, roce::did_you_mean(name, flag_names())));
  }
  if (program_.style == FlagStyle::tool) {
    return complaint(fmt::format("unknown argument {}", rest.front()));
  }
  const std::string_view hint =
      options_.json == "-" ? " (a file for JSON is given as --json=FILE)" : "";
  return complaint(
      fmt::format("one host at most, but {} came after {}{}", rest.front(), options_.host, hint));
}

std::string CommandLine::help() const {
  std::string text = app_->help();
  // CLI11 shows a flag's optional value in its own notation.
  constexpr std::string_view kTheirs = "--json{-}    ";
  constexpr std::string_view kOurs = "--json[=FILE]";
  const size_t at = text.find(kTheirs);
  return at == std::string::npos ? text : text.replace(at, kTheirs.size(), kOurs);
}

/// Defaults that depend on other flags; what goes wrong with flags together.
std::string CommandLine::settle() {
  const Operation operation = options_.operation;
  const Transport transport = options_.connection.transport;
  options_.size_given = program_.style != FlagStyle::tool && app_->count("--size") > 0;
  if (is_atomic(operation)) {
    if (options_.size_given && options_.size != kAtomicSize) {
      return fmt::format("--size {}: --op {} moves {} bytes; leave out --size", options_.size,
                         name_of(operation), kAtomicSize);
    }
    options_.size = kAtomicSize;
  }
  if (transport == Transport::ud && operation != Operation::send) {
    return fmt::format("--op {}: UD carries SENDs only; use --op send, or RC or UC",
                       name_of(operation));
  }
  if (transport == Transport::uc && fetches(operation)) {
    return fmt::format("--op {}: UC carries SENDs and WRITEs only; use one of them, or RC",
                       name_of(operation));
  }
  if (options_.connection.use_srq && !takes_receive(operation)) {
    return fmt::format("--use-srq: --op {} takes no receives; leave it out", name_of(operation));
  }
  return {};
}

ParseOutcome CommandLine::parse(const std::vector<std::string>& arguments) {
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
    app_->parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return {.exit_code = 0, .output = help(), .error = {}};
  } catch (const CLI::Success& success) {
    if (dynamic_cast<const CLI::CallForVersion*>(&success) == nullptr) {
      return {.exit_code = 0, .output = completion(), .error = {}};
    }
    return {.exit_code = 0, .output = std::string(success.what()) + "\n", .error = {}};
  } catch (const CLI::Error& error) {
    return {.exit_code = kUsageError, .output = {}, .error = complaint(error.what())};
  }
  if (const auto rest = app_->remaining(); !rest.empty()) {
    return {.exit_code = kUsageError, .output = {}, .error = unknown(rest)};
  }
  if (const std::string wrong = settle(); !wrong.empty()) {
    return {.exit_code = kUsageError, .output = {}, .error = complaint(wrong)};
  }
  return {};
}

std::optional<int> CommandLine::parse(int argc, const char* const* argv) {
  const ParseOutcome outcome = parse(std::vector<std::string>(argv + (argc > 0), argv + argc));
  std::fputs(outcome.output.c_str(), stdout);
  if (!outcome.error.empty()) {
    std::fprintf(stderr, "%s\n", outcome.error.c_str());
  }
  return outcome.exit_code;
}

}  // namespace uroce::app
