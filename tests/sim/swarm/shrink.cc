// Delta debugging over the events of a plan; the faults of frames go first, one by one.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/swarm/shrink.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string_view>

namespace roce::swarm {
namespace {

std::string without_numbers(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) {
      out += c;
    }
  }
  return out;
}

/// The list without its elements [begin, end).
std::vector<size_t> without(const std::vector<size_t>& list, size_t begin, size_t end) {
  std::vector<size_t> rest(list.begin(), list.begin() + static_cast<ptrdiff_t>(begin));
  rest.insert(rest.end(), list.begin() + static_cast<ptrdiff_t>(end), list.end());
  return rest;
}

}  // namespace

bool same_kind(const std::string& a, const std::string& b) {
  // What follows a colon names objects.
  return without_numbers(a.substr(0, a.find(':'))) == without_numbers(b.substr(0, b.find(':')));
}

size_t host_in(const std::string& violation) {
  constexpr std::string_view kHost = "host ";
  const size_t at = violation.find(kHost);
  return at == std::string::npos
             ? 0
             : std::strtoull(violation.c_str() + at + kHost.size(), nullptr, 10);
}

std::string repeated_by(const Case& c, size_t host, const std::string& rules) {
  return "build/bin/uroce-sim " + arguments_of(c) + " --host " + std::to_string(host) +
         " --rules \"" + rules + "\" --script FILE";
}

ScriptCase script_case(const Case& c, size_t host, const std::string& rules,
                       const std::string& command) {
  if (!c.simple) {
    return {{}, "it needs several connections, or engines that lag; try it with --simple"};
  }
  ScriptWriter writer(host);
  const std::string violation = run_case(c, {.script = &writer});
  const std::string seed = std::to_string(c.seed);
  const std::vector<std::string> head = {
      "What the end at host " + std::to_string(host) + " does in schedule " + seed +
          " of the simulator, as it was: " + (violation.empty() ? "no violation." : violation),
      command};
  return {writer.text("schedule_" + seed, rules, head), writer.refusal()};
}

Case shrink(const Case& failing, const Trial& trial) {
  const std::string violation = trial(failing);
  if (violation.empty()) {
    return failing;
  }
  Case best = failing;
  const auto fails = [&](const Case& c) {
    const std::string what = trial(c);
    return !what.empty() && same_kind(what, violation);
  };
  if (Case c = best; !c.simple) {
    c.simple = true;
    if (fails(c)) {
      best = c;
    }
  }
  for (size_t i = 0; i < kFaultNames.size(); ++i) {
    if (options_of(best).faults.*kFaultNames[i].share > 0) {
      Case c = best;
      c.faults.emplace_back(i, 0.0);
      if (fails(c)) {
        best = c;
      }
    }
  }
  if (!best.kept) {
    best.kept.emplace(plan_of(best).size());
    std::iota(best.kept->begin(), best.kept->end(), size_t{0});
  }
  for (size_t chunk = std::max<size_t>(best.kept->size() / 2, 1);;) {
    bool smaller = false;
    for (size_t begin = 0; begin < best.kept->size();) {
      Case c = best;
      c.kept = without(*best.kept, begin, std::min(begin + chunk, best.kept->size()));
      if (fails(c)) {
        best = c;
        smaller = true;
      } else {
        begin += chunk;
      }
    }
    if (chunk == 1 && !smaller) {
      return best;
    }
    chunk = std::max<size_t>(chunk / 2, 1);
  }
}

std::string write_script(const Case& c, const std::string& prefix, const std::string& violation,
                         const std::string& command) {
  const std::string path = prefix + ".txt";
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    return path + " cannot be written";
  }
  const Options o = options_of(c);
  std::fprintf(file, "# %s\n# repeat with: %s\n", violation.c_str(), command.c_str());
  std::fprintf(file, "# %zu hosts, %zu connections, messages up to %zu bytes, %zu events\n", o.ends,
               o.connections, o.max_message, plan_of(c).size());
  std::fprintf(file, "# timeout %d, retry_cnt %d, rnr_retry %d, window %u packets, %zu kept\n",
               o.timeout, o.retry_cnt, o.rnr_retry, o.window_packets, o.held_packets);
  for (const FaultName& fault : kFaultNames) {
    if (o.faults.*fault.share > 0) {
      std::fprintf(file, "# fault %s=%g\n", std::string(fault.name).c_str(), o.faults.*fault.share);
    }
  }
  // Flushed line by line: the case may end the process.
  std::setvbuf(file, nullptr, _IOLBF, 0);
  const auto tell = [file](Instant at, const std::string& what) {
    std::fprintf(file, "%14.3f us  %s\n", static_cast<double>(at.ns - 1'000'000'000) / 1000,
                 what.c_str());
  };
  run_case(c, {.tell = tell, .captures = prefix});
  std::fclose(file);
  return {};
}

}  // namespace roce::swarm
