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

/// Bytes of a frame that are asked for when its packet is begun: a small packet, or the headers of
/// a large one. The rest is asked for one frame ahead: the processor's own prefetcher follows the
/// payload, but starts anew with each page.
constexpr size_t kLine = 64;
constexpr size_t kEarly = 3 * kLine;

/// Makes the lines of bytes [from, to) this core's own while it does something else. Every x86-64
/// processor knows the instruction, or ignores it; the compiler emits it for newer ones only.
void own(const uint8_t* frame, size_t from, size_t to) {
  for (size_t at = from; at < to; at += kLine) {
    asm volatile("prefetchw %0" : : "m"(frame[at]));
  }
}

}  // namespace

void Step::own_frame(const Frame& blank) {
  own(blank.data, 0, kEarly);
}

uint8_t* Step::open(const Path& path, const PacketSpec& spec) {
  ROCE_DCHECK(!full());
  own_frame(blanks_[used_]);
  Draft& draft = drafts_[used_];
  next_segment_ = used_ == finished_ ? 0 : drafts_[used_ - 1].end_segment;
  const wire::OpcodeInfo& info = wire::kOpcodes[spec.opcode];
  const auto extensions = static_cast<uint32_t>(info.headers_len - wire::Bth::kSize);
  draft.pad = -spec.payload_len & 3;
  path.write_headers(draft.header.data(), extensions + spec.payload_len + draft.pad +
                                              static_cast<uint32_t>(wire::kIcrcSize));
  draft.l3_at = static_cast<uint32_t>(path.l3_at());
  draft.header_len = static_cast<uint32_t>(path.bth_at()) + info.headers_len;
  draft.len =
      draft.header_len + spec.payload_len + draft.pad + static_cast<uint32_t>(wire::kIcrcSize);
  uint8_t* const bth = draft.header.data() + path.bth_at();
  bth[wire::Bth::kOpcodeAt] = spec.opcode;
  bth[wire::Bth::kFlagsAt] = static_cast<uint8_t>((spec.solicited ? wire::Bth::kSolicitedBit : 0u) |
                                                  draft.pad << wire::Bth::kPadShift);
  store_be<uint32_t>(bth + wire::Bth::kAckReqAt,
                     (spec.ack_req ? 0x8000'0000u : 0u) | spec.psn.value());
  if (used_ == finished_) {
    own(blanks_[used_].data, kEarly, draft.len);
  }
  destinations_ |= static_cast<uint64_t>(path.destination()) << 2 * used_;
  return bth + wire::Bth::kSize;
}

void Step::finish() {
  for (uint32_t segment = 0; finished_ < used_; ++finished_) {
    const size_t next = finished_ + 1;
    if (next < used_) {
      own(blanks_[next].data, kEarly, drafts_[next].len);
    }
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
