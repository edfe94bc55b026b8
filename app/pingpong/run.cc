// From two processes to a figure.
// SPDX-License-Identifier: BSD-3-Clause
#include "run.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/run/progress.h"
#include "common/run/rig.h"
#include "common/run/run_watch.h"
#include "pinger.h"
#include "result.h"

namespace uroce::pingpong {
namespace {

using roce::Status;

// Who was told to stop has to notice, and to end.
constexpr std::chrono::milliseconds kLeaveLimit{2000};
// The stock tools do not meet again after the run, and may still need an ACK.
constexpr std::chrono::milliseconds kStockLinger{300};

class Run {
 public:
  Run(const Options& options, app::Session session)
      : options_(options), rig_(options, std::move(session)) {}

  int whole();

 private:
  Status find_dialect();
  Status set_up();
  Status meet();
  Status meet_uroce();
  Status meet_stock_server();
  Status meet_stock_client();
  Status connect();
  Status bounce();
  void wait_to_close();
  Status serve();
  Plan plan() const;
  Status check_stock();
  std::vector<app::StockAddress> stock_addresses();
  Status set_stock_peer(const std::vector<app::StockAddress>& theirs);
  void print_addresses();
  app::Session& session() { return rig_.session(); }

  Options options_;
  app::Rig rig_;
  bool stock_ = false;
  std::optional<Pinger> pinger_;
  std::optional<app::RunWatch> watch_;
  RunResult result_;
};

Plan Run::plan() const {
  return {.operation = options_.operation,
          .transport = options_.connection.transport,
          .size = options_.size,
          .iterations = options_.iterations,
          .recv_depth = options_.connection.recv_depth,
          .server = options_.is_server(),
          .stock = stock_,
          .rate = options_.rate,
          .validate = options_.validate,
          .seed = options_.seed.value_or(0)};
}

Status Run::find_dialect() {
  stock_ = options_.stock;
  if (options_.is_server()) {
    const auto dialect = app::recognise_client(session().channel());
    if (!dialect) {
      return tl::make_unexpected(dialect.error());
    }
    stock_ = *dialect == app::Dialect::stock;
  }
  return stock_ ? check_stock() : Status{};
}

/// What ibverbs-utils' programs cannot do.
Status Run::check_stock() {
  const std::string& peer = session().channel().peer();
  if (options_.operation != app::Operation::send) {
    return roce::failure(EINVAL, fmt::format("{} is a stock program, which only SENDs; leave out "
                                             "--op {}",
                                             peer, name_of(options_.operation)));
  }
  const size_t most = options_.connection.use_srq ? app::kStockSrqAddresses : 1;
  if (options_.qps > most) {
    return roce::failure(EINVAL,
                         fmt::format("--num-qp {}: {} is a stock program with at most {}; "
                                     "lower it{}",
                                     options_.qps, peer, most,
                                     most == 1 ? ", or use ibv_srq_pingpong and --use-srq" : ""));
  }
  return {};
}

Status Run::set_up() {
  if (auto done = find_dialect(); !done) {
    return done;
  }
  const app::ConnectionOptions& connection = options_.connection;
  if (auto done = rig_.set_up(plan().memory(), connection.send_depth, connection.recv_depth);
      !done) {
    return done;
  }
  watch_.emplace(stock_ ? nullptr : &session().channel(), connection, session().endpoint().now());
  pinger_.emplace(plan(), rig_, *watch_);
  return pinger_->prepare();
}

/// One, or as many as ibv_srq_pingpong tells in any case.
std::vector<app::StockAddress> Run::stock_addresses() {
  std::vector<app::StockAddress> list;
  for (const app::Lane& lane : rig_.lanes()) {
    const app::Connection& connection = lane.connection;
    list.push_back({.lid = 0, .qpn = connection.qpn(), .psn = connection.psn(), .gid = rig_.gid()});
  }
  list.resize(options_.connection.use_srq ? app::kStockSrqAddresses : 1);
  return list;
}

Status Run::set_stock_peer(const std::vector<app::StockAddress>& theirs) {
  std::vector<app::QpAddress> qps;
  for (const app::StockAddress& address : theirs) {
    if (address.qpn != 0) {
      qps.push_back({.qpn = address.qpn, .psn = address.psn});
    }
  }
  if (qps.size() != options_.qps) {
    return roce::failure(EINVAL, fmt::format("{} has {} queue pairs and this end {}; give both one "
                                             "--num-qp",
                                             session().channel().peer(), qps.size(), options_.qps));
  }
  rig_.set_peer(theirs.front().gid, qps);
  return {};
}

Status Run::meet() {
  if (!stock_) {
    return meet_uroce();
  }
  return options_.is_server() ? meet_stock_client() : meet_stock_server();
}

Status Run::meet_uroce() {
  if (auto done = rig_.greet(kProgram); !done) {
    return done;
  }
  if (auto done = connect(); !done) {
    return done;
  }
  return session().channel().sync("ready");
}

Status Run::meet_stock_server() {
  const auto theirs = app::stock_client_exchange(session().channel(), stock_addresses());
  if (!theirs) {
    return tl::make_unexpected(theirs.error());
  }
  if (auto done = set_stock_peer(*theirs); !done) {
    return done;
  }
  return connect();
}

Status Run::meet_stock_client() {
  const auto theirs = app::stock_server_receive(session().channel(), stock_addresses().size());
  if (!theirs) {
    return tl::make_unexpected(theirs.error());
  }
  if (auto done = set_stock_peer(*theirs); !done) {
    return done;
  }
  if (auto done = connect(); !done) {
    return done;
  }
  return app::stock_server_reply(session().channel(), stock_addresses());
}

Status Run::connect() {
  if (options_.text()) {
    print_addresses();
  }
  if (!stock_) {
    if (auto done = session().wait_for_link(); !done) {
      return done;
    }
  }
  return rig_.connect();
}

void Run::print_addresses() {
  for (const app::Lane& lane : rig_.lanes()) {
    fmt::print("{}\n{}\n",
               app::local_address_line({.lid = 0,
                                        .qpn = lane.connection.qpn(),
                                        .psn = lane.connection.psn(),
                                        .gid = rig_.gid()}),
               app::remote_address_line(
                   {.lid = 0, .qpn = lane.peer.qpn, .psn = lane.peer.psn, .gid = rig_.peer_gid()}));
  }
  std::fflush(stdout);
}

/// The run itself, and the farewell. An error is one that leaves no result at all.
Status Run::bounce() {
  if (plan().one_sided() && options_.is_server()) {
    return serve();
  }
  watch_->alive(session().endpoint().now());
  const uint64_t each = options_.size * (plan().one_sided() ? 1 : 2);
  app::Progress progress(options_.text(), each, options_.iterations);
  const auto counts = app::ProcessorCounts::hardware();
  result_.outcome = pinger_->run(progress);
  result_.processor = counts.spent();
  progress.clear();
  if (watch_->running()) {
    pinger_->drain();
  }
  result_.interrupted = watch_->verdict() == app::Verdict::interrupted;
  if (stock_) {
    session().linger(kStockLinger);
  } else if (watch_->failed()) {
    session().channel().send_stop(watch_->reason());
  } else if (result_.interrupted) {
    session().channel().send_stop(app::kInterrupted);
    session().wait_for_leave(kLeaveLimit);
  } else {
    if (plan().one_sided()) {
      if (auto done = session().channel().send_line("done", "the end of the run"); !done) {
        return done;
      }
    }
    wait_to_close();
    return session().channel().sync("end");
  }
  return {};
}

/// The client may still lack the last answer, which may have been lost.
void Run::wait_to_close() {
  session().wait_to_close();
  if (plan().repeats() && options_.is_server()) {
    session().channel().set_waiting({.progress =
                                         [this] {
                                           app::wait_a_little(session().endpoint());
                                           pinger_->nudge();
                                           return true;
                                         },
                                     .limit = app::kStepLimit});
  }
}

Status Run::serve() {
  const auto line = app::serve_until_closed(session(), [this] {
    app::wait_a_little(session().endpoint());
    return true;
  });
  if (!line) {
    const bool interrupted = session().channel().peer_state() == app::PeerState::stopped &&
                             session().channel().stop_reason() == app::kInterrupted;
    result_.interrupted = interrupted;
    return interrupted ? Status{} : tl::make_unexpected(line.error());
  }
  if (!pinger_->check_served(options_.iterations)) {
    session().channel().send_stop(watch_->reason());
    return {};
  }
  return session().channel().sync("end");
}

int Run::whole() {
  Status done = set_up();
  if (done) {
    done = meet();
  }
  if (!done) {
    return app::report_failure(kProgram, done.error());
  }
  done = bounce();
  result_.counters = rig_.counters();
  if (plan().repeats()) {
    result_.counters.emplace_back("messages_repeated", result_.outcome.repeated);
  }
  if (options_.text()) {
    print_result(options_, result_);
  }
  if (!options_.json.empty()) {
    if (auto written = write_result(options_, result_); !written && done) {
      done = written;
    }
  }
  if (!options_.plot.empty() && result_.outcome.times.count() > 0) {
    if (auto drawn = app::draw(plot_of(options_, result_), options_.plot); !drawn && done) {
      done = drawn;
    }
  }
  if (watch_->failed()) {
    return app::report_failure(kProgram, {EIO, watch_->reason()});
  }
  return done ? 0 : app::report_failure(kProgram, done.error());
}

}  // namespace

int run(Options options, const roce::Config& config) {
  auto session = app::Session::open(options, config, [] {});
  if (!session) {
    return app::report_failure(kProgram, session.error());
  }
  return Run(options, std::move(*session)).whole();
}

}  // namespace uroce::pingpong
