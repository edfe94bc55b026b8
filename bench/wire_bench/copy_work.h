// CopyWork: what no endpoint can avoid doing with a RoCEv2 packet, and nothing else: each payload
// is copied between user memory and the frame in one pass with its ICRC, which the receiver checks.
// No header is looked at, no state is kept but the place in user memory.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "port/dpdk/raw_loops.h"

namespace uroce::wire_bench {

class CopyWork final : public roce::RawWork {
 public:
  /// Packets of `headers` bytes from the IP header on (40 to 128; from 60 on they are taken for
  /// IPv6's), some payload and an ICRC. Payloads are read from `from` and written to `to`, each
  /// gone through from begin to end and then again; both hold one at least and outlive the object.
  CopyWork(size_t headers, std::span<const uint8_t> from, std::span<uint8_t> to);

  void write(std::span<uint8_t> packet) override;
  bool read(std::span<const uint8_t> packet) override;

 private:
  alignas(64) std::array<uint8_t, 128> headers_{};
  size_t header_len_;
  std::span<const uint8_t> from_;
  std::span<uint8_t> to_;
  size_t read_at_ = 0;   // in from_
  size_t write_at_ = 0;  // in to_
};

}  // namespace uroce::wire_bench
