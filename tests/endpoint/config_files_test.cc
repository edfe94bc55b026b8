// Each ready-made file of config/ loads for both ends and says in a comment how to start them.
// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dpdk_args.h"
#include "roce/config.h"

namespace roce {
namespace {

using ::testing::HasSubstr;

std::vector<std::filesystem::path> ready_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(ROCE_CONFIG_DIR)) {
    if (entry.path().extension() == ".toml") {
      files.push_back(entry.path());
    }
  }
  return files;
}

Config load(const std::string& file, Side side) {
  ConfigSources sources;
  sources.file = file;
  sources.default_side = side;
  auto config = load_config(sources);
  EXPECT_TRUE(config) << config.error().reason;
  return config ? *config : Config{};
}

TEST(ConfigFiles, every_kind_that_needs_one_has_one) {
  std::vector<std::string> names;
  for (const auto& file : ready_files()) {
    names.push_back(file.stem().string());
  }
  EXPECT_THAT(names, ::testing::IsSupersetOf({"virtio-user", "virtio-user-hugepages", "memif",
                                              "af_packet", "af_xdp", "tap", "pci-vfio"}));
}

TEST(ConfigFiles, each_loads_for_both_ends_with_different_addresses) {
  for (const auto& file : ready_files()) {
    SCOPED_TRACE(file);
    const Config a = load(file, Side::a);
    const Config b = load(file, Side::b);
    EXPECT_EQ(a.port.kind, b.port.kind);
    EXPECT_NE(a.address.ipv4, b.address.ipv4);
    EXPECT_FALSE(dpdk_args(a).device.empty());
  }
}

TEST(ConfigFiles, each_says_what_it_needs_and_how_to_start_both_ends) {
  for (const auto& file : ready_files()) {
    SCOPED_TRACE(file);
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    EXPECT_THAT(text.str(), HasSubstr("eeds "));
    EXPECT_THAT(text.str(), HasSubstr("server:"));
    EXPECT_THAT(text.str(), HasSubstr("client:"));
    EXPECT_THAT(text.str(), HasSubstr("config/" + file.filename().string()));
  }
}

TEST(ConfigFiles, the_default_one_shows_the_defaults) {
  const Config file = load(std::string(ROCE_CONFIG_DIR) + "/virtio-user.toml", Side::b);
  const Config none = load("", Side::b);
  Config shown_as_default = file;
  shown_as_default.origins = none.origins;
  EXPECT_EQ(show_config(shown_as_default), show_config(none));
}

}  // namespace
}  // namespace roce
