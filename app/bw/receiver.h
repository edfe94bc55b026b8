// Receiver: the server's end of a run. For SEND it takes messages and posts receives again in
// batches; for validated WRITEs it compares group after group and gives credits; otherwise its
// engine does all the work.
//
// Thread: the caller's, which with drive "rtc" also drives the device. Nothing allocates in the
// loop. SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/pattern.h"
#include "common/run/host_memory.h"
#include "common/run/progress.h"
#include "common/run/rc_connection.h"
#include "findings.h"
#include "plan.h"

namespace uroce::bw {

struct ReceiveOutcome {
  uint64_t messages = 0;  ///< that the receiver itself has seen: none of READs and plain WRITEs
  double seconds = 0;     ///< from the first to the last
  Findings findings;
};

class Receiver {
 public:
  /// `mr` covers `memory`, of plan.memory() bytes; all outlive the receiver.
  Receiver(const Plan& plan, roce::Endpoint& endpoint, app::RcConnection& connection,
           const app::HostMemory& memory, const roce::verbs::Mr& mr);

  /// Fills what will be READ and posts the receives. Requires a queue pair in INIT or later.
  roce::Status prepare();

  /// Some rounds of the device and of the queues. False when something went wrong: reason().
  bool turn(app::Progress& progress);

  /// Turns until `total` messages have been seen, where the receiver sees them. They are all on
  /// their way, so silence of some seconds is an error.
  bool finish(uint64_t total, app::Progress& progress);

  const std::string& reason() const { return reason_; }
  ReceiveOutcome outcome() const;

 private:
  static constexpr size_t kPollBatch = 32;

  bool sees_messages() const { return plan_.operation == Operation::send || plan_.credited(); }
  void build_list();
  bool post_batch();
  bool post_notice_receive();
  bool poll_receives();
  bool take_message(const ibv_wc& wc);
  bool take_group(const ibv_wc& wc);
  bool poll_credits();
  bool failed(int code, std::string_view what);
  uint8_t* place_of(uint64_t number, uint64_t places) const {
    return memory_.data() + number % places * plan_.stride;
  }

  const Plan plan_;
  roce::Endpoint& endpoint_;
  app::RcConnection& connection_;
  const app::HostMemory& memory_;
  const roce::verbs::Mr& mr_;
  const app::Pattern pattern_;
  const bool drives_;  // the device
  std::vector<ibv_recv_wr> list_;
  std::vector<ibv_sge> sges_;
  std::array<ibv_wc, kPollBatch> done_{};  // here, so that it is not blanked for each poll
  uint64_t posted_ = 0;
  uint64_t received_ = 0;
  bool moved_ = false;  // something has come in this turn
  roce::Instant first_;
  roce::Instant last_;
  Findings findings_;
  std::string reason_;
};

}  // namespace uroce::bw
