// Sender: the end that posts: SENDs, WRITEs or READs, in lists, with a completion for every some.
//
// Thread: the caller's, which with drive "rtc" also drives the device. Nothing allocates in the
// loop. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/exchange.h"
#include "common/pattern.h"
#include "common/run/host_memory.h"
#include "common/run/progress.h"
#include "common/run/rc_connection.h"
#include "common/run/run_watch.h"
#include "findings.h"
#include "plan.h"

namespace uroce::bw {

struct SendOutcome {
  uint64_t messages = 0;
  double seconds = 0;
  double peak_seconds = 0;  ///< a message, in the best stretch; 0: not measured
  Findings findings;        ///< READ only; the other operations are checked by the receiver
};

class Sender {
 public:
  /// `mr` covers `memory`, of plan.memory() bytes; all outlive the sender.
  Sender(const Plan& plan, roce::Endpoint& endpoint, app::RcConnection& connection,
         const app::HostMemory& memory, const roce::verbs::Mr& mr, app::RunWatch& watch);

  /// Posts the receives for credits, if any. Requires a queue pair in INIT or later.
  roce::Status prepare();

  /// Runs until all is done and complete, or the watch says otherwise.
  SendOutcome run(const app::QpAddress& peer, app::Progress& progress);

 private:
  static constexpr size_t kPollBatch = 16;
  struct Mark {
    uint64_t message = 0;
    roce::Instant time;
  };

  void build_list();
  void turn();
  void post_all();
  uint64_t postable() const;
  bool post(uint64_t count);
  void place(ibv_send_wr& wr, ibv_sge& sge, uint64_t message);
  bool post_notice();
  void poll_completions();
  void complete_up_to(uint64_t count);
  void poll_credits();
  bool post_credit_receives(uint32_t count);
  void look(roce::Instant now, app::Progress& progress);
  void stop_early();
  double peak_seconds() const;
  bool failed(int code, std::string_view what);

  uint8_t* place_of(uint64_t message) const {
    return memory_.data() + message % plan_.places * plan_.stride;
  }
  bool measures_peak() const { return mark_every_ != 0; }

  const Plan plan_;
  roce::Endpoint& endpoint_;
  app::RcConnection& connection_;
  const app::HostMemory& memory_;
  const roce::verbs::Mr& mr_;
  app::RunWatch& watch_;
  const app::Pattern pattern_;
  const bool drives_;  // the device
  app::QpAddress peer_;
  uint64_t peer_places_ = 1;
  std::vector<ibv_send_wr> list_;
  std::vector<ibv_sge> sges_;
  std::array<ibv_wc, kPollBatch> done_{};  // here, so that it is not blanked for each poll
  uint64_t total_;
  uint64_t posted_ = 0;
  uint64_t completed_ = 0;
  uint32_t unsignaled_ = 0;  // posted since the last one with a completion
  uint64_t noticed_ = 0;
  uint64_t credits_ = 0;
  bool moved_ = false;  // something completed in this turn
  uint32_t quiet_ = 0;  // turns since somebody looked at the clock
  roce::Instant deadline_ = roce::kNever;
  roce::Instant done_at_;
  uint64_t mark_every_ = 0;
  std::vector<Mark> posts_;
  std::vector<Mark> completions_;
  Findings findings_;
};

}  // namespace uroce::bw
