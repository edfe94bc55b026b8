// Fuzzes the engine with live queue pairs. An input is a list of records of equal size: packets
// with right checksums and ICRC, whose PSNs, QPNs, keys and opcodes are chosen relative to what the
// device expects at that moment, mixed with the doings of the device's own user and of time. The
// mutator works on records, so that what was found stays meaningful.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>

#include "base/check.h"
#include "fuzz/hostile_packet.h"
#include "fuzz/input.h"
#include "fuzz/tally.h"
#include "fuzz/victim.h"
#include "wire/crc32.h"
#include "wire/opcode.h"
#include "wire/syndrome.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace roce::fuzz {
namespace {

constexpr size_t kRecord = 16;
constexpr size_t kMaxRecords = 32;
/// So many inputs apart, one is played against a victim of its own as well; with FUZZ_TWICE in the
/// environment, each is.
constexpr uint64_t kTwiceEvery = 4096;
// Bytes of a record.
constexpr size_t kKindAt = 0;  // low bits: what it is; then how often; then whether more follow
constexpr size_t kOpcodeAt = 1;
constexpr size_t kQpAt = 2;
constexpr size_t kPsnAt = 3;

Tally tally;

using wire::Operation;

constexpr Operation kOperations[] = {Operation::send_first,
                                     Operation::send_middle,
                                     Operation::send_last,
                                     Operation::send_last_imm,
                                     Operation::send_only,
                                     Operation::send_only_imm,
                                     Operation::write_first,
                                     Operation::write_middle,
                                     Operation::write_last,
                                     Operation::write_last_imm,
                                     Operation::write_only,
                                     Operation::write_only_imm,
                                     Operation::read_request,
                                     Operation::read_response_first,
                                     Operation::read_response_middle,
                                     Operation::read_response_last,
                                     Operation::read_response_only,
                                     Operation::acknowledge,
                                     Operation::atomic_acknowledge,
                                     Operation::cmp_swap,
                                     Operation::fetch_add,
                                     Operation::send_last_inv,
                                     Operation::send_only_inv,
                                     Operation::flush,
                                     Operation::atomic_write};
constexpr uint32_t kLengths[] = {0, 1, 4, 8, 12, 255, 256, 257, 260, 64};
constexpr uint32_t kDmaLengths[] = {0,   1,   8,    255,         256,         257,
                                    512, 520, 1024, 0x7fff'ffff, 0x8000'0000, 0xffff'ffff};
constexpr uint8_t kTimes[8] = {1, 1, 1, 1, 1, 2, 3, 4};
constexpr wire::Transport kTransports[Victim::kQps] = {wire::Transport::rc, wire::Transport::uc,
                                                       wire::Transport::ud, wire::Transport::rc};
constexpr ibv_wr_opcode kRequests[] = {IBV_WR_SEND,
                                       IBV_WR_SEND_WITH_IMM,
                                       IBV_WR_RDMA_WRITE,
                                       IBV_WR_RDMA_WRITE_WITH_IMM,
                                       IBV_WR_RDMA_READ,
                                       IBV_WR_ATOMIC_CMP_AND_SWP,
                                       IBV_WR_ATOMIC_FETCH_AND_ADD,
                                       IBV_WR_LOCAL_INV,
                                       IBV_WR_SEND_WITH_INV};

/// One input played against the victim.
class Play {
 public:
  Play(Victim& victim, Digest* digest) : victim_(victim) {
    victim_.begin(digest);
    expected_.fill(Victim::kPeerPsn);
  }

  void record(Input in) {
    const uint8_t kind = in.byte();
    switch (kind % 16) {
      default:
        packets(in, kTimes[kind >> 4 & 7]);
        break;
      case 10:
      case 11:
        post_send(in);
        break;
      case 12:
        post_receive(in);
        break;
      case 13:
        pass_time(in);
        break;
      case 14:
        control(in);
        break;
      case 15:
        raw_frame(in);
        break;
    }
    // Now and then several packets arrive together.
    if ((kind & 0x80) == 0) {
      victim_.run();
    }
  }

  /// How many packets there were.
  uint64_t end() {
    victim_.end();
    return packets_;
  }

 private:
  /// So many that follow each other.
  void packets(Input& in, uint8_t times) {
    const uint8_t op = in.byte();
    const uint8_t where = in.byte();
    const auto distance = static_cast<int8_t>(in.byte());
    const size_t index = where % Victim::kQps;
    HostilePacket p;
    p.opcode = (where & 0x80) != 0
                   ? op
                   : wire::opcode_of(kTransports[index], kOperations[op % std::size(kOperations)]);
    p.qpn = (where & 0x60) == 0x60 ? 0xffffff : victim_.qp(index).qpn();
    p.to_group = (where & 0x60) == 0x60;
    p.qpn ^= (where & 0x70) == 0x50 ? 0x10 : 0;
    fill_lengths(in, p);
    fill_flags(in.byte(), p);
    fill_memory(in, p);
    p.syndrome = syndrome_of(in.byte());
    const bool key = in.flag() && wire::kOpcodes[p.opcode].ieth;
    p.imm_or_rkey = key ? victim_.window_key() : 5;
    p.swap_or_add = in.byte();
    p.compare = in.byte() % 2 == 0 ? p.swap_or_add : 0;
    p.qkey = Victim::kQkey;
    p.src_qp = Victim::kPeerQpn;
    p.feth = 1 | (p.syndrome & 0x10);
    for (int i = 0; i < times; ++i) {
      set_psn(index, distance, p);
      p.psn += distance == 0 ? 0 : static_cast<uint32_t>(i);
      victim_.deliver(index, frame_.build(p));
      ++packets_;
    }
  }

  static void fill_lengths(Input& in, HostilePacket& p) {
    const uint8_t length = in.byte();
    const uint32_t payload = kLengths[length % std::size(kLengths)];
    p.pad = static_cast<uint8_t>((length & 0xc0) == 0xc0 ? length >> 4 & 3 : -payload & 3);
    p.bytes = payload + p.pad;
  }

  static void fill_flags(uint8_t flags, HostilePacket& p) {
    p.ack_req = (flags & 1) != 0;
    p.solicited = (flags & 2) != 0;
    p.congested = (flags & 0x1c) == 0x1c;
    p.pkey = (flags & 0xe0) == 0xe0 ? 0x7fff : 0xffff;
  }

  void fill_memory(Input& in, HostilePacket& p) {
    const uint8_t key = in.byte();
    const uint32_t keys[] = {
        victim_.open_key(),    victim_.open_key(), victim_.window_key(), victim_.guard_key(), 0,
        victim_.open_key() ^ 1};
    p.rkey = keys[key % std::size(keys)];
    const uint64_t at[] = {0,
                           8,
                           1,
                           Victim::kOpen - 8,
                           Victim::kOpen - 256,
                           uint64_t(0) - 8,
                           Victim::kOpen,
                           UINT64_MAX / 2};
    p.va = victim_.va(0) + at[in.byte() % std::size(at)];
    p.dma_length = kDmaLengths[in.byte() % std::size(kDmaLengths)];
  }

  static uint8_t syndrome_of(uint8_t byte) {
    constexpr uint8_t kSyndromes[] = {0x1f, 0x1f, 0x1f, 0x00, 0x60, 0x61, 0x62, 0x63,
                                      0x20, 0x21, 0x3f, 0x40, 0x64, 0x9f, 0xff};
    return kSyndromes[byte % std::size(kSyndromes)];
  }

  /// Requests count from what is expected next, responses from the newest request.
  void set_psn(size_t index, int8_t distance, HostilePacket& p) {
    const wire::OpcodeInfo& info = wire::kOpcodes[p.opcode];
    const auto offset = static_cast<uint32_t>(static_cast<int32_t>(distance));
    if (info.verb == wire::Verb::response) {
      p.psn = victim_.port().newest_request(index) + offset;
      return;
    }
    p.psn = expected_[index] + offset;
    if (distance != 0) {
      return;
    }
    const bool read = info.verb == wire::Verb::read && p.dma_length <= 8192;
    expected_[index] += read ? std::max((p.dma_length + 255) / 256, 1u) : 1;
  }

  void post_send(Input& in) {
    const size_t index = in.below(Victim::kQps);
    ibv_send_wr wr{};
    wr.opcode = in.one_of(kRequests);
    const uint8_t flags = in.byte();
    wr.send_flags =
        flags & (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE);
    const uint32_t length = kLengths[in.byte() % std::size(kLengths)] * (1 + (flags >> 6));
    const size_t offset = in.byte() * size_t{16};
    if (index == 2) {
      wr.wr.ud = {victim_.ah().ibv(), Victim::kPeerQpn + 2, Victim::kQkey};
    } else if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr.wr.atomic = {0x1000, 1, 2, 3};
    } else {
      wr.wr.rdma = {0x1000, 3};
    }
    if (wr.opcode == IBV_WR_LOCAL_INV || wr.opcode == IBV_WR_SEND_WITH_INV) {
      wr.invalidate_rkey = wr.opcode == IBV_WR_LOCAL_INV ? victim_.window_key() : 7;
    }
    victim_.post_send(index, wr, offset, length, (flags & 0x30) == 0x30);
  }

  void post_receive(Input& in) {
    const size_t index = in.below(Victim::kQps);
    victim_.post_receive(index, in.byte() * size_t{16}, in.number<uint16_t>() % 2048);
  }

  void pass_time(Input& in) {
    victim_.clock().move(Duration::from_us(int64_t{1} << in.byte() % 22));
    victim_.run();
  }

  void control(Input& in) {
    const size_t index = in.below(Victim::kQps);
    const uint8_t what = in.byte();
    switch (what % 8) {
      case 0:
        victim_.drop_region();
        break;
      case 1:
        victim_.bind_window(index, in.byte() * size_t{8}, in.byte(), IBV_ACCESS_REMOTE_WRITE);
        break;
      case 2:
        victim_.port().refuse(in.flag());
        break;
      case 3:
        for (const ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
          victim_.modify(index, state);
        }
        expected_[index] = Victim::kPeerPsn;
        break;
      default:
        victim_.modify(index, static_cast<ibv_qp_state>(in.byte() % 7));
        break;
    }
  }

  /// As it is: mostly something of the link.
  void raw_frame(Input& in) {
    std::array<uint8_t, 128> frame{};
    std::copy(kOwnMac.bytes.begin(), kOwnMac.bytes.end(), frame.begin());
    std::copy(kPeerMac.bytes.begin(), kPeerMac.bytes.end(), frame.begin() + 6);
    constexpr uint16_t kTypes[] = {0x0800, 0x0806, 0x86dd, 0x8100};
    const uint16_t type = in.one_of(kTypes);
    frame[12] = static_cast<uint8_t>(type >> 8);
    frame[13] = static_cast<uint8_t>(type);
    const auto rest = in.take(kRecord);
    std::copy(rest.begin(), rest.end(), frame.begin() + 14);
    victim_.port().put(frame);
    ++packets_;
  }

  Victim& victim_;
  HostileFrame frame_;
  std::array<uint32_t, Victim::kQps> expected_{};
  uint64_t packets_ = 0;
};

uint64_t play(Victim& victim, std::span<const uint8_t> input, Digest* digest) {
  Play play(victim, digest);
  for (size_t n = 0; !input.empty() && n < kMaxRecords; ++n) {
    const auto record = input.first(std::min(kRecord, input.size()));
    play.record(Input(record.data(), record.size()));
    input = input.subspan(record.size());
  }
  return play.end();
}

/// Plays the input against the victim that has seen many, and against one that has seen none. They
/// must do the same: no input leaves anything behind.
uint64_t play_twice(Victim& victim, std::span<const uint8_t> input) {
  Digest used;
  const uint64_t packets = play(victim, input, &used);
  Digest unused;
  Victim fresh;
  play(fresh, input, &unused);
  ROCE_CHECK(used.value() == unused.value());
  return packets;
}

/// One step of mutation that keeps records whole.
size_t mutate_records(uint8_t* data, size_t records, size_t max_records, uint32_t draw) {
  const auto at = [&](uint32_t n) { return data + n % records * kRecord; };
  uint8_t* const one = at(draw >> 8);
  uint8_t* const other = at(draw >> 16);
  switch (draw % 8) {
    case 0:  // twice
      if (records < max_records) {
        std::memmove(one + kRecord, one, records * kRecord - static_cast<size_t>(one - data));
        return records + 1;
      }
      break;
    case 1:  // not at all
      if (records > 1) {
        std::memmove(one, one + kRecord,
                     records * kRecord - static_cast<size_t>(one - data) - kRecord);
        return records - 1;
      }
      break;
    case 2:
      std::swap_ranges(one, one + kRecord, other == one ? one : other);
      break;
    case 3:
      one[kOpcodeAt] = static_cast<uint8_t>(draw >> 24);
      break;
    case 4:  // near the expected PSN, most often exactly there
      one[kPsnAt] = static_cast<uint8_t>((draw >> 24 & 3) == 0 ? (draw >> 26) % 5 - 2 : 0);
      break;
    case 5:
      one[kQpAt] = static_cast<uint8_t>(draw >> 24 & 3);
      break;
    case 6:
      one[kKindAt] = static_cast<uint8_t>(draw >> 24);
      break;
    default:
      LLVMFuzzerMutate(one, kRecord, kRecord);
      break;
  }
  return records;
}

}  // namespace
}  // namespace roce::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  using namespace roce::fuzz;
  const size_t most = std::min(max_size / kRecord, kMaxRecords);
  size_t records = std::min(size / kRecord, most);
  if (records == 0) {
    return LLVMFuzzerMutate(data, size, std::min(max_size, kRecord));
  }
  std::minstd_rand random(seed);
  for (auto steps = 1 + random() % 4; steps > 0; --steps) {
    records = mutate_records(data, records, most, static_cast<uint32_t>(random() << 16 ^ random()));
  }
  return records * kRecord;
}

/// Of those that this machine has, the kernel that reads no more than it needs with each load: what
/// is masked out costs AddressSanitizer a check a byte. The fuzzer of packets tries the widest.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  using namespace roce::wire;
  if (supported(CrcKernel::pclmul)) {
    detail::crc_in_use.store(&crc_functions(CrcKernel::pclmul));
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace roce::fuzz;
  static Victim victim;
  static uint64_t inputs = 0;
  static const uint64_t every = std::getenv("FUZZ_TWICE") != nullptr ? 1 : kTwiceEvery;
  const bool twice = inputs++ % every == 0;
  tally.add_packets(twice ? play_twice(victim, {data, size}) : play(victim, {data, size}, nullptr));
  return 0;
}
