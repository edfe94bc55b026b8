// The log stream is a stdio cookie, because that is what rte_openlog_stream() takes. EAL's own
// threads write to it as well, hence the lock.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/dpdk/log_capture.h"

#include <stdio.h>

#include <algorithm>
#include <mutex>
#include <string_view>
#include <utility>

#include <rte_log.h>

namespace roce::dpdk {
namespace {

constexpr unsigned kLines = 3;
constexpr size_t kTextBytes = 600;

struct Capture {
  std::mutex mutex;
  std::string text;  // the first lines, each with its newline
  unsigned lines = 0;
  bool verbose = false;
};

// Never destroyed: DPDK may log while the process exits.
Capture& capture() {
  static Capture& instance = *new Capture;
  return instance;
}

ssize_t write_capture(void*, const char* text, size_t size) {
  Capture& c = capture();
  const std::lock_guard lock(c.mutex);
  if (c.verbose) {
    std::fwrite(text, 1, size, stderr);
  }
  for (const char letter : std::string_view(text, size)) {
    if (c.lines < kLines && c.text.size() < kTextBytes) {
      c.text.push_back(letter);
      c.lines += letter == '\n' ? 1 : 0;
    }
  }
  return static_cast<ssize_t>(size);
}

}  // namespace

void capture_log(bool verbose) {
  capture().verbose = verbose;
  static FILE* const stream = [] {
    cookie_io_functions_t functions{};
    functions.write = write_capture;
    return ::fopencookie(nullptr, "w", functions);
  }();
  if (stream != nullptr) {
    rte_openlog_stream(stream);
  }
}

void clear_log() {
  Capture& c = capture();
  const std::lock_guard lock(c.mutex);
  c.text.clear();
  c.lines = 0;
}

std::string with_log(std::string what) {
  Capture& c = capture();
  const std::lock_guard lock(c.mutex);
  std::string_view rest = c.text;
  const char* separator = ": ";
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (!line.empty()) {
      what += std::exchange(separator, "; ");
      what += line;
    }
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return what;
}

// In glibc stdout and stderr are variables that may be set.
SilencedStdio::SilencedStdio() : out_(stdout), err_(stderr) {
  if (!capture().verbose) {
    sink_ = std::fopen("/dev/null", "w");
  }
  if (sink_ != nullptr) {
    stdout = sink_;
    stderr = sink_;
  }
}

SilencedStdio::~SilencedStdio() {
  if (sink_ != nullptr) {
    stdout = out_;
    stderr = err_;
    std::fclose(sink_);
  }
}

}  // namespace roce::dpdk
