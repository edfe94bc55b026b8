// Sizes of rings and lists from the options.
// SPDX-License-Identifier: BSD-3-Clause
#include "plan.h"

#include <algorithm>
#include <limits>

namespace uroce::bw {
namespace {

constexpr uint64_t kCacheLine = 64;
// Enough places for the default depth at the default size, few enough to stay near the cache.
constexpr uint64_t kValidatedBytes = uint64_t{32} << 20U;
constexpr uint64_t kMostPlaces = 512;

}  // namespace

Plan::Plan(const Options& options)
    : operation(options.operation),
      transport(options.connection.transport),
      srq(options.connection.use_srq),
      size(options.size),
      stride((head() + size + kCacheLine - 1) / kCacheLine * kCacheLine),
      places(options.validate
                 ? std::clamp(kValidatedBytes / options.qps / stride, kGroups, kMostPlaces) /
                       kGroups * kGroups
                 : 1),
      iterations(options.duration_s == 0 ? options.iterations
                                         : std::numeric_limits<uint64_t>::max()),
      duration_s(options.duration_s),
      validate(options.validate),
      seed(options.seed.value_or(0)),
      send_depth(options.connection.send_depth),
      recv_depth(options.connection.recv_depth),
      queue_pairs(options.qps),
      both_ways(options.bidirectional),
      inlined(options.size <= options.connection.inline_size && !fetches(options.operation)),
      no_peak(options.no_peak),
      rate(options.rate > 0 ? options.messages_per_second() : 0),
      burst(options.burst) {
  if (validate) {
    send_depth = std::min(send_depth, static_cast<uint32_t>(places));
    recv_depth = std::min(recv_depth, static_cast<uint32_t>(places));
  }
  post_list = std::min(options.post_list, std::max(send_depth / 2, 1U));
  cq_moderation = std::min(options.cq_moderation, std::max(send_depth / 4, 1U));
}

uint32_t Plan::send_queue(bool server) const {
  return (server && !both_ways ? 0 : send_depth) + (credited() ? kNotices : 0);
}

uint32_t Plan::recv_queue(bool server) const {
  const uint32_t messages = (server || both_ways) && takes_receive(operation) ? recv_depth : 0;
  return messages + (credited() ? kNotices * (srq ? queue_pairs : 1) : 0);
}

}  // namespace uroce::bw
