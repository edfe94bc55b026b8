// RateControl: how fast a QP may send after its peer has told of congestion: DCQCN (Zhu et al.,
// "Congestion Control for Large-Scale RDMA Deployments", 2015) as reaction point. Each notification
// (CNP) cuts the rate by a share that grows with their frequency; without them the rate comes back,
// first half-way to what it was, then beyond. Packets are paced: the next one waits until the last
// one has had its time. Exists only for QPs of an endpoint where it is switched on.
// Thread: the engine's.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "base/time.h"

namespace roce {

class RateControl {
 public:
  static constexpr double kAlphaGain = 1.0 / 256;
  static constexpr Duration kAlphaInterval = Duration::from_us(55);
  static constexpr Duration kIncreaseInterval = Duration::from_us(300);
  static constexpr uint32_t kFastRecoveries = 5;     ///< steps half-way back to the target
  static constexpr double kAdditiveStep = 40e6 / 8;  ///< bytes a second
  static constexpr double kMinRate = 10e6 / 8;       ///< bytes a second
  static constexpr Duration kMinCutInterval = Duration::from_us(50);

  /// `line_rate`: bytes a second of an uncongested QP.
  explicit RateControl(double line_rate) : line_rate_(line_rate) { reset(); }

  void reset();
  /// A congestion notification has arrived.
  void on_cnp(Instant now);
  /// A packet of `bytes` leaves now.
  void on_sent(Instant now, uint32_t bytes);
  /// The next packet may leave.
  bool may_send(Instant now) const { return !limited_ || now >= next_; }
  /// When the next packet may leave, if not now.
  Instant next() const { return next_; }
  /// Bytes a second; the line rate while nothing limits it.
  double rate() const { return limited_ ? rate_ : line_rate_; }

 private:
  void recover(Instant now);
  void set_rate(double rate);

  double line_rate_;
  double rate_ = 0;
  double target_ = 0;
  double alpha_ = 1;
  double ns_per_byte_ = 0;
  uint32_t increases_ = 0;  // since the last cut
  bool limited_ = false;
  Instant next_;
  Instant last_cut_;
  Instant alpha_updated_;
  Instant rate_updated_;
};

}  // namespace roce
