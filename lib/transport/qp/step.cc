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

uint8_t* Step::open(const Path& path, const PacketSpec& spec) {
  ROCE_DCHECK(!full());
  const wire::OpcodeInfo& info = wire::kOpcodes[spec.opcode];
  const auto extensions = static_cast<uint32_t>(info.headers_len - wire::Bth::kSize);
  pad_ = -spec.payload_len & 3;
  path.write_headers(header_.data(),
                     extensions + spec.payload_len + pad_ + static_cast<uint32_t>(wire::kIcrcSize));
  l3_ = header_.data() + path.l3_at();
  uint8_t* const bth = header_.data() + path.bth_at();
  bth[wire::Bth::kOpcodeAt] = spec.opcode;
  bth[wire::Bth::kFlagsAt] = static_cast<uint8_t>((spec.solicited ? wire::Bth::kSolicitedBit : 0u) |
                                                  pad_ << wire::Bth::kPadShift);
  store_be<uint32_t>(bth + wire::Bth::kAckReqAt,
                     (spec.ack_req ? 0x8000'0000u : 0u) | spec.psn.value());
  header_end_ = bth + info.headers_len;
  destinations_ |= static_cast<uint64_t>(path.destination()) << 2 * used_;
  return bth + wire::Bth::kSize;
}

void Step::begin_payload() {
  crc_ = wire::icrc_of_headers(l3_, static_cast<size_t>(header_end_ - l3_));
  // Whole lines: a fixed size is cheaper, and the frame has room for it.
  std::memcpy(blanks_[used_].data, header_.data(), header_.size());
  at_ = blanks_[used_].data + (header_end_ - header_.data());
}

void Step::append(const uint8_t* data, uint32_t len) {
  crc_ = wire::crc32_copy(crc_, at_, data, len);
  at_ += len;
}

void Step::close() {
  if (pad_ != 0) {
    std::memset(at_, 0, pad_);
    crc_ = wire::crc32_update(crc_, at_, pad_);
    at_ += pad_;
  }
  wire::store_icrc(at_, wire::icrc_finish(crc_));
  at_ += wire::kIcrcSize;
  Frame& frame = blanks_[used_];
  frame.len = static_cast<uint32_t>(at_ - frame.data);
  ++used_;
}

}  // namespace roce
