// Packet assembly: template, patched words, payload copied in the same pass that computes the ICRC.
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/step.h"

#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "wire/crc32.h"
#include "wire/icrc.h"
#include "wire/opcode.h"

namespace roce {

namespace {

/// Lines of a frame that are asked for early: those of a small packet, or the headers of a large
/// one, whose payload the processor's own prefetcher follows.
constexpr size_t kLine = 64;
constexpr size_t kEarlyLines = 3;

/// Makes the lines this core's own while it does something else. Every x86-64 processor knows the
/// instruction, or ignores it; the compiler emits it for newer ones only.
void own_early(const uint8_t* frame) {
  for (size_t i = 0; i < kEarlyLines; ++i) {
    asm volatile("prefetchw %0" : : "m"(frame[i * kLine]));
  }
}

}  // namespace

uint8_t* Step::open(const Path& path, const PacketSpec& spec) {
  ROCE_DCHECK(!full());
  own_early(blanks_[used_].data);
  Draft& draft = drafts_[used_];
  next_segment_ = used_ == finished_ ? 0 : drafts_[used_ - 1].end_segment;
  const wire::OpcodeInfo& info = wire::kOpcodes[spec.opcode];
  const auto extensions = static_cast<uint32_t>(info.headers_len - wire::Bth::kSize);
  draft.pad = -spec.payload_len & 3;
  path.write_headers(draft.header.data(), extensions + spec.payload_len + draft.pad +
                                              static_cast<uint32_t>(wire::kIcrcSize));
  draft.l3_at = static_cast<uint32_t>(path.l3_at());
  draft.header_len = static_cast<uint32_t>(path.bth_at()) + info.headers_len;
  uint8_t* const bth = draft.header.data() + path.bth_at();
  bth[wire::Bth::kOpcodeAt] = spec.opcode;
  bth[wire::Bth::kFlagsAt] = static_cast<uint8_t>((spec.solicited ? wire::Bth::kSolicitedBit : 0u) |
                                                  draft.pad << wire::Bth::kPadShift);
  store_be<uint32_t>(bth + wire::Bth::kAckReqAt,
                     (spec.ack_req ? 0x8000'0000u : 0u) | spec.psn.value());
  destinations_ |= static_cast<uint64_t>(path.destination()) << 2 * used_;
  return bth + wire::Bth::kSize;
}

void Step::finish() {
  for (uint32_t segment = 0; finished_ < used_; ++finished_) {
    segment = fill(drafts_[finished_], segment, blanks_[finished_]);
  }
}

/// Puts one packet into its frame; returns the segment after its last.
uint32_t Step::fill(const Draft& draft, uint32_t first_segment, Frame& frame) const {
  uint32_t crc =
      wire::icrc_of_headers(draft.header.data() + draft.l3_at, draft.header_len - draft.l3_at);
  // Whole lines: a fixed size is cheaper, and the frame has room for it.
  std::memcpy(frame.data, draft.header.data(), draft.header.size());
  uint8_t* at = frame.data + draft.header_len;
  uint32_t i = first_segment;
  for (; i < draft.end_segment; ++i) {
    crc = wire::crc32_copy(crc, at, segments_[i].data, segments_[i].len);
    at += segments_[i].len;
  }
  if (draft.pad != 0) {
    std::memset(at, 0, draft.pad);
    crc = wire::crc32_update(crc, at, draft.pad);
    at += draft.pad;
  }
  wire::store_icrc(at, wire::icrc_finish(crc));
  at += wire::kIcrcSize;
  frame.len = static_cast<uint32_t>(at - frame.data);
  return i;
}

/// Makes room for segments of the packet under construction, by finishing those before it.
void Step::make_room() {
  const uint32_t first = used_ == finished_ ? 0 : drafts_[used_ - 1].end_segment;
  finish();
  ROCE_CHECK(first > 0);  // a packet has no more pieces than a WQE, far below the room
  std::copy(segments_.begin() + first, segments_.begin() + next_segment_, segments_.begin());
  next_segment_ -= first;
}

}  // namespace roce
