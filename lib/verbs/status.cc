// Names of completion statuses, worded as libibverbs does so that people recognise them.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include <roce/verbs.h>

namespace roce::verbs {

std::string_view wc_status_name(ibv_wc_status status) {
  static constexpr std::array<std::string_view, 24> kNames = {
      "success",
      "local length error",
      "local QP operation error",
      "local EE context operation error",
      "local protection error",
      "Work Request Flushed Error",
      "memory management operation error",
      "bad response error",
      "local access error",
      "remote invalid request error",
      "remote access error",
      "remote operation error",
      "transport retry counter exceeded",
      "RNR retry counter exceeded",
      "local RDD violation error",
      "remote invalid RD request",
      "aborted error",
      "invalid EE context number",
      "invalid EE context state",
      "fatal error",
      "response timeout error",
      "general error",
      "TM error",
      "TM software rendezvous",
  };
  const auto i = static_cast<size_t>(status);
  return i < kNames.size() ? kNames[i] : "unknown";
}

}  // namespace roce::verbs
