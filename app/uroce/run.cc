// The environment of the program, and its start.
// SPDX-License-Identifier: BSD-3-Clause
#include "run.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "common/args.h"
#include "roce/config.h"

namespace uroce::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLibrary = "liburoce-ibverbs.so";
constexpr const char* kPreload = "LD_PRELOAD";
constexpr int kCannotRun = 126;  // as shells have it
constexpr int kNotFound = 127;

int complain(int exit_code, const std::string& what) {
  std::fprintf(stderr, "uroce: %s\n", what.c_str());
  return exit_code;
}

/// Where the library is, seen from the folder of this program: in the build folder, and installed.
fs::path find_library(const fs::path& folder) {
  for (const char* place : {"../../lib/ibverbs", "../" UROCE_LIBDIR}) {
    std::error_code error;
    fs::path found = fs::canonical(folder / place / kLibrary, error);
    if (!error) {
      return found;
    }
  }
  return {};
}

/// The library's settings come by environment; flags go on as variables, of which they win.
roce::Status pass_on_settings(const Options& options) {
  roce::ConfigSources sources;
  sources.file = options.config_file;
  sources.environment = roce::process_environment();
  sources.flags = options.flags;
  if (const auto config = roce::load_config(sources); !config) {
    return tl::make_unexpected(config.error());
  }
  if (!options.config_file.empty()) {
    // Programs may change their folder before they open the device.
    setenv("UROCE_CONFIG", fs::absolute(options.config_file).c_str(), 1);
  }
  for (const roce::ConfigFlag& flag : options.flags) {
    for (const roce::ConfigKey& key : roce::config_keys()) {
      if (key.path == flag.key) {
        const std::string value =
            flag.key == "wrap.capture" ? fs::absolute(flag.value).string() : flag.value;
        setenv(roce::environment_name(key).c_str(), value.c_str(), 1);
      }
    }
  }
  return {};
}

void preload(const fs::path& library) {
  std::string list = library.string();
  if (const char* const others = std::getenv(kPreload); others != nullptr && *others != '\0') {
    list += fmt::format(":{}", others);
  }
  setenv(kPreload, list.c_str(), 1);
}

int start(const std::vector<std::string>& program) {
  std::vector<char*> arguments;
  arguments.reserve(program.size() + 1);
  for (const std::string& argument : program) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  const int code = errno;
  const std::string& name = program.front();
  if (code == ENOENT) {
    return complain(kNotFound, fmt::format("unknown program {}; check the name, or install the "
                                           "package that has it",
                                           name));
  }
  if (code == EACCES) {
    return complain(kCannotRun, fmt::format("no permission to run {}; it must be an executable "
                                            "file (chmod +x {})",
                                            name, name));
  }
  return complain(kCannotRun, fmt::format("cannot run {}: {}; it must be a program of this machine",
                                          name, std::generic_category().message(code)));
}

}  // namespace

int run(const Options& options) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path library = find_library(self.parent_path());
  if (library.empty()) {
    return complain(kCannotRun,
                    fmt::format("{} is neither in ../../lib/ibverbs nor in "
                                "../" UROCE_LIBDIR " of {}; build it, or install both together",
                                kLibrary, self.parent_path().string()));
  }
  if (library.string().find_first_of(" :") != std::string::npos) {
    return complain(kCannotRun, fmt::format("{}: a preloaded library cannot have a blank or colon "
                                            "in its path; move it",
                                            library.string()));
  }
  if (const roce::Status passed = pass_on_settings(options); !passed) {
    return complain(app::kUsageError, passed.error().reason);
  }
  preload(library);
  return start(options.program);
}

}  // namespace uroce::launcher
