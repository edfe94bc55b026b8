// uroce-sim: runs schedules of the simulator, repeats one, shrinks one that fails.
// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "sim/swarm/batch.h"
#include "sim/swarm/commit.h"
#include "sim/swarm/counts.h"
#include "sim/swarm/shrink.h"

namespace roce::swarm {
namespace {

constexpr const char* kHelp =
    R"(usage: uroce-sim [OPTION]...
Runs whole endpoints on a simulated network in virtual time, and judges them by a model.
One schedule follows from one seed.

  --seed S             first seed (1)
  --schedules N        how many, from that seed on (1)
  --jobs N             processes (1)
  --failures N         end after so many violations (1)
  --fault NAME=SHARE   set the share of a fault, 0..1; any number of times:
                       loss burst duplicate reorder delay corrupt truncate forge
                       partition port_full pool_empty clock_jump starvation
                       restart destroy deregister
  --insert KIND@N      a further event before event N: destroy, deregister, restart, ...
  --sweep KIND         each schedule once for each place such an event can have
  --events N,N,...     only these events of the plan
  --verbose            say what happens
  --simple             one RC connection, and engines and applications that never
                       lag: what a packet script can say
  --shrink S           reduce the failing schedule S to the fewest events; writes
                       PREFIX.txt, a capture of each port and, of a violation that
                       a simple schedule has as well, PREFIX.cc: a packet script
  --out PREFIX         names those files (uroce-sim-S)
  --script FILE        write what one end of a schedule does as a packet script, a
                       case for tests/script; implies --simple
  --host N             the end at this host (0)
  --rules "ID..."      the rules that the script is named after (E1)
  --counts             print the count table
Exit code 0: no violation, 1: there was one, 2: wrong arguments.
)";

struct Arguments {
  Case base;
  BatchOptions batch;
  std::string out;
  std::string script;
  std::string rules = "E1";
  size_t host = 0;
  std::optional<Kind> sweep;
  bool verbose = false;
  bool shrinks = false;
  bool counts = false;
};

[[noreturn]] void usage(const std::string& what) {
  std::fprintf(stderr, "uroce-sim: %s\n%s", what.c_str(), kHelp);
  std::exit(2);
}

uint64_t number(std::string_view name, const std::string& text) {
  char* end = nullptr;
  const uint64_t value = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0') {
    usage(std::string(name) + " takes a number, not '" + text + "'");
  }
  return value;
}

Kind kind_of(const std::string& text) {
  for (size_t i = 0; i < kKinds; ++i) {
    if (text == name_of(static_cast<Kind>(i))) {
      return static_cast<Kind>(i);
    }
  }
  usage("'" + text + "' is no kind of event");
}

std::pair<size_t, double> fault_of(const std::string& text) {
  const size_t equals = text.find('=');
  for (size_t i = 0; i < kFaultNames.size() && equals != std::string::npos; ++i) {
    if (kFaultNames[i].name == text.substr(0, equals)) {
      return {i, std::strtod(text.c_str() + equals + 1, nullptr)};
    }
  }
  usage("'" + text + "' is no fault with a share");
}

std::vector<size_t> list_of(const std::string& text) {
  std::vector<size_t> list;
  for (size_t at = 0; at < text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    list.push_back(number("--events", text.substr(at, comma - at)));
    at = comma + 1;
  }
  return list;
}

/// Options with a value.
void take(Arguments& a, std::string_view name, const std::string& value) {
  if (name == "--seed" || name == "--shrink") {
    a.base.seed = a.batch.first_seed = number(name, value);
    a.shrinks = a.shrinks || name == "--shrink";
  } else if (name == "--schedules") {
    a.batch.schedules = number(name, value);
  } else if (name == "--jobs") {
    a.batch.jobs = static_cast<uint32_t>(number(name, value));
  } else if (name == "--failures") {
    a.batch.failures = static_cast<uint32_t>(number(name, value));
  } else if (name == "--fault") {
    a.base.faults.push_back(fault_of(value));
  } else if (name == "--insert") {
    const size_t at = value.find('@');
    if (at == std::string::npos) {
      usage("--insert takes KIND@N");
    }
    a.base.inserted.emplace(kind_of(value.substr(0, at)), number(name, value.substr(at + 1)));
  } else if (name == "--sweep") {
    a.sweep = kind_of(value);
  } else if (name == "--events") {
    a.base.kept = list_of(value);
  } else if (name == "--out") {
    a.out = value;
  } else if (name == "--script") {
    a.script = value;
    a.base.simple = true;
  } else if (name == "--host") {
    a.host = number(name, value);
  } else if (name == "--rules") {
    a.rules = value;
  } else {
    usage("unknown option '" + std::string(name) + "'");
  }
}

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--help" || name == "-h") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    }
    if (name == "--verbose") {
      a.verbose = true;
    } else if (name == "--counts") {
      a.counts = true;
    } else if (name == "--simple") {
      a.base.simple = true;
    } else if (i + 1 < argc) {
      take(a, name, argv[++i]);
    } else {
      usage("unknown option, or one without its value: '" + std::string(name) + "'");
    }
  }
  return a;
}

void print_violation(const Case& c, const std::string& what) {
  std::printf(
      "seed %lu, commit %s: %s\n  repeat with: build/bin/uroce-sim %s --verbose\n"
      "  reduce with: build/bin/uroce-sim --shrink %lu\n",
      c.seed, commit(), what.c_str(), arguments_of(c).c_str(), c.seed);
}

int run_verbose(const Arguments& a) {
  const auto tell = [](Instant at, const std::string& what) {
    std::printf("%14.3f us  %s\n", static_cast<double>(at.ns - 1'000'000'000) / 1000, what.c_str());
    std::fflush(stdout);
  };
  const std::string violation = run_case(a.base, {.tell = tell});
  return violation.empty() ? 0 : 1;
}

int run_many(const Arguments& a) {
  const auto begin = std::chrono::steady_clock::now();
  const BatchResult result = run_batch(a.batch, a.base);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  for (const auto& [seed, what] : result.violations) {
    Case c = a.base;
    c.seed = seed;
    print_violation(c, what);
  }
  std::printf(
      "%lu schedules from seed %lu on, %lu requests, %lu packets, %zu violations, "
      "%.1f s, %.0f schedules/s; commit %s\n",
      result.schedules, a.batch.first_seed, result.requests, result.packets,
      result.violations.size(), took.count(), static_cast<double>(result.schedules) / took.count(),
      commit());
  return result.violations.empty() ? 0 : 1;
}

/// Every place of the event in each schedule.
int run_sweep(const Arguments& a) {
  uint64_t runs = 0;
  for (uint64_t seed = a.batch.first_seed; seed < a.batch.first_seed + a.batch.schedules; ++seed) {
    Case c = a.base;
    c.seed = seed;
    const size_t places = plan_of(c).size() + 1;
    for (size_t i = 0; i < places; ++i, ++runs) {
      c.inserted.emplace(*a.sweep, i);
      const std::string what = run_apart(c);
      if (!what.empty()) {
        print_violation(c, what);
        return 1;
      }
    }
  }
  std::printf("%lu runs with a further %s at each place of %lu schedules, 0 violations\n", runs,
              name_of(*a.sweep), a.batch.schedules);
  return 0;
}

/// A packet script of what the end at a host does; 0: written.
int write_case(const Case& c, size_t host, const std::string& rules, const std::string& path) {
  const ScriptCase script = script_case(c, host, rules, repeated_by(c, host, rules));
  if (!script.refusal.empty()) {
    std::printf("no packet script: %s\n", script.refusal.c_str());
    return 1;
  }
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr || std::fputs(script.text.c_str(), file) < 0 || std::fclose(file) != 0) {
    std::fprintf(stderr, "uroce-sim: %s cannot be written\n", path.c_str());
    return 1;
  }
  std::printf("written: %s; format it, put it into tests/script and list it in its meson.build\n",
              path.c_str());
  return 0;
}

int run_shrink(const Arguments& a) {
  if (run_apart(a.base).empty()) {
    std::printf("schedule %lu does not fail\n", a.base.seed);
    return 0;
  }
  const Case least = shrink(a.base, run_apart);
  const std::string what = run_apart(least);
  const std::string prefix = a.out.empty() ? "uroce-sim-" + std::to_string(a.base.seed) : a.out;
  const std::string command = "build/bin/uroce-sim " + arguments_of(least) + " --verbose";
  std::printf("%zu events are left\n", least.kept->size());
  print_violation(least, what);
  std::printf("  written: %s.txt, %s-0.pcap, ...\n", prefix.c_str(), prefix.c_str());
  std::fflush(stdout);
  const std::string problem = write_script(least, prefix, what, command);
  if (!problem.empty()) {
    std::fprintf(stderr, "uroce-sim: %s\n", problem.c_str());
  }
  write_case(least, host_in(what), a.rules, prefix + ".cc");
  return 1;
}

int run(int argc, char** argv) {
  const Arguments a = parse(argc, argv);
  if (a.counts) {
    std::fputs(count_table().c_str(), stdout);
    return 0;
  }
  if (a.shrinks) {
    return run_shrink(a);
  }
  if (!a.script.empty()) {
    return write_case(a.base, a.host, a.rules, a.script);
  }
  if (a.sweep) {
    return run_sweep(a);
  }
  return a.verbose ? run_verbose(a) : run_many(a);
}

}  // namespace
}  // namespace roce::swarm

int main(int argc, char** argv) {
  return roce::swarm::run(argc, argv);
}
