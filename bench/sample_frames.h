// SampleFrames: a burst of frames in memory of its own with all that Step needs to fill them, for
// benches of single steps. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/frame.h"
#include "base/random.h"
#include "memory/region_table.h"
#include "qp/path.h"
#include "qp/step.h"
#include "sample_path.h"
#include "wire/opcode.h"

namespace roce::bench {

class SampleFrames {
 public:
  static constexpr size_t kCount = 32;  ///< frames of a burst

  SampleFrames() : regions_(1, system_random()), memory_(kCount * kRoom), payload_(kRoom, 0x5a) {
    for (size_t i = 0; i < kCount; ++i) {
      frames_[i].data = memory_.data() + i * kRoom;
    }
  }

  std::span<Frame> frames() { return frames_; }

  /// Fills all frames with RC packets of this operation. The extension headers are whatever lies
  /// there: their fields are the business of a QP's halves.
  void fill(wire::Operation operation, uint32_t payload_len) {
    Step step(Instant{}, regions_, frames_);
    step.allow(kCount);
    for (size_t i = 0; i < kCount; ++i) {
      step.open(path_, {.opcode = wire::opcode_of(wire::Transport::rc, operation),
                        .ack_req = i + 1 == kCount,
                        .psn = Psn(static_cast<uint32_t>(i)),
                        .payload_len = payload_len});
      step.append(payload_.data(), payload_len);
      step.close();
    }
    step.finish();
  }

 private:
  static constexpr size_t kRoom = 8192;  // bytes of a frame; more than the largest packet

  RegionTable regions_;
  Path path_{test::sample_path()};
  std::vector<uint8_t> memory_;
  std::vector<uint8_t> payload_;
  std::array<Frame, kCount> frames_{};
};

}  // namespace roce::bench
