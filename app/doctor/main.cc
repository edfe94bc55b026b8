// uroce-doctor: looks at the machine with the configuration in mind, and says what to do. It only
// reads, and runs as an ordinary user. SPDX-License-Identifier: BSD-3-Clause
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checks.h"
#include "common/args.h"
#include "common/guarded.h"
#include "common/run/session.h"

namespace {

namespace doctor = uroce::doctor;

constexpr std::string_view kProgram = "uroce-doctor";

struct Options : uroce::app::RunOptions {
  std::string root = "/";
  std::vector<std::string> peers;
};

std::optional<int> parse(int argc, char** argv, Options& options) {
  uroce::app::CommandLine line(
      {.name = std::string(kProgram),
       .description = "Checks the machine for what makes uroce fail or slow, and tells the command "
                      "that puts it right. Changes nothing.",
       .style = uroce::app::FlagStyle::tool},
      options);
  line.app().add_option("--peer", options.peers, "is this host reachable? Repeatable");
  line.add_number_into("-p,--port", "TCP port that is asked there [18515]", 1, 65535, options.port);
  line.app().add_option("--root", options.root,
                        "look at a copy of /proc, /sys and /dev below this");
  return line.parse(argc, argv);
}

/// Of the machine that is looked at, whose CPUs are not this one's.
std::optional<int> load(const Options& options, roce::Config& config) {
  if (options.root == "/") {
    return uroce::app::load_settings(kProgram, options, config);
  }
  constexpr uint32_t kMostCpus = 1024;
  roce::ConfigSources sources = uroce::app::config_sources(options);
  for (uint32_t cpu = 0; cpu < kMostCpus; ++cpu) {
    sources.cpus.push_back(cpu);
  }
  auto loaded = roce::load_config(sources);
  if (!loaded) {
    uroce::app::report_failure(kProgram, loaded.error());
    return uroce::app::kUsageError;
  }
  config = std::move(*loaded);
  return std::nullopt;
}

doctor::Findings examine(const Options& options, const roce::Config& config) {
  const doctor::System system(options.root);
  doctor::Findings findings;
  for (const auto check :
       {doctor::check_hugepages, doctor::check_memlock, doctor::check_memory, doctor::check_iommu,
        doctor::check_driver, doctor::check_numa, doctor::check_cpus, doctor::check_isolation,
        doctor::check_frequency, doctor::check_simd, doctor::check_clock, doctor::check_rights,
        doctor::check_wire, doctor::check_mtu}) {
    check(system, config, findings);
  }
  for (const std::string& peer : options.peers) {
    doctor::check_peer(peer, options.port, findings);
  }
  return findings;
}

nlohmann::ordered_json json_of(const doctor::Findings& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const doctor::Finding& finding : findings) {
    list.push_back({{"check", finding.check},
                    {"verdict", doctor::name_of(finding.verdict)},
                    {"what", finding.what},
                    {"fix", finding.fix}});
  }
  return {{"findings", list}};
}

int run(int argc, char** argv) {
  Options options;
  if (const auto code = parse(argc, argv, options)) {
    return *code;
  }
  roce::Config config;
  if (const auto code = load(options, config)) {
    return *code;
  }
  const doctor::Findings findings = examine(options, config);
  if (options.text()) {
    fmt::print("{}", doctor::text_of(findings));
  }
  if (!options.json.empty()) {
    if (const auto written = uroce::app::write_json(json_of(findings), options.json); !written) {
      return uroce::app::report_failure(kProgram, written.error());
    }
  }
  return doctor::exit_code(findings);
}

}  // namespace

int main(int argc, char** argv) {
  return uroce::app::guarded(kProgram, [&] { return run(argc, argv); });
}
