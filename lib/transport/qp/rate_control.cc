// DCQCN's arithmetic. All of it happens per notification or per interval, nothing but an addition
// and a multiplication per packet.
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/rate_control.h"

#include <algorithm>

namespace roce {

void RateControl::reset() {
  limited_ = false;
  alpha_ = 1;
  increases_ = 0;
  next_ = last_cut_ = {};
}

void RateControl::set_rate(double rate) {
  rate_ = std::max(rate, kMinRate);
  ns_per_byte_ = 1e9 / rate_;
}

void RateControl::on_cnp(Instant now) {
  if (limited_) {
    recover(now);
  }
  if (last_cut_ != Instant{} && now - last_cut_ < kMinCutInterval) {
    return;  // several of one congested moment
  }
  target_ = rate();
  set_rate(target_ * (1 - alpha_ / 2));
  alpha_ = (1 - kAlphaGain) * alpha_ + kAlphaGain;
  limited_ = true;
  increases_ = 0;
  last_cut_ = alpha_updated_ = rate_updated_ = now;
  next_ = std::max(next_, now);
}

void RateControl::on_sent(Instant now, uint32_t bytes) {
  if (!limited_) {
    return;
  }
  recover(now);
  const auto takes = static_cast<int64_t>(ns_per_byte_ * bytes);
  next_ = std::max(next_, now) + Duration::from_ns(takes);
}

void RateControl::recover(Instant now) {
  for (; now - alpha_updated_ >= kAlphaInterval && alpha_ > kAlphaGain;
       alpha_updated_ = alpha_updated_ + kAlphaInterval) {
    alpha_ *= 1 - kAlphaGain;
  }
  for (; limited_ && now - rate_updated_ >= kIncreaseInterval;
       rate_updated_ = rate_updated_ + kIncreaseInterval) {
    if (++increases_ > kFastRecoveries) {
      target_ += kAdditiveStep * (increases_ - kFastRecoveries);
    }
    set_rate((rate_ + target_) / 2);
    limited_ = rate_ < line_rate_;
  }
}

}  // namespace roce
