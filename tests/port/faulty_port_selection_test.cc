// Tests of FaultyPort: which frames it may strike at all.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "port/fault_rig.h"
#include "port/test_frames.h"

namespace roce::test {
namespace {

/// roce_bytes() with one VLAN tag.
std::vector<uint8_t> tagged(std::vector<uint8_t> bytes) {
  const std::array<uint8_t, 4> tag{0x81, 0x00, 0x00, 0x05};
  bytes.insert(bytes.begin() + 12, tag.begin(), tag.end());
  return bytes;
}

std::vector<uint8_t> ipv6(uint16_t udp_port) {
  std::vector<uint8_t> b(14 + 40 + 8 + 8);
  store_be<uint16_t>(&b[12], 0x86dd);
  b[14] = 0x60;
  b[20] = 17;
  store_be<uint16_t>(&b[14 + 40 + 2], udp_port);
  return b;
}

TEST(FaultyPortSelection, StrikesRoceOverBothIpVersionsAndVlan) {
  FaultConfig c;
  c.loss = 1;
  Rig rig(c);
  rig.send(roce_bytes(1));
  rig.send(tagged(roce_bytes(2)));
  rig.send(ipv6(4791));
  rig.send(tagged(ipv6(4791)));
  rig.poll();
  EXPECT_TRUE(rig.received.empty());
  EXPECT_EQ(rig.counters().lost, 4U);
}

TEST(FaultyPortSelection, LeavesAllOtherFramesAlone) {
  FaultConfig c = all_faults(1);
  c.loss = 1;
  Rig rig(c);
  std::vector<std::vector<uint8_t>> others;
  const auto other = [&others](size_t at, uint8_t value) {
    others.push_back(roce_bytes(others.size(), 64));
    others.back()[at] = value;
  };
  other(13, 0x06);  // ARP
  other(23, 6);     // TCP
  other(37, 0x53);  // another UDP port
  other(20, 0x20);  // first fragment
  other(21, 0x10);  // later fragment
  other(14, 0x44);  // header length too small
  others.push_back(ipv6(5353));
  others.push_back(tagged(ipv6(5353)));
  for (const uint32_t len : {0U, 1U, 13U, 14U, 33U, 34U, 41U}) {
    auto cut = roce_bytes(1);
    cut.resize(len);
    others.push_back(cut);
  }
  auto cut6 = ipv6(4791);
  cut6.resize(14 + 40 + 7);
  others.push_back(cut6);
  for (const auto& o : others) {
    rig.send(o);
  }
  rig.poll();
  ASSERT_EQ(rig.received.size(), others.size());
  for (size_t i = 0; i < others.size(); i++) {
    EXPECT_EQ(rig.received[i].bytes, others[i]) << "frame " << i;
  }
  EXPECT_EQ(rig.counters().seen, 0U);
}

TEST(FaultyPortSelection, LeavesSentFramesAlone) {
  FaultConfig c;
  c.loss = 1;
  Rig rig(c);
  Frame f;
  ASSERT_EQ(rig.port().alloc({&f, 1}), 1U);
  fill(f, roce_bytes(3));
  ASSERT_EQ(rig.port().tx_burst(rig.now, {&f, 1}), 1U);
  ASSERT_EQ(rig.link().a().rx_burst(rig.now, {&f, 1}), 1U);
  EXPECT_EQ(bytes_of(f), roce_bytes(3));
  rig.link().a().release({&f, 1});
}

}  // namespace
}  // namespace roce::test
