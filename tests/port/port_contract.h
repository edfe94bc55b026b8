// PortContract: what every Port promises, as tests that any port can run. A test of a port supplies
// a type for two connected ports and instantiates the suite with it:
//
//   struct MyPair {
//     Port& a();
//     Port& b();
//     Instant now();  // does not go back; moves on when the ports' time is real
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(MyPort, PortContract, MyPair);
//
// The pair must be ready to carry frames once constructed, deliver all of them in order, and have a
// limited number of buffers.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "base/prng.h"
#include "port/port.h"
#include "port/test_frames.h"

namespace roce::test {

template <class Pair>
class PortContract : public testing::Test {
 protected:
  static constexpr uint32_t kLinkHeader = 14;
  static constexpr int kPatience = 100000;  ///< polls in vain

  Port& a() { return pair_->a(); }
  Port& b() { return pair_->b(); }
  Instant now() { return pair_->now(); }

  std::vector<uint8_t> bytes_to(Port& to, uint64_t number, uint32_t len = kMinFrameLen) {
    return roce_bytes(number, len, to.info().mac, (&to == &a() ? b() : a()).info().mac);
  }

  /// Exactly one blank frame.
  Frame blank(Port& port) {
    Frame f;
    EXPECT_EQ(port.alloc({&f, 1}), 1U);
    return f;
  }

  /// All blank frames that there are.
  std::vector<Frame> take_all(Port& port) {
    std::vector<Frame> all;
    std::array<Frame, 32> burst;
    for (size_t n = port.alloc(burst); n > 0; n = port.alloc(burst)) {
      all.insert(all.end(), burst.begin(), burst.begin() + static_cast<std::ptrdiff_t>(n));
    }
    return all;
  }

  size_t count_buffers(Port& port) {
    std::vector<Frame> all = take_all(port);
    port.release(all);
    return all.size();
  }

  /// Sends one frame, however often it must be offered.
  void send(Port& port, Frame& frame) {
    for (int i = 0; i < kPatience; i++) {
      if (port.tx_burst(now(), {&frame, 1}) == 1) {
        return;
      }
    }
    FAIL() << "the port does not accept a frame";
  }

  void send(Port& port, const std::vector<uint8_t>& bytes) {
    Frame f = blank(port);
    fill(f, bytes);
    send(port, f);
  }

  /// Up to `wanted` frames; fewer when no more come.
  std::vector<Frame> receive(Port& port, size_t wanted) {
    std::vector<Frame> frames(wanted);
    size_t got = 0;
    for (int i = 0; i < kPatience && got < wanted; i++) {
      got += port.rx_burst(now(), std::span(frames).subspan(got));
    }
    frames.resize(got);
    return frames;
  }

 private:
  std::unique_ptr<Pair> pair_ = std::make_unique<Pair>();
};

TYPED_TEST_SUITE_P(PortContract);

TYPED_TEST_P(PortContract, LendsBlankFramesWithRoomForTheMtuEach) {
  std::array<Frame, 4> frames;
  ASSERT_EQ(this->a().alloc(frames), frames.size());
  const size_t room = 14 + 4 + this->a().info().mtu;
  for (size_t i = 0; i < frames.size(); i++) {
    EXPECT_EQ(frames[i].len, 0U);
    EXPECT_EQ(frames[i].segment_count, 0U);
    std::fill_n(frames[i].data, room, static_cast<uint8_t>(i));
  }
  for (size_t i = 0; i < frames.size(); i++) {
    EXPECT_EQ(std::count(frames[i].data, frames[i].data + room, static_cast<uint8_t>(i)),
              static_cast<std::ptrdiff_t>(room))
        << "frame " << i << " shares bytes with another";
  }
  this->a().release(frames);
}

TYPED_TEST_P(PortContract, CarriesFramesOfAllLengthsWholeAndInOrder) {
  Prng prng(7);
  std::vector<std::vector<uint8_t>> sent;
  for (uint64_t i = 0; i < 64; i++) {
    const uint32_t most = this->kLinkHeader + this->a().info().mtu;
    const uint32_t len = i == 0 ? most : kMinFrameLen + 14 + prng.below(most - kMinFrameLen - 13);
    sent.push_back(this->bytes_to(this->b(), i, len));
    this->send(this->a(), sent.back());
  }
  std::vector<Frame> got = this->receive(this->b(), sent.size());
  ASSERT_EQ(got.size(), sent.size());
  for (size_t i = 0; i < got.size(); i++) {
    EXPECT_EQ(got[i].segment_count, 0U);
    EXPECT_EQ(bytes_of(got[i]), sent[i]) << "frame " << i;
  }
  this->b().release(got);
}

TYPED_TEST_P(PortContract, LeavesReceivedFramesUnchangedUntilTheirRelease) {
  const auto first = this->bytes_to(this->b(), 1, 200);
  this->send(this->a(), first);
  std::vector<Frame> kept = this->receive(this->b(), 1);
  ASSERT_EQ(kept.size(), 1U);
  for (uint64_t i = 0; i < 500; i++) {
    this->send(this->a(), this->bytes_to(this->b(), i, 200));
    std::vector<Frame> other = this->receive(this->b(), 1);
    ASSERT_EQ(other.size(), 1U);
    this->b().release(other);
  }
  EXPECT_EQ(bytes_of(kept[0]), first);
  this->b().release(kept);
}

TYPED_TEST_P(PortContract, JoinsSegmentsAndCountsThemDone) {
  Port& port = this->a();
  if (port.info().max_segments == 0) {
    GTEST_SKIP() << "contiguous frames only";
  }
  const uint64_t done_before = port.gather_done();
  const auto whole = this->bytes_to(this->b(), 5, 1400);
  Frame f = this->blank(port);
  fill(f, {whole.begin(), whole.begin() + 60});
  std::vector<Segment> segments;
  const uint32_t pieces = std::min(port.info().max_segments, 3U);
  for (uint32_t i = 0, at = 60; i < pieces; i++) {
    const uint32_t len = i + 1 == pieces ? 1400 - at : 333;
    segments.push_back({&whole[at], len});
    at += len;
  }
  f.segments = segments.data();
  f.segment_count = pieces;
  this->send(port, f);
  // The array, unlike the bytes that it names, may go at once.
  std::fill(segments.begin(), segments.end(), Segment{});

  std::vector<Frame> got = this->receive(this->b(), 1);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(bytes_of(got[0]), whole);
  this->b().release(got);
  for (int i = 0; i < this->kPatience && port.gather_done() == done_before; i++) {
    EXPECT_EQ(port.tx_burst(this->now(), {}), 0U);
  }
  EXPECT_EQ(port.gather_done(), done_before + 1);
}

TYPED_TEST_P(PortContract, CountsBlanksItCannotLendAndLendsThemAfterRelease) {
  const uint64_t failed_before = this->a().stats().alloc_failed;
  std::vector<Frame> all = this->take_all(this->a());
  ASSERT_FALSE(all.empty());
  EXPECT_GT(this->a().stats().alloc_failed, failed_before);
  this->a().release(all);
  EXPECT_EQ(this->count_buffers(this->a()), all.size());
}

TYPED_TEST_P(PortContract, RefusesFromTheFrontOfWhatItCannotHoldAndLosesNothingAccepted) {
  std::vector<Frame> frames = this->take_all(this->a());
  for (uint64_t i = 0; i < frames.size(); i++) {
    fill(frames[i], this->bytes_to(this->b(), i));
  }
  std::vector<Frame> got;
  std::span<Frame> rest(frames);
  const PortStats before = this->a().stats();
  uint64_t refused = 0;
  for (int idle = 0; !rest.empty() && idle < this->kPatience; idle++) {
    const size_t n = this->a().tx_burst(this->now(), rest);
    refused += rest.size() - n;
    rest = rest.subspan(n);
    std::vector<Frame> burst(100);
    const size_t m = this->b().rx_burst(this->now(), burst);
    got.insert(got.end(), burst.begin(), burst.begin() + static_cast<std::ptrdiff_t>(m));
    idle = n + m != 0 ? 0 : idle;
  }
  EXPECT_EQ(this->a().stats().tx_refused - before.tx_refused, refused);
  EXPECT_EQ(this->a().stats().tx_frames - before.tx_frames, frames.size() - rest.size());
  this->a().release(rest);
  std::vector<Frame> late = this->receive(this->b(), frames.size() - rest.size() - got.size());
  got.insert(got.end(), late.begin(), late.end());
  ASSERT_EQ(got.size(), frames.size() - rest.size());
  for (size_t i = 0; i < got.size(); i++) {
    ASSERT_EQ(number_of(got[i]), i);
  }
  this->b().release(got);
}

TYPED_TEST_P(PortContract, AcceptsEmptyBursts) {
  EXPECT_EQ(this->a().alloc({}), 0U);
  EXPECT_EQ(this->a().tx_burst(this->now(), {}), 0U);
  EXPECT_EQ(this->a().rx_burst(this->now(), {}), 0U);
  this->a().release({});
}

TYPED_TEST_P(PortContract, KeepsAllBuffersThroughTrafficBothWays) {
  const std::array<Port*, 2> ports{&this->a(), &this->b()};
  const std::array<size_t, 2> buffers{this->count_buffers(this->a()),
                                      this->count_buffers(this->b())};
  Prng prng(11);
  std::array<uint64_t, 2> sent{};
  std::array<uint64_t, 2> received{};
  std::array<Frame, 32> burst;
  const auto take = [&](size_t side, std::span<Frame> frames) {
    for (const Frame& f : frames) {
      EXPECT_EQ(number_of(f), received[side]++);
    }
    ports[side]->release(frames);
  };
  for (int round = 0; round < 2000; round++) {
    const size_t side = prng.below(2);
    const size_t n = ports[side]->alloc(std::span(burst).first(prng.below(33)));
    for (size_t i = 0; i < n; i++) {
      fill(burst[i], this->bytes_to(*ports[1 - side], sent[side] + i));
    }
    const size_t accepted = ports[side]->tx_burst(this->now(), std::span(burst).first(n));
    sent[side] += accepted;
    ports[side]->release(std::span(burst).first(n).subspan(accepted));
    const size_t m = ports[side]->rx_burst(this->now(), burst);
    take(side, std::span(burst).first(m));
  }
  for (size_t side = 0; side < 2; side++) {
    std::vector<Frame> rest = this->receive(*ports[side], sent[1 - side] - received[side]);
    take(side, rest);
    EXPECT_EQ(received[side], sent[1 - side]);
    EXPECT_EQ(ports[side]->stats().rx_frames, received[side]);
    EXPECT_EQ(ports[side]->stats().tx_frames, sent[side]);
  }
  EXPECT_EQ(this->count_buffers(this->a()), buffers[0]);
  EXPECT_EQ(this->count_buffers(this->b()), buffers[1]);
}

REGISTER_TYPED_TEST_SUITE_P(PortContract, LendsBlankFramesWithRoomForTheMtuEach,
                            CarriesFramesOfAllLengthsWholeAndInOrder,
                            LeavesReceivedFramesUnchangedUntilTheirRelease,
                            JoinsSegmentsAndCountsThemDone,
                            CountsBlanksItCannotLendAndLendsThemAfterRelease,
                            RefusesFromTheFrontOfWhatItCannotHoldAndLosesNothingAccepted,
                            AcceptsEmptyBursts, KeepsAllBuffersThroughTrafficBothWays);

}  // namespace roce::test
