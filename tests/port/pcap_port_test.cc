// Tests of PcapPort: what is in the file, read back by a small reader and by tshark, and that a
// file which cannot grow does not disturb traffic.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/pcap_port.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "port/loopback_port.h"
#include "port/port_contract.h"
#include "port/test_frames.h"

namespace roce::test {
namespace {

constexpr uint64_t kWall = 1'700'000'000'123'456'789;

/// A file name of this process's own; the file goes with the object.
class TempFile {
 public:
  TempFile() {
    std::string name = (std::filesystem::temp_directory_path() / "pcap_port_XXXXXX").string();
    const int fd = mkstemp(name.data());
    EXPECT_GE(fd, 0);
    close(fd);
    std::filesystem::remove(name);
    path = name + ".pcap";
  }
  ~TempFile() { std::filesystem::remove(path); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  std::string path;
};

struct Record {
  uint64_t wall_ns = 0;
  uint32_t len = 0;  ///< on the wire
  std::vector<uint8_t> bytes;
};

uint32_t word(const std::vector<uint8_t>& b, size_t at) {
  uint32_t v = 0;
  std::memcpy(&v, &b[at], sizeof v);
  return v;
}

/// All records of a capture file; fails the test if it is not well-formed to the last byte.
std::vector<Record> read_capture(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<uint8_t> b{std::istreambuf_iterator<char>(in), {}};
  std::vector<Record> records;
  if (b.size() < 24) {
    ADD_FAILURE() << path << " has no header";
    return records;
  }
  EXPECT_EQ(word(b, 0), 0xa1b23c4dU);
  EXPECT_EQ(word(b, 4), 0x00040002U);
  EXPECT_EQ(word(b, 16), 65535U);
  EXPECT_EQ(word(b, 20), 1U);
  size_t at = 24;
  while (at + 16 <= b.size() && at + 16 + word(b, at + 8) <= b.size()) {
    const uint32_t captured = word(b, at + 8);
    EXPECT_LT(word(b, at + 4), 1'000'000'000U);
    const auto from = b.begin() + static_cast<std::ptrdiff_t>(at + 16);
    records.push_back({word(b, at) * uint64_t{1'000'000'000} + word(b, at + 4),
                       word(b, at + 12),
                       {from, from + captured}});
    at += 16 + captured;
  }
  EXPECT_EQ(at, b.size()) << "the last record is cut";
  return records;
}

std::unique_ptr<PcapPort> must_open(Port& below, const std::string& path) {
  auto r = PcapPort::open(below, path, kWall);
  EXPECT_TRUE(r.has_value()) << (r.has_value() ? "" : r.error().reason);
  return r.has_value() ? std::move(*r) : nullptr;
}

struct CapturedPair {
  LoopbackLink link;
  TempFile file_a;
  TempFile file_b;
  std::unique_ptr<PcapPort> end_a = must_open(link.a(), file_a.path);
  std::unique_ptr<PcapPort> end_b = must_open(link.b(), file_b.path);

  Port& a() { return *end_a; }
  Port& b() { return *end_b; }
  Instant now() { return Instant{}; }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Captured, PortContract, CapturedPair);

void send(Port& port, Instant now, const std::vector<uint8_t>& bytes) {
  Frame f;
  ASSERT_EQ(port.alloc({&f, 1}), 1U);
  fill(f, bytes);
  ASSERT_EQ(port.tx_burst(now, {&f, 1}), 1U);
}

void take(Port& port, Instant now) {
  Frame f;
  ASSERT_EQ(port.rx_burst(now, {&f, 1}), 1U);
  port.release({&f, 1});
}

TEST(PcapPort, WritesSentAndReceivedFramesWithTheirTimes) {
  LoopbackLink link;
  const TempFile file;
  {
    const auto port = must_open(link.a(), file.path);
    send(*port, Instant{5}, roce_bytes(1, 60));
    send(link.b(), Instant{6}, roce_bytes(2, 1514));
    take(*port, Instant{2'000'000'000});
    EXPECT_EQ(port->frames_captured(), 2U);
    EXPECT_EQ(port->frames_not_captured(), 0U);
  }
  const auto records = read_capture(file.path);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].wall_ns, kWall + 5);
  EXPECT_EQ(records[0].bytes, roce_bytes(1, 60));
  EXPECT_EQ(records[0].len, 60U);
  EXPECT_EQ(records[1].wall_ns, kWall + 2'000'000'000);
  EXPECT_EQ(records[1].bytes, roce_bytes(2, 1514));
}

TEST(PcapPort, WritesSegmentsBehindTheirHeader) {
  LoopbackLink link;
  const TempFile file;
  const auto whole = roce_bytes(4, 3000);
  auto port = must_open(link.a(), file.path);
  Frame f;
  ASSERT_EQ(port->alloc({&f, 1}), 1U);
  fill(f, {whole.begin(), whole.begin() + 70});
  const std::array<Segment, 3> segments{Segment{&whole[70], 930}, Segment{nullptr, 0},
                                        Segment{&whole[1000], 2000}};
  f.segments = segments.data();
  f.segment_count = 3;
  ASSERT_EQ(port->tx_burst(Instant{}, {&f, 1}), 1U);
  EXPECT_EQ(port->gather_done(), 1U);
  port->flush();
  const auto records = read_capture(file.path);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].bytes, whole);
}

TEST(PcapPort, WritesAcceptedFramesOnly) {
  LoopbackConfig config;
  config.queue = 70;
  LoopbackLink link(config);
  const TempFile file;
  auto port = must_open(link.a(), file.path);
  std::array<Frame, 100> frames;
  ASSERT_EQ(port->alloc(frames), 100U);
  for (uint64_t i = 0; i < frames.size(); i++) {
    fill(frames[i], roce_bytes(i));
  }
  EXPECT_EQ(port->tx_burst(Instant{}, frames), 70U);
  port->release(std::span(frames).subspan(70));
  send(link.b(), Instant{}, roce_bytes(70));
  take(*port, Instant{});
  EXPECT_EQ(port->frames_captured(), 71U);
  port.reset();
  const auto records = read_capture(file.path);
  ASSERT_EQ(records.size(), 71U);
  for (uint64_t i = 0; i < records.size(); i++) {
    EXPECT_EQ(records[i].bytes, roce_bytes(i));
  }
}

TEST(PcapPort, CutsFramesLongerThanTheFormatTakes) {
  LoopbackConfig config;
  config.mtu = 70'000;
  config.buffers = 200;
  LoopbackLink link(config);
  const TempFile file;
  auto port = must_open(link.a(), file.path);
  std::array<Frame, 100> frames;
  ASSERT_EQ(port->alloc(frames), 100U);
  const auto bytes = roce_bytes(8, 65'500);
  const Segment tail{bytes.data(), 100};
  for (Frame& f : frames) {
    fill(f, bytes);
    f.segments = &tail;
    f.segment_count = 1;
  }
  ASSERT_EQ(port->tx_burst(Instant{}, frames), 100U);
  port.reset();
  const auto records = read_capture(file.path);
  ASSERT_EQ(records.size(), 100U);
  for (const Record& r : records) {
    EXPECT_EQ(r.bytes.size(), 65'535U);
    EXPECT_EQ(r.len, 65'600U);
  }
}

TEST(PcapPort, FlushesByItselfAndWhenAsked) {
  LoopbackLink link;
  const TempFile file;
  const auto port = must_open(link.a(), file.path);
  const auto exchange = [&](uint64_t number) {
    send(*port, Instant{}, roce_bytes(number));
    take(link.b(), Instant{});
  };
  exchange(0);
  EXPECT_EQ(read_capture(file.path).size(), 0U);
  port->flush();
  EXPECT_EQ(read_capture(file.path).size(), 1U);
  for (uint64_t i = 0; i < PcapPort::kFlushFrames; i++) {
    exchange(i);
  }
  EXPECT_EQ(read_capture(file.path).size(), 1 + PcapPort::kFlushFrames);
}

TEST(PcapPort, KeepsTheFileFromOtherUsersAndEmptiesAnOldOne) {
  LoopbackLink link;
  const TempFile file;
  must_open(link.a(), file.path);
  struct stat status {};
  ASSERT_EQ(stat(file.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 077, 0U);
  std::ofstream(file.path) << std::string(1000, 'x');
  must_open(link.a(), file.path);
  EXPECT_EQ(std::filesystem::file_size(file.path), 24U);
}

TEST(PcapPort, NamesTheFileItCannotCreate) {
  LoopbackLink link;
  const std::string path = "/nonexistent/x.pcap";
  const auto r = PcapPort::open(link.a(), path, 0);
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().code, ENOENT);
  EXPECT_NE(r.error().reason.find(path), std::string::npos);
  EXPECT_NE(r.error().reason.find("No such file"), std::string::npos);
}

TEST(PcapPort, TakesPlainFilesOnly) {
  LoopbackLink link;
  const TempFile pipe;
  ASSERT_EQ(mkfifo(pipe.path.c_str(), 0600), 0);
  for (const std::string& path : {std::string("/dev/full"), std::string("/tmp"), pipe.path}) {
    const auto r = PcapPort::open(link.a(), path, 0);
    ASSERT_FALSE(r.has_value()) << path;
    EXPECT_NE(r.error().reason.find(path), std::string::npos);
  }
}

/// Makes files of this process end at a size, as a full disk does, until destroyed.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old_);
    rlimit limit = old_;
    limit.rlim_cur = bytes;
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, SIG_DFL);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit old_{};
};

TEST(PcapPort, StopsCapturingButNotTrafficWhenTheFileCannotGrow) {
  LoopbackLink link;
  const TempFile file;
  auto port = must_open(link.a(), file.path);
  constexpr uint64_t kFrames = 3 * PcapPort::kFlushFrames;
  {
    // Room for the first flush, and a part of the second.
    const FileSizeLimit limit(24 + (16 + 64) * (PcapPort::kFlushFrames + 100) + 7);
    for (uint64_t i = 0; i < kFrames; i++) {
      send(*port, Instant{}, roce_bytes(i, 64));
      take(link.b(), Instant{});
    }
    send(link.b(), Instant{}, roce_bytes(kFrames, 64));
    take(*port, Instant{});
    port->flush();
  }
  EXPECT_EQ(port->stats().tx_frames, kFrames);
  EXPECT_EQ(port->stats().rx_frames, 1U);
  EXPECT_EQ(port->frames_captured(), PcapPort::kFlushFrames);
  EXPECT_EQ(port->frames_not_captured(), kFrames + 1 - PcapPort::kFlushFrames);
  port.reset();
  EXPECT_EQ(read_capture(file.path).size(), PcapPort::kFlushFrames);
  EXPECT_EQ(link.free_buffers(), 4096U);
}

TEST(PcapPort, WritesWhatTsharkReads) {
  if (std::system("command -v tshark >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no tshark here";
  }
  LoopbackLink link;
  const TempFile file;
  {
    const auto port = must_open(link.a(), file.path);
    send(*port, Instant{1}, roce_bytes(1, 80));
    send(*port, Instant{2}, roce_bytes(2, 1200));
  }
  const std::string command =
      "tshark -r " + file.path +
      " -T fields -e frame.time_epoch -e frame.len -e udp.dstport 2>/dev/null";
  FILE* const out = popen(command.c_str(), "r");
  ASSERT_NE(out, nullptr);
  std::string text;
  std::array<char, 256> line{};
  while (fgets(line.data(), line.size(), out) != nullptr) {
    text += line.data();
  }
  EXPECT_EQ(pclose(out), 0);
  EXPECT_EQ(text,
            "1700000000.123456790\t80\t4791\n"
            "1700000000.123456791\t1200\t4791\n");
}

}  // namespace
}  // namespace roce::test
