// Configuration: precedence of the sources, where each value came from, what is refused and how.
// SPDX-License-Identifier: BSD-3-Clause
#include "roce/config.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "endpoint/temp_dir.h"

namespace roce {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() { sources_.cpus = {2, 3, 7}; }

  Config load() {
    auto config = load_config(sources_);
    EXPECT_TRUE(config) << config.error().reason;
    return config ? *config : Config{};
  }

  std::string refusal(int code = EINVAL) {
    const auto config = load_config(sources_);
    EXPECT_FALSE(config);
    if (config) {
      return "not refused";
    }
    EXPECT_EQ(config.error().code, code);
    EXPECT_EQ(config.error().reason.find('\n'), std::string::npos);
    return config.error().reason;
  }

  void file(std::string_view text) { sources_.file = folder_.write("x.toml", text); }

  test::TempDir folder_;
  ConfigSources sources_;
};

TEST_F(ConfigTest, nothing_given_is_the_embedded_default) {
  const Config a = load();
  EXPECT_EQ(a.port.kind, PortKind::virtio_user);
  EXPECT_EQ(a.port.side, Side::a);
  EXPECT_TRUE(a.port.packed);
  EXPECT_EQ(a.port.mtu, 9000U);
  EXPECT_THAT(a.port.socket, EndsWith("/wire.sock"));
  EXPECT_FALSE(a.eal.hugepages);
  EXPECT_EQ(a.eal.cpu, 7U);
  EXPECT_EQ(text_of(*a.address.ipv4), "192.0.2.1/24");
  EXPECT_EQ(a.engine.drive, Drive::rtc);
  EXPECT_EQ(a.engine.window_packets, 256U);

  sources_.default_side = Side::b;
  const Config b = load();
  EXPECT_EQ(b.port.side, Side::b);
  EXPECT_EQ(b.eal.cpu, 2U);
  EXPECT_EQ(text_of(*b.address.ipv4), "192.0.2.2/24");
  EXPECT_EQ(b.port.socket, a.port.socket);
  for (const ConfigKey& key : config_keys()) {
    EXPECT_EQ(origin_of(b, key.path), "default") << key.path;
  }
}

TEST_F(ConfigTest, flag_wins_over_environment_over_file_over_default) {
  EXPECT_EQ(origin_of(load(), "port.mtu"), "default");
  file("# comment\n[port]\nmtu = 1500\n");
  EXPECT_EQ(load().port.mtu, 1500U);
  EXPECT_EQ(origin_of(load(), "port.mtu"), "file " + sources_.file + ":3");
  sources_.environment = {{"UROCE_PORT_MTU", "2000"}};
  EXPECT_EQ(load().port.mtu, 2000U);
  EXPECT_EQ(origin_of(load(), "port.mtu"), "environment UROCE_PORT_MTU");
  sources_.flags = {{"port.mtu", "3000", "--set port.mtu"}};
  EXPECT_EQ(load().port.mtu, 3000U);
  EXPECT_EQ(origin_of(load(), "port.mtu"), "flag --set port.mtu");
  sources_.flags.push_back({"port.mtu", "4000", "--set port.mtu"});
  EXPECT_EQ(load().port.mtu, 4000U);
}

TEST_F(ConfigTest, side_tables_override_the_common_values_for_their_end_only) {
  file("port.mtu = 1500\n[side.a]\nport.mtu = 2000\n[side.b.address]\nipv4 = \"198.51.100.2\"\n");
  const Config a = load();
  EXPECT_EQ(a.port.mtu, 2000U);
  EXPECT_EQ(text_of(*a.address.ipv4), "192.0.2.1/24");
  sources_.default_side = Side::b;
  const Config b = load();
  EXPECT_EQ(b.port.mtu, 1500U);
  EXPECT_EQ(text_of(*b.address.ipv4), "198.51.100.2/32");
  EXPECT_EQ(origin_of(b, "address.ipv4"), "file " + sources_.file + ":5");
}

TEST_F(ConfigTest, side_tables_follow_the_side_wherever_it_is_set) {
  file("port.side = \"b\"\n[side.a]\neal.cpu = 3\n[side.b]\neal.cpu = 7\n");
  EXPECT_EQ(load().eal.cpu, 7U);
  EXPECT_EQ(origin_of(load(), "port.side"), "file " + sources_.file + ":1");
  sources_.flags = {{"port.side", "a", "--side"}};
  EXPECT_EQ(load().eal.cpu, 3U);
  sources_.environment = {{"UROCE_EAL_CPU", "2"}};
  EXPECT_EQ(load().eal.cpu, 2U);
}

TEST_F(ConfigTest, text_in_memory_takes_the_place_of_a_file) {
  sources_.environment = {{"UROCE_CONFIG", "/nowhere.toml"}};
  sources_.file = "in memory";
  sources_.text = "[port]\nmtu = 1500\n";
  EXPECT_EQ(load().port.mtu, 1500U);
  EXPECT_EQ(origin_of(load(), "port.mtu"), "file in memory:2");
  sources_.text = "port.mtu = true\n";
  EXPECT_THAT(refusal(), StartsWith("in memory:1: port.mtu = true: must be "));
}

TEST_F(ConfigTest, file_named_by_environment_is_read_unless_a_flag_names_another) {
  const std::string other = folder_.write("other.toml", "port.mtu = 1400\n");
  sources_.environment = {{"UROCE_CONFIG", other}};
  EXPECT_EQ(load().port.mtu, 1400U);
  file("port.mtu = 1600\n");
  EXPECT_EQ(load().port.mtu, 1600U);
}

TEST_F(ConfigTest, lists_and_optional_addresses_come_from_file_and_environment_alike) {
  file(
      "[address]\nipv4 = \"\"\nipv6 = [\"2001:db8::1/64\", \"2001:db8:1::1\"]\n"
      "gateway6 = \"2001:db8::fe\"\n"
      "neighbours = [\"192.0.2.2=02:00:00:00:00:02\", { ip = \"2001:db8::2\", "
      "mac = \"02:00:00:00:00:03\" }]\n"
      "[eal]\nextra = [\"--vdev=net_null0,size=64\", \"--huge-unlink\"]\n");
  const Config from_file = load();
  EXPECT_FALSE(from_file.address.ipv4);
  EXPECT_FALSE(from_file.address.gateway);
  ASSERT_EQ(from_file.address.ipv6.size(), 2U);
  EXPECT_EQ(from_file.address.ipv6[0].length, 64);
  EXPECT_EQ(text_of(*from_file.address.gateway6), "2001:db8::fe");
  ASSERT_EQ(from_file.address.neighbours.size(), 2U);
  EXPECT_EQ(text_of(from_file.address.neighbours[1].mac), "02:00:00:00:00:03");
  EXPECT_EQ(from_file.eal.extra.size(), 2U);

  sources_.file.clear();
  sources_.environment = {
      {"UROCE_ADDRESS_IPV4", ""},
      {"UROCE_ADDRESS_IPV6", "2001:db8::1/64,2001:db8:1::1"},
      {"UROCE_ADDRESS_GATEWAY6", "2001:db8::fe"},
      {"UROCE_ADDRESS_NEIGHBOURS", "192.0.2.2=02:00:00:00:00:02, 2001:db8::2=02:00:00:00:00:03"},
      {"UROCE_EAL_EXTRA", "--vdev=net_null0,size=64 --huge-unlink"}};
  const Config from_environment = load();
  EXPECT_EQ(from_environment.address.ipv6, from_file.address.ipv6);
  EXPECT_EQ(from_environment.address.neighbours, from_file.address.neighbours);
  EXPECT_EQ(from_environment.eal.extra, from_file.eal.extra);
}

TEST_F(ConfigTest, shown_values_load_again_as_the_same_values) {
  sources_.flags = {{"address.neighbours", "192.0.2.2=02:00:00:00:00:02", "--set"},
                    {"address.ipv6", "2001:db8::1/64", "--set"},
                    {"port.mac", "02:00:00:00:00:09", "--set"},
                    {"wrap.capture", "a \"quoted\\\" name\t.pcap", "--capture"},
                    {"eal.extra", "--a --b", "--set"}};
  const Config before = load();
  const std::string shown = show_config(before);
  EXPECT_THAT(shown, HasSubstr("port.mtu = 9000"));
  EXPECT_THAT(shown, HasSubstr("# flag --capture\n"));
  sources_.flags.clear();
  file(shown);
  const Config after = load();
  const std::string shown_again = show_config(after);
  const auto strip = [](const std::string& text) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      out += text.substr(at, text.rfind("  # ", end) - at) + "\n";
      at = end + 1;
    }
    return out;
  };
  EXPECT_EQ(after.address.neighbours, before.address.neighbours);
  EXPECT_EQ(after.wrap.capture, before.wrap.capture);
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), static_cast<long>(config_keys().size()));
  for (const ConfigKey& key : config_keys()) {
    EXPECT_THAT(origin_of(after, key.path), StartsWith("file ")) << key.path;
  }
  EXPECT_EQ(strip(shown).size(), strip(shown_again).size());
}

TEST_F(ConfigTest, unknown_key_is_refused_with_line_and_nearest_key) {
  file("[port]\n\nmut = 1500\n");
  EXPECT_THAT(refusal(), AllOf(StartsWith(sources_.file + ":3: "), HasSubstr("port.mut"),
                               HasSubstr("did you mean port.mtu?")));
  file("mtu = 1500\n");
  EXPECT_THAT(refusal(),
              AllOf(StartsWith(sources_.file + ":1: "), HasSubstr("did you mean port.mtu?")));
  file("[ports]\nmtu = 1500\n");
  EXPECT_THAT(refusal(), AllOf(StartsWith(sources_.file + ":1: "), HasSubstr("did you mean port?"),
                               HasSubstr("engine")));
  file("[side.c]\nport.mtu = 1500\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr(":1: "), HasSubstr("side.a and side.b")));
  file("[side.a]\nport.side = \"b\"\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr(":2: "), HasSubstr("port.side")));
}

TEST_F(ConfigTest, wrong_value_is_refused_with_line_and_allowed_values) {
  file("[port]\nmtu = 90000\n");
  EXPECT_THAT(refusal(),
              AllOf(StartsWith(sources_.file + ":2: port.mtu = 90000"), HasSubstr("576 to 9600")));
  file("[port]\nkind = \"memiff\"\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr(":2: port.kind = memiff"), HasSubstr("virtio-user, memif"),
                               HasSubstr("did you mean memif?")));
  file("[port]\nmtu = \"1500\"\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr(":2: port.mtu = "), HasSubstr("without quotes")));
  file("[port]\nmtu = -5\n");
  EXPECT_THAT(refusal(), HasSubstr("576 to 9600"));
  file("[port]\npacked = 1\n");
  EXPECT_THAT(refusal(), HasSubstr("true or false"));
  file("[address]\nipv4 = \"192.0.2.300\"\n");
  EXPECT_THAT(refusal(), HasSubstr("192.0.2.1/24"));
  file("[address]\nneighbours = [{ ip = \"192.0.2.2\", mac = \"01:00:5e:00:00:01\" }]\n");
  EXPECT_THAT(refusal(), HasSubstr("192.0.2.2=02:00:00:00:00:02"));
  file("[side.b]\nport.mtu = 1\n");  // judged although this is side a
  EXPECT_THAT(refusal(), HasSubstr(":2: port.mtu = 1"));
}

TEST_F(ConfigTest, broken_or_missing_file_is_named) {
  file("[port\nmtu = 1500\n");
  EXPECT_THAT(refusal(), AllOf(StartsWith(sources_.file + ":1: "), HasSubstr("not TOML")));
  sources_.file = folder_.path("absent.toml");
  EXPECT_THAT(refusal(ENOENT), StartsWith(sources_.file + ": "));
  sources_.file = std::filesystem::path(folder_.path("x")).parent_path().string();
  EXPECT_THAT(refusal(EISDIR), HasSubstr("directory"));
}

TEST_F(ConfigTest, environment_and_flags_are_judged_like_the_file) {
  sources_.environment = {{"UROCE_PORT_MTUU", "1500"}};
  EXPECT_THAT(refusal(), AllOf(StartsWith("environment UROCE_PORT_MTUU"),
                               HasSubstr("did you mean UROCE_PORT_MTU?")));
  sources_.environment = {{"UROCE_PORT_MTU", "12k"}};
  EXPECT_THAT(refusal(), AllOf(StartsWith("environment UROCE_PORT_MTU: port.mtu = 12k"),
                               HasSubstr("576 to 9600")));
  sources_.environment = {{"UROCE_TEST_SEED", "1"}};
  EXPECT_EQ(load().port.mtu, 9000U);
  sources_.flags = {{"prot.mtu", "1500", "--set prot.mtu"}};
  EXPECT_THAT(refusal(), AllOf(StartsWith("flag --set prot.mtu"), HasSubstr("port.mtu?")));
  sources_.flags = {{"engine.drive", "irq", "--drive"}};
  EXPECT_THAT(refusal(), AllOf(StartsWith("flag --drive: "), HasSubstr("rtc, lcore, assisted")));
}

TEST_F(ConfigTest, settings_that_contradict_each_other_are_refused) {
  sources_.flags = {{"port.kind", "af_packet", "--set port.kind"}};
  EXPECT_THAT(refusal(), AllOf(HasSubstr("af_packet"), HasSubstr("port.interface")));
  sources_.flags.push_back({"port.interface", "veth-a", "--set"});
  EXPECT_EQ(load().port.interface, "veth-a");
  sources_.flags = {{"port.kind", "af_xdp", "--set"}, {"port.interface", "veth-a", "--set"}};
  EXPECT_EQ(load().port.mtu, 3000U);
  sources_.flags.push_back({"port.mtu", "9000", "--set port.mtu"});
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("flag --set port.mtu: port.mtu = 9000"), HasSubstr("3498")));
  sources_.flags = {{"port.rx_descriptors", "4096", "--set"}};
  EXPECT_THAT(refusal(), AllOf(HasSubstr("port.buffers (default) = 4095"), HasSubstr("6144")));
  sources_.flags = {{"port.buffers", "100000", "--set"}};
  EXPECT_THAT(refusal(), AllOf(HasSubstr("eal.memory_mb (default) = 512"), HasSubstr("raise it")));
  sources_.flags = {{"eal.cpu", "1", "--set eal.cpu"}};
  EXPECT_THAT(refusal(), AllOf(HasSubstr("eal.cpu = 1"), HasSubstr("2, 3, 7")));
  sources_.flags = {{"address.ipv4", "", "--set address.ipv4"}};
  EXPECT_THAT(refusal(), HasSubstr("needs an address"));
  sources_.flags = {{"port.socket", "/" + std::string(200, 's'), "--set port.socket"}};
  EXPECT_THAT(refusal(), AllOf(HasSubstr("201 bytes"), HasSubstr("107")));
  sources_.flags = {{"port.socket", "/tmp/a,b", "--set port.socket"}};
  EXPECT_THAT(refusal(), HasSubstr("/tmp/a,b"));
}

TEST_F(ConfigTest, suggested_memory_is_enough) {
  sources_.flags = {{"port.buffers", "100000", "--set"}};
  const std::string text = refusal();
  const size_t at = text.find("raise it to ") + 12;
  sources_.flags.push_back({"eal.memory_mb", text.substr(at, text.find(' ', at) - at), "--set"});
  load();
}

TEST(ConfigKeys, are_unique_and_complete) {
  std::set<std::string_view> paths;
  std::set<std::string> variables;
  for (const ConfigKey& key : config_keys()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
    EXPECT_TRUE(variables.insert(environment_name(key)).second) << key.path;
    EXPECT_FALSE(key.help.empty()) << key.path;
    EXPECT_FALSE(allowed_values(key).empty()) << key.path;
    EXPECT_EQ(std::count(key.path.begin(), key.path.end(), '.'), 1) << key.path;
  }
  EXPECT_TRUE(variables.count("UROCE_PORT_RX_DESCRIPTORS"));
}

TEST(ConfigKeys, each_sets_a_place_of_its_own) {
  Config config;
  std::set<const void*> places;
  for (const ConfigKey& key : config_keys()) {
    const void* place = std::visit([](auto* p) -> const void* { return p; }, key.slot(config));
    EXPECT_TRUE(places.insert(place).second) << key.path;
  }
}

TEST(ConfigNames, enumerations_have_the_words_of_the_files) {
  EXPECT_EQ(name_of(PortKind::virtio_user), "virtio-user");
  EXPECT_EQ(name_of(PortKind::vdev), "vdev");
  EXPECT_EQ(name_of(Side::b), "b");
  EXPECT_EQ(name_of(Drive::lcore), "lcore");
}

TEST(ProcessEnvironment, lists_only_variables_of_uroce) {
  ASSERT_EQ(setenv("UROCE_TEST_LISTED", "x=y", 1), 0);
  const auto found = process_environment();
  EXPECT_THAT(found,
              ::testing::Contains(std::pair<std::string, std::string>("UROCE_TEST_LISTED", "x=y")));
  for (const auto& [name, value] : found) {
    EXPECT_THAT(name, StartsWith("UROCE_"));
  }
  unsetenv("UROCE_TEST_LISTED");
}

}  // namespace
}  // namespace roce
