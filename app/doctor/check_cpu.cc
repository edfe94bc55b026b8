// CPUs: how many, whose, how fast, with which instructions and which clock.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>

#include <fmt/format.h>

#include "checks.h"

namespace uroce::doctor {
namespace {

constexpr std::string_view kCpus = "/sys/devices/system/cpu";

bool has_flag(const std::string& flags, std::string_view flag) {
  return fmt::format(" {} ", flags).find(fmt::format(" {} ", flag)) != std::string::npos;
}

std::string cpu_flags(const System& system) {
  return system.field("/proc/cpuinfo", "flags").value_or("");
}

}  // namespace

void check_cpus(const System& system, const roce::Config& config, Findings& findings) {
  const std::string online = system.read(fmt::format("{}/online", kCpus)).value_or("");
  const std::string allowed =
      system.field("/proc/self/status", "Cpus_allowed_list").value_or(online);
  if (!in_cpu_list(allowed, config.eal.cpu)) {
    findings.push_back(
        {Verdict::bad, "cpu",
         fmt::format("eal.cpu is {}, and this process may use {}", config.eal.cpu, allowed),
         fmt::format("--set eal.cpu={}", std::atoi(allowed.c_str()))});
    return;
  }
  const bool single = allowed.find_first_of("-,") == std::string::npos;
  findings.push_back(
      {single ? Verdict::slow : Verdict::ok, "cpu",
       fmt::format("CPU {} polls, of those allowed, {}{}", config.eal.cpu, allowed,
                   single ? "; two ends on this machine share one" : ""),
       single ? "run the other end on another machine, or allow more CPUs: taskset" : ""});
}

void check_isolation(const System& system, const roce::Config& config, Findings& findings) {
  const auto isolated = system.read(fmt::format("{}/isolated", kCpus));
  if (!isolated) {
    findings.push_back(
        {Verdict::unseen, "isolation", "the kernel does not tell isolated CPUs", ""});
    return;
  }
  if (in_cpu_list(*isolated, config.eal.cpu)) {
    findings.push_back(
        {Verdict::ok, "isolation", fmt::format("CPU {} is isolated", config.eal.cpu), ""});
    return;
  }
  findings.push_back(
      {Verdict::slow, "isolation",
       fmt::format("CPU {} is shared with other programs, which shows in the high percentiles",
                   config.eal.cpu),
       fmt::format("add isolcpus={0} nohz_full={0} rcu_nocbs={0} to GRUB_CMDLINE_LINUX in "
                   "/etc/default/grub, then: sudo update-grub && sudo reboot",
                   config.eal.cpu)});
}

void check_frequency(const System& system, const roce::Config& config, Findings& findings) {
  const std::string file = fmt::format("{}/cpu{}/cpufreq/scaling_governor", kCpus, config.eal.cpu);
  const auto governor = system.read(file);
  if (!governor) {
    findings.push_back({Verdict::unseen, "frequency",
                        "the kernel does not control the clock (a virtual machine?)", ""});
    return;
  }
  const bool fine = *governor == "performance";
  findings.push_back({fine ? Verdict::ok : Verdict::slow, "frequency",
                      fmt::format("the governor of CPU {} is {}", config.eal.cpu, *governor),
                      fine ? "" : fmt::format("sudo sh -c 'echo performance > {}'", file)});
}

void check_simd(const System& system, const roce::Config& config, Findings& findings) {
  const std::string flags = cpu_flags(system);
  if (flags.empty()) {
    findings.push_back({Verdict::unseen, "simd", "/proc/cpuinfo has no flags", ""});
    return;
  }
  const bool wide = has_flag(flags, "avx512f") && has_flag(flags, "avx512bw") &&
                    has_flag(flags, "avx512vl") && has_flag(flags, "avx512dq");
  const bool clmul = has_flag(flags, "pclmulqdq") && has_flag(flags, "sse4_2");
  const std::string_view kernel = wide && has_flag(flags, "vpclmulqdq") && has_flag(flags, "bmi2")
                                      ? "512-bit carry-less multiplication"
                                  : clmul ? "128-bit carry-less multiplication"
                                          : "a table, which is slow";
  const std::string_view rings = !wide ? "without 512-bit vectors"
                                 : config.eal.wide_simd
                                     ? "with 512-bit vectors"
                                     : "without 512-bit vectors, since eal.wide_simd is false";
  const bool held_back = wide && !config.eal.wide_simd;
  findings.push_back({clmul && !held_back ? Verdict::ok : Verdict::slow, "simd",
                      fmt::format("ICRC by {}; DPDK's rings {}", kernel, rings),
                      held_back ? "--set eal.wide_simd=true" : ""});
}

void check_clock(const System& system, const roce::Config& /*config*/, Findings& findings) {
  const std::string flags = cpu_flags(system);
  const std::string folder = "/sys/devices/system/clocksource/clocksource0";
  const std::string source = system.read(folder + "/current_clocksource").value_or("unknown");
  if (!has_flag(flags, "constant_tsc") || !has_flag(flags, "nonstop_tsc")) {
    findings.push_back({Verdict::slow, "clock",
                        "the time stamp counter is not constant; measured times may be wrong", ""});
    return;
  }
  const bool fine = source == "tsc" || source == "kvm-clock";
  findings.push_back(
      {fine ? Verdict::ok : Verdict::slow, "clock",
       fmt::format("constant time stamp counter, the kernel's clock is {}", source),
       fine ? "" : fmt::format("sudo sh -c 'echo tsc > {}/current_clocksource'", folder)});
}

}  // namespace uroce::doctor
