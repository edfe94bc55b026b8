// Tests of RecorderPort: what is in the file, block by block, with the reasons of drops; and the
// flight recorder, which writes only once something has failed.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/recorder_port.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "port/loopback_port.h"
#include "port/test_frames.h"

namespace roce::test {
namespace {

constexpr uint64_t kWall = 1'700'000'000'000'000'000;

/// A packet read back.
struct Packet {
  uint64_t unix_ns = 0;
  uint32_t len = 0;
  uint32_t flags = 0;
  std::string comment;
  std::vector<uint8_t> bytes;
};

uint32_t word(const std::vector<uint8_t>& b, size_t at) {
  uint32_t v = 0;
  std::memcpy(&v, &b[at], sizeof v);
  return v;
}

Packet packet_of(const std::vector<uint8_t>& file, size_t block, uint32_t length) {
  Packet p;
  p.unix_ns = uint64_t{word(file, block + 12)} << 32U | word(file, block + 16);
  const uint32_t captured = word(file, block + 20);
  p.len = word(file, block + 24);
  size_t at = block + 28;
  p.bytes.assign(&file[at], &file[at] + captured);
  at += (size_t{captured} + 3) / 4 * 4;
  while (at < block + length - 4 && word(file, at) != 0) {
    const uint32_t code = word(file, at) & 0xffffU;
    const uint32_t size = word(file, at) >> 16U;
    if (code == 1) {
      p.comment.assign(reinterpret_cast<const char*>(&file[at + 4]), size);
    } else if (code == 2) {
      p.flags = word(file, at + 4);
    }
    at += 4 + (size + 3) / 4 * 4;
  }
  return p;
}

/// The packets of a file whose blocks all say their length twice.
std::vector<Packet> read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::vector<uint8_t> file{std::istreambuf_iterator<char>(stream), {}};
  std::vector<Packet> packets;
  for (size_t at = 0; at < file.size();) {
    const uint32_t length = word(file, at + 4);
    EXPECT_EQ(word(file, at + length - 4), length);
    if (word(file, at) == 6) {
      packets.push_back(packet_of(file, at, length));
    }
    at += length;
  }
  return packets;
}

class RecorderPortTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string name = "recorder_" + std::to_string(::getpid()) + ".pcapng";
    path_ = (std::filesystem::temp_directory_path() / name).string();
    std::filesystem::remove(path_);
  }
  void TearDown() override {
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + ".2");
  }

  std::unique_ptr<RecorderPort> open(RecorderPort::Mode mode) {
    struct Alias final : WrappingPort {
      explicit Alias(Port& below) : WrappingPort(below) {}
    };
    auto port = RecorderPort::open(std::make_unique<Alias>(link_.a()), path_, mode, kWall);
    EXPECT_TRUE(port.has_value());
    return std::move(*port);
  }

  void send(Port& from, uint64_t number) {
    std::array<Frame, 1> frames{};
    ASSERT_EQ(from.alloc(frames), 1u);
    fill(frames[0], roce_bytes(number));
    ASSERT_EQ(from.tx_burst(now_, frames), 1u);
  }

  /// Receives one frame at the recorded end, and drops it for `reason` if that is one.
  void receive(Port& at, DropReason reason) {
    std::array<Frame, 1> frames{};
    while (at.rx_burst(now_, frames) == 0) {
      now_ = now_ + Duration::from_us(1);
    }
    if (reason != DropReason::none) {
      at.note_drop(frames[0], reason);
    }
    at.release(frames);
  }

  LoopbackLink link_;
  Instant now_{5'000};
  std::string path_;
};

TEST_F(RecorderPortTest, WritesBothDirectionsAndTheReasonOfADrop) {
  auto port = open(RecorderPort::Mode::everything);
  send(*port, 1);
  send(link_.b(), 2);
  receive(*port, DropReason::icrc);
  send(link_.b(), 3);
  receive(*port, DropReason::none);
  port.reset();

  const auto packets = read(path_);
  ASSERT_EQ(packets.size(), 3u);
  EXPECT_EQ(packets[0].bytes, roce_bytes(1));
  EXPECT_EQ(packets[0].unix_ns, kWall + 5'000);
  EXPECT_EQ(packets[0].flags, 2u) << "outbound";
  EXPECT_EQ(packets[0].comment, "");
  EXPECT_EQ(packets[1].bytes, roce_bytes(2));
  EXPECT_EQ(packets[1].flags, 1u) << "inbound";
  EXPECT_EQ(packets[1].comment, "uroce dropped it: icrc");
  EXPECT_EQ(packets[2].comment, "");
}

TEST_F(RecorderPortTest, AFlightRecorderKeepsTheLastPacketsUntilAFailure) {
  auto port = open(RecorderPort::Mode::flight);
  constexpr uint64_t kAll = RecorderPort::kFlightPackets + 10;
  for (uint64_t i = 0; i < kAll; ++i) {
    send(link_.b(), i);
    receive(*port, DropReason::none);
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  port->note_failure(17);
  auto packets = read(path_);
  ASSERT_EQ(packets.size(), RecorderPort::kFlightPackets);
  EXPECT_EQ(packets.front().bytes, roce_bytes(10));
  EXPECT_EQ(packets.back().bytes, roce_bytes(kAll - 1));

  port->note_failure(18);
  EXPECT_EQ(read(path_ + ".2").size(), RecorderPort::kFlightPackets) << "the first file stays";
  EXPECT_EQ(port->flights(), 2u);
}

TEST_F(RecorderPortTest, RefusesAFileThatCannotBe) {
  struct Alias final : WrappingPort {
    explicit Alias(Port& below) : WrappingPort(below) {}
  };
  const auto port = RecorderPort::open(std::make_unique<Alias>(link_.a()), "/nowhere/f",
                                       RecorderPort::Mode::flight, 0);
  ASSERT_FALSE(port.has_value());
  EXPECT_EQ(port.error().code, ENOENT);
  EXPECT_NE(port.error().reason.find("/nowhere/f"), std::string::npos);
}

}  // namespace
}  // namespace roce::test
