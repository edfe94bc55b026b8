// What ScriptWriter says of values that need no context, in C++ as the packet scripts write it.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "sim/swarm/options.h"
#include "sim/swarm/parts.h"

namespace roce::swarm {

inline constexpr uint32_t kPsnMask = 0xffffff;

/// connect({...}), line by line.
std::vector<std::string> words_of_setup(const Options& options, const End& end, const Connection& c,
                                        uint32_t own_psn, uint32_t peer_psn);
/// "wr_send(7).from(0, 8)", or "" for what there are no words for.
std::string words_of_request(const ibv_send_wr& wr, const SendRecord& record);
std::string words_of_state(ibv_qp_state state);
std::string words_of_completion(const ibv_wc& wc);

}  // namespace roce::swarm
