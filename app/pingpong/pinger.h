// Pinger: the measured loop of uroce-pingpong. One message is under way at a time, so one place to
// receive into is enough; sent messages have several, since a buffer stays the device's until its
// completion has been polled.
//
// Thread: the caller's, which with drive "rtc" also drives the device.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/exchange.h"
#include "common/histogram.h"
#include "common/pattern.h"
#include "common/run/host_memory.h"
#include "common/run/progress.h"
#include "common/run/rc_connection.h"
#include "common/run/run_watch.h"
#include "options.h"

namespace uroce::pingpong {

/// What both ends' loops have to know.
struct Plan {
  Operation operation = Operation::send;
  uint64_t size = 0;
  uint64_t iterations = 0;
  bool server = false;
  bool stock = false;     ///< the other end is ibv_rc_pingpong, with its contents
  bool validate = false;  ///< every byte that arrives
  uint64_t seed = 0;      ///< of the contents

  /// Bytes of memory the plan needs.
  uint64_t memory() const { return (kReceivePlaces + send_places()) * stride(); }
  /// Distance of places in memory.
  uint64_t stride() const { return (size + 63) / 64 * 64; }
  /// Few when they are large.
  uint64_t send_places() const { return size <= 65536 ? 16 : 2; }

  static constexpr uint64_t kReceivePlaces = 2;
};

struct Outcome {
  uint64_t iterations = 0;  ///< round trips, or READs
  double seconds = 0;
  app::Histogram times;  ///< of round trips, or READs
  uint64_t checked = 0;  ///< messages of which every byte was compared
};

class Pinger {
 public:
  /// `mr` covers `memory`, of plan.memory() bytes; all outlive the pinger.
  Pinger(const Plan& plan, roce::Endpoint& endpoint, app::RcConnection& connection,
         const app::HostMemory& memory, const roce::verbs::Mr& mr, app::RunWatch& watch);

  /// Posts the first receives. Requires a queue pair in INIT or later.
  roce::Status prepare(uint32_t recv_depth);

  /// Runs all iterations, or as many as the watch allows. The server of READs must not call it.
  /// `peer` is the other end's memory.
  Outcome run(const app::QpAddress& peer, app::Progress& progress);

  /// Polls until every send has completed; false when the watch ended it.
  bool drain();

 private:
  void bounce();
  void read();
  bool send(uint64_t number);
  bool post(ibv_send_wr& wr, uint64_t number);
  bool await(uint64_t number);
  bool await_receive();
  bool await_byte(uint64_t number);
  bool accept(uint64_t number);
  bool accept_stock();
  std::optional<app::WrongByte> compare(uint64_t number) const;
  void take_receive(const ibv_wc& wc);
  void poll_sends();
  bool step(uint32_t& idle);
  bool post_receives(uint32_t count);
  void fill(uint64_t number);
  void note_round_trip(uint64_t number);

  uint8_t* receive_place() const { return memory_.data(); }
  uint8_t* send_place(uint64_t number) const {
    return memory_.data() + (Plan::kReceivePlaces + number % plan_.send_places()) * plan_.stride();
  }
  /// Number of the message in the pattern: odd ones go from server to client.
  static uint64_t pattern_number(uint64_t number, bool from_server) {
    return 2 * number + (from_server ? 1 : 0);
  }

  const Plan plan_;
  roce::Endpoint& endpoint_;
  app::RcConnection& connection_;
  const app::HostMemory& memory_;
  const roce::verbs::Mr& mr_;
  app::RunWatch& watch_;
  app::Pattern pattern_;
  app::QpAddress peer_;
  app::Progress* progress_ = nullptr;  // during run()
  const bool drives_;                  // the device
  std::vector<ibv_sge> recv_sge_;
  std::vector<ibv_recv_wr> recv_list_;
  uint32_t recv_depth_ = 0;
  uint32_t receives_ = 0;  // posted and not completed
  uint64_t posted_ = 0;    // sends
  uint64_t completed_ = 0;
  roce::Instant last_;  // arrival of the last message
  Outcome outcome_;
};

}  // namespace uroce::pingpong
