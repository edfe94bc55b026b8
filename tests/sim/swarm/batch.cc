// The processes and what they share: one page each, in which they say what they are at.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/swarm/batch.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/check.h"

namespace roce::swarm {
namespace {

/// What a process says about itself. Written by the child, read once it has ended.
struct Report {
  uint64_t seed;  ///< of the schedule that runs or has failed
  uint64_t schedules;
  uint64_t requests;
  uint64_t packets;
  char violation[512];
};

Report* shared_reports(size_t count) {
  void* const p = mmap(nullptr, count * sizeof(Report), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ROCE_CHECK(p != MAP_FAILED);
  return static_cast<Report*>(p);
}

void note(Report& report, const std::string& violation) {
  std::snprintf(report.violation, sizeof report.violation, "%s", violation.c_str());
}

/// Runs seeds begin, begin + step, ... below end, until one fails.
void run_share(Report& report, const Case& like, uint64_t begin, uint64_t end, uint64_t step) {
  for (uint64_t seed = begin; seed < end; seed += step) {
    Case c = like;
    c.seed = report.seed = seed;
    Totals totals;
    const std::string violation = run_case(c, {}, &totals);
    ++report.schedules;
    report.requests += totals.requests;
    report.packets += totals.packets;
    if (!violation.empty()) {
      note(report, violation);
      return;
    }
  }
}

std::string crash_of(int status) {
  if (WIFSIGNALED(status)) {
    return "crashed with signal " + std::to_string(WTERMSIG(status));
  }
  const bool failed = WIFEXITED(status) && WEXITSTATUS(status) != 0;
  return failed ? "ended with exit code " + std::to_string(WEXITSTATUS(status)) : "";
}

template <class Work>
pid_t start(Work&& work) {
  std::fflush(nullptr);
  const pid_t child = fork();
  ROCE_CHECK(child >= 0);
  if (child == 0) {
    work();
    std::fflush(nullptr);
    _exit(0);
  }
  return child;
}

}  // namespace

BatchResult run_batch(const BatchOptions& options, const Case& like) {
  const uint32_t jobs = std::max(options.jobs, 1u);
  const uint64_t end = options.first_seed + options.schedules;
  Report* const reports = shared_reports(jobs);
  std::vector<pid_t> children(jobs, -1);
  const auto launch = [&](uint32_t job, uint64_t begin) {
    reports[job].violation[0] = '\0';
    children[job] = start([&, begin] { run_share(reports[job], like, begin, end, jobs); });
  };
  for (uint32_t job = 0; job < jobs; ++job) {
    launch(job, options.first_seed + job);
  }
  BatchResult result;
  for (uint32_t running = jobs; running > 0;) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    const auto at = std::find(children.begin(), children.end(), ended);
    if (ended < 0 || at == children.end()) {
      continue;
    }
    const auto job = static_cast<uint32_t>(at - children.begin());
    const Report& report = reports[job];
    const std::string what = report.violation[0] != '\0' ? report.violation : crash_of(status);
    --running;
    if (!what.empty()) {
      result.violations.emplace_back(report.seed, what);
      if (result.violations.size() < options.failures && report.seed + jobs < end) {
        launch(job, report.seed + jobs);
        ++running;
      }
    }
  }
  for (uint32_t job = 0; job < jobs; ++job) {
    result.schedules += reports[job].schedules;
    result.requests += reports[job].requests;
    result.packets += reports[job].packets;
  }
  munmap(reports, jobs * sizeof(Report));
  return result;
}

std::string run_apart(const Case& c) {
  Report* const report = shared_reports(1);
  const pid_t child = start([&] { note(*report, run_case(c)); });
  int status = 0;
  waitpid(child, &status, 0);
  const std::string crash = crash_of(status);
  std::string what = crash.empty() ? report->violation : crash;
  munmap(report, sizeof(Report));
  return what;
}

}  // namespace roce::swarm
