// The command line that the programs share: ibverbs-utils' flags for the pingpongs, perftest's for
// the others, and uroce's own. A program adds what only it has, then parses.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/options.h"

// NOLINTNEXTLINE(readability-identifier-naming): the library's name
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace uroce::app {

struct KnownFlag;

/// Whose flags a program speaks where the two differ: -g and -x for the GID index, -c. `tool`: no
/// run at all, settings and --json only.
enum class FlagStyle : uint8_t { ibverbs, perftest, tool };

/// What a program is, with its defaults.
struct Program {
  std::string name;
  std::string description;
  FlagStyle style = FlagStyle::perftest;
  uint64_t size = 65536;  ///< default of -s
  uint64_t max_size = 8388608;
  uint64_t iterations = 1000;  ///< default of -n
  uint32_t mtu = 0;            ///< default of -m; 0: the largest the port carries
  uint32_t recv_depth = 512;   ///< default of -r
  uint32_t max_recv_depth = 16384;
};

/// What parsing came to. When `exit_code` is set the program prints and ends.
struct ParseOutcome {
  std::optional<int> exit_code;
  std::string output;  ///< for stdout: help, version
  std::string error;   ///< for stderr: one line
};

/// Exit code for a wrong command line.
inline constexpr int kUsageError = 2;

/// Refuses the value of a flag, from inside CommandLine::parse(), with what it must be.
[[noreturn]] void refuse(std::string_view flag, std::string_view value, std::string_view allowed);

class CommandLine {
 public:
  /// `options`, which must outlive this, get the program's defaults now and the flags' values in
  /// parse().
  CommandLine(Program program, RunOptions& options);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// For the program's own flags, before parse().
  CLI::App& app() { return *app_; }

  /// Adds a flag that takes a whole number of `low` to `high`, plain or with K, M or G (powers of
  /// 1024), or hexadecimal after 0x. `names` as in CLI11: "-s,--size".
  CLI::Option* add_number(const std::string& names, const std::string& help, uint64_t low,
                          uint64_t high, std::function<void(uint64_t)> store);

  /// The same into a variable of any width that holds `high`.
  template <class T>
  CLI::Option* add_number_into(const std::string& names, const std::string& help, uint64_t low,
                               uint64_t high, T& target) {
    return add_number(names, help, low, high,
                      [&target](uint64_t value) { target = static_cast<T>(value); });
  }

  /// Adds a flag that takes one of `words`.
  CLI::Option* add_choice(const std::string& names, const std::string& help,
                          std::vector<std::string> words,
                          std::function<void(const std::string&)> store);

  /// Parses arguments without the program's name.
  ParseOutcome parse(const std::vector<std::string>& arguments);

  /// The same for main(): prints what is to be printed. An exit code when the program must end.
  std::optional<int> parse(int argc, const char* const* argv);

 private:
  // run_flags.cc
  void add_run_flags();
  void add_operation();
  void add_connection_flags();
  void add_gid_flags(const std::string& names);
  void add_transport(const std::string& names, const std::vector<std::string>& words);
  void add_ibverbs_flags();
  void add_perftest_flags();
  void add_uroce_flags();
  void add_json();
  void add_known(std::span<const KnownFlag> idle, std::span<const KnownFlag> refused);
  std::string completion() const;
  void add_config_flags();
  std::string settle();
  std::string help() const;
  std::string complaint(std::string_view what) const;
  std::vector<std::string> flag_names() const;
  std::string unknown(const std::vector<std::string>& rest) const;

  Program program_;
  RunOptions& options_;
  std::unique_ptr<CLI::App> app_;
};

/// Reads "4096", "64K", "1M", "0x10"; nothing for anything else or beyond 64 bits.
std::optional<uint64_t> parse_amount(std::string_view text);

}  // namespace uroce::app
