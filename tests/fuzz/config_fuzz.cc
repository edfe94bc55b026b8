// Fuzzes the configuration file: whatever the text, load_config() accepts it or says in words why
// not, and what it accepts survives being shown and read again.
// SPDX-License-Identifier: BSD-3-Clause
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <roce/config.h>

#include "base/check.h"
#include "fuzz/tally.h"

namespace roce::fuzz {
namespace {

Tally tally;

/// A file without a file system.
class MemoryFile {
 public:
  MemoryFile() : fd_(::memfd_create("config", 0)), path_("/proc/self/fd/" + std::to_string(fd_)) {
    ROCE_CHECK(fd_ >= 0);
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  const std::string& path() const { return path_; }
  void set(const void* data, size_t size) {
    ROCE_CHECK(::ftruncate(fd_, 0) == 0);
    ROCE_CHECK(::pwrite(fd_, data, size, 0) == static_cast<ssize_t>(size));
  }

 private:
  int fd_;
  std::string path_;
};

Result<Config> load(const std::string& path, Side side) {
  ConfigSources sources;
  sources.file = path;
  sources.default_side = side;
  sources.cpus = {0, 1};
  return load_config(sources);
}

/// What is accepted says the same after being shown and read again.
void check_shown(Config config, Side side) {
  static MemoryFile file;
  const std::string shown = show_config(config);
  file.set(shown.data(), shown.size());
  Result<Config> again = load(file.path(), side);
  ROCE_CHECK(again.has_value());
  for (const ConfigKey& key : config_keys()) {
    const bool alike = std::visit(
        [&again, &key](auto* a) { return *a == *std::get<decltype(a)>(key.slot(*again)); },
        key.slot(config));
    ROCE_CHECK(alike);
  }
}

}  // namespace
}  // namespace roce::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace roce;
  static fuzz::MemoryFile file;
  file.set(data, size);
  // For one end, drawn by the length: twice the inputs instead of each input twice.
  const Side side = size % 2 == 0 ? Side::a : Side::b;
  Result<Config> config = fuzz::load(file.path(), side);
  if (config) {
    fuzz::check_shown(std::move(*config), side);
  } else {
    ROCE_CHECK(config.error().code != 0 && !config.error().reason.empty());
  }
  return 0;
}
