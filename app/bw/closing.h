// The two lines that end a run of uroce-bw over the TCP connection: the sender's total, then what
// the receiver makes of it. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/exchange.h"

namespace uroce::bw {

/// Sender to receiver. No message is under way any more.
struct Closing {
  uint64_t messages = 0;
  double seconds = 0;
  bool interrupted = false;
};

/// Receiver to sender.
struct Answer {
  uint64_t checked = 0;  ///< messages of which every byte was compared
  uint64_t wrong = 0;
  uint64_t lost = 0;
  std::string first;  ///< the first wrong byte, in words
};

/// As one line.
std::string line_of(const Closing& closing);
std::string line_of(const Answer& answer);

/// The reverse; EPROTO when `line` is anything else.
roce::Result<Closing> parse_closing(std::string_view line);
roce::Result<Answer> parse_answer(std::string_view line);

}  // namespace uroce::bw
