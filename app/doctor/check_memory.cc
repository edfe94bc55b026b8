// Hugepages, locked memory, memory at all.
// SPDX-License-Identifier: BSD-3-Clause
#include <charconv>

#include <fmt/format.h>

#include "checks.h"

namespace uroce::doctor {
namespace {

constexpr int64_t kKib = 1024;
constexpr int64_t kMib = kKib * kKib;

struct Pages {
  int64_t free = 0;
  int64_t size_kb = 0;
  std::string folder;
};

/// The size of hugepages with the most free memory.
Pages best_pages(const System& system) {
  Pages best;
  const std::string root = "/sys/kernel/mm/hugepages";
  for (const std::string& name : system.list(root)) {
    Pages pages;
    pages.folder.append(root).append("/").append(name);
    const size_t dash = name.find('-');
    std::from_chars(name.data() + dash + 1, name.data() + name.size(), pages.size_kb);
    pages.free = system.number(pages.folder + "/free_hugepages").value_or(0);
    if (best.folder.empty() || pages.free * pages.size_kb > best.free * best.size_kb) {
      best = pages;
    }
  }
  return best;
}

int64_t memory_kb(const System& system, std::string_view name) {
  const std::string text = system.field("/proc/meminfo", name).value_or("");
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

void check_hugepages(const System& system, const roce::Config& config, Findings& findings) {
  const Pages pages = best_pages(system);
  if (pages.folder.empty()) {
    const Verdict verdict = config.eal.hugepages ? Verdict::bad : Verdict::ok;
    findings.push_back({verdict, "hugepages", "this kernel has none",
                        config.eal.hugepages ? "--set eal.hugepages=false" : ""});
    return;
  }
  const int64_t have_mb = pages.free * pages.size_kb / kKib;
  const int64_t want_mb = config.eal.memory_mb;
  const std::string have = fmt::format("{} MiB free in pages of {} KiB", have_mb, pages.size_kb);
  if (!config.eal.hugepages) {
    findings.push_back(
        {Verdict::ok, "hugepages", have + "; not used (eal.hugepages is false)", ""});
    return;
  }
  if (have_mb < want_mb) {
    const int64_t more = (want_mb * kKib + pages.size_kb - 1) / pages.size_kb;
    findings.push_back({Verdict::bad, "hugepages",
                        fmt::format("{}, and eal.memory_mb asks for {} MiB", have, want_mb),
                        fmt::format("sudo sh -c 'echo {} > {}/nr_hugepages'", more, pages.folder)});
    return;
  }
  const bool usable = system.may_use("/dev/hugepages");
  findings.push_back({usable ? Verdict::ok : Verdict::bad, "hugepages",
                      usable ? have : have + ", but this user may not write to /dev/hugepages",
                      usable ? "" : "sudo chmod 1777 /dev/hugepages"});
}

void check_memlock(const System& system, const roce::Config& config, Findings& findings) {
  const std::string text = system.read("/proc/self/limits").value_or("");
  const std::string title = "Max locked memory";
  const size_t at = text.find(title);
  if (at == std::string::npos) {
    findings.push_back({Verdict::unseen, "memlock", "/proc/self/limits cannot be read", ""});
    return;
  }
  const std::string value = text.substr(text.find_first_not_of(' ', at + title.size()), 20);
  int64_t bytes = 0;
  const bool limited =
      std::from_chars(value.data(), value.data() + value.size(), bytes).ec == std::errc();
  const bool matters =
      config.port.kind == roce::PortKind::pci || config.port.kind == roce::PortKind::af_xdp;
  if (limited && matters && bytes < int64_t{config.eal.memory_mb} * kMib) {
    findings.push_back(
        {Verdict::bad, "memlock",
         fmt::format("{} KiB may be locked, and port.kind {} locks {} MiB", bytes / kKib,
                     roce::name_of(config.port.kind), config.eal.memory_mb),
         "sudo prlimit --memlock=unlimited --pid $$"});
    return;
  }
  findings.push_back({Verdict::ok, "memlock",
                      limited ? fmt::format("{} KiB may be locked; {} needs none", bytes / kKib,
                                            matters ? "no more is asked for, so it" : "this port")
                              : "unlimited",
                      ""});
}

void check_memory(const System& system, const roce::Config& config, Findings& findings) {
  const int64_t free_mb = memory_kb(system, "MemAvailable") / kKib;
  if (free_mb == 0) {
    findings.push_back({Verdict::unseen, "memory", "/proc/meminfo cannot be read", ""});
    return;
  }
  const bool enough = config.eal.hugepages || free_mb > int64_t{config.eal.memory_mb};
  findings.push_back(
      {enough ? Verdict::ok : Verdict::bad, "memory",
       fmt::format("{} MiB available, eal.memory_mb asks for {}", free_mb, config.eal.memory_mb),
       enough ? "" : fmt::format("--set eal.memory_mb={}", free_mb / 2)});
}

}  // namespace uroce::doctor
