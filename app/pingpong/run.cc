// From two processes to a figure.
// SPDX-License-Identifier: BSD-3-Clause
#include "run.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "common/run/progress.h"
#include "common/run/session.h"
#include "pinger.h"
#include "result.h"

namespace uroce::pingpong {
namespace {

using app::QpAddress;
using roce::Result;
using roce::Status;

// Who was told to stop has to notice, and to end.
constexpr std::chrono::milliseconds kLeaveLimit{2000};
// The stock tools do not meet again after the run, and may still need an ACK.
constexpr std::chrono::milliseconds kStockLinger{300};

struct Peer {
  app::Gid gid;
  QpAddress qp;
};

app::Hello hello(const Options& options, const app::RcConnection& connection,
                 const roce::verbs::Mr& mr) {
  const app::CommonOptions& common = options.common;
  return {.program = std::string(kProgram),
          .parameters = {{"op", std::string(name_of(options.operation))},
                         {"size", fmt::format("{}", common.size)},
                         {"iters", fmt::format("{}", common.iterations)},
                         {"mtu", fmt::format("{}", options.rc.mtu)},
                         {"chk", common.validate ? "on" : "off"},
                         {"seed", fmt::format("{}", common.seed.value_or(0))}},
          .endpoint = {.gid = connection.gid(), .qps = {connection.address(&mr)}}};
}

class Run {
 public:
  Run(const Options& options, app::Session session)
      : options_(options), session_(std::move(session)) {}

  int whole();

 private:
  Status set_up();
  Status meet();
  Status meet_uroce();
  Status meet_stock_server();
  Status meet_stock_client();
  Status connect();
  Status bounce();
  Status serve_reads();
  Plan plan() const;
  app::StockAddress stock_address() const;
  void print_addresses() const;
  bool text() const { return options_.common.json != "-"; }

  Options options_;
  app::Session session_;
  app::HostMemory memory_;
  std::optional<app::RcConnection> connection_;
  std::optional<roce::verbs::Mr> mr_;
  bool stock_ = false;
  Peer peer_;
  std::optional<Pinger> pinger_;
  std::optional<app::RunWatch> watch_;
  RunResult result_;
};

Plan Run::plan() const {
  return {.operation = options_.operation,
          .size = options_.common.size,
          .iterations = options_.common.iterations,
          .server = options_.common.is_server(),
          .stock = stock_,
          .validate = options_.common.validate,
          .seed = options_.common.seed.value_or(0)};
}

Status Run::set_up() {
  if (options_.common.is_server()) {
    const auto dialect = app::recognise_client(session_.channel());
    if (!dialect) {
      return tl::make_unexpected(dialect.error());
    }
    stock_ = *dialect == app::Dialect::stock;
    if (stock_ && options_.operation != Operation::send) {
      return roce::failure(EINVAL,
                           fmt::format("{} is a stock client, which only SENDs; leave out "
                                       "--op {}",
                                       session_.channel().peer(), name_of(options_.operation)));
    }
  } else {
    stock_ = options_.stock;
  }
  auto memory = app::HostMemory::allocate(plan().memory());
  if (!memory) {
    return tl::make_unexpected(memory.error());
  }
  memory_ = std::move(*memory);
  auto connection = app::RcConnection::create(session_.device(), options_.rc);
  if (!connection) {
    return tl::make_unexpected(connection.error());
  }
  connection_.emplace(std::move(*connection));
  auto mr = connection_->register_memory(memory_.bytes());
  if (!mr) {
    return tl::make_unexpected(mr.error());
  }
  mr_.emplace(std::move(*mr));
  watch_.emplace(stock_ ? nullptr : &session_.channel(), options_.rc, session_.endpoint().now());
  pinger_.emplace(plan(), session_.endpoint(), *connection_, memory_, *mr_, *watch_);
  return pinger_->prepare(options_.rc.recv_depth);
}

app::StockAddress Run::stock_address() const {
  return {.lid = 0,
          .qpn = connection_->address(nullptr).qpn,
          .psn = connection_->psn(),
          .gid = connection_->gid()};
}

Status Run::meet() {
  if (!stock_) {
    return meet_uroce();
  }
  return options_.common.is_server() ? meet_stock_client() : meet_stock_server();
}

Status Run::meet_uroce() {
  auto theirs = app::exchange_hello(session_.channel(), hello(options_, *connection_, *mr_));
  if (!theirs) {
    return tl::make_unexpected(theirs.error());
  }
  if (theirs->qps.size() != 1 || theirs->qps.front().length < plan().memory()) {
    return roce::failure(EPROTO,
                         "the other end's greeting names no queue pair with its memory; "
                         "use programs of one version at both ends");
  }
  peer_ = {theirs->gid, theirs->qps.front()};
  if (auto done = connect(); !done) {
    return done;
  }
  return session_.channel().sync("ready");
}

Status Run::meet_stock_server() {
  const auto theirs = app::stock_client_exchange(session_.channel(), stock_address());
  if (!theirs) {
    return tl::make_unexpected(theirs.error());
  }
  peer_ = {theirs->gid, {.qpn = theirs->qpn, .psn = theirs->psn}};
  return connect();
}

Status Run::meet_stock_client() {
  const auto theirs = app::stock_server_receive(session_.channel());
  if (!theirs) {
    return tl::make_unexpected(theirs.error());
  }
  peer_ = {theirs->gid, {.qpn = theirs->qpn, .psn = theirs->psn}};
  if (auto done = connect(); !done) {
    return done;
  }
  return app::stock_server_reply(session_.channel(), stock_address());
}

Status Run::connect() {
  if (text()) {
    print_addresses();
  }
  if (!stock_) {
    if (auto done = session_.wait_for_link(); !done) {
      return done;
    }
  }
  return connection_->connect(peer_.gid, peer_.qp.qpn, peer_.qp.psn);
}

void Run::print_addresses() const {
  const app::StockAddress own = stock_address();
  fmt::print(
      "{}\n{}\n",
      app::local_address_line({.lid = own.lid, .qpn = own.qpn, .psn = own.psn, .gid = own.gid}),
      app::remote_address_line(
          {.lid = 0, .qpn = peer_.qp.qpn, .psn = peer_.qp.psn, .gid = peer_.gid}));
  std::fflush(stdout);
}

/// The run itself, and the farewell. An error is one that leaves no result at all.
Status Run::bounce() {
  if (options_.operation == Operation::read && options_.common.is_server()) {
    return serve_reads();
  }
  watch_->alive(session_.endpoint().now());
  const uint64_t each = options_.common.size * (options_.operation == Operation::read ? 1 : 2);
  app::Progress progress(text(), each, options_.common.iterations);
  result_.outcome = pinger_->run(peer_.qp, progress);
  progress.clear();
  if (watch_->running()) {
    pinger_->drain();
  }
  result_.interrupted = watch_->verdict() == app::Verdict::interrupted;
  if (stock_) {
    session_.linger(kStockLinger);
  } else if (watch_->failed()) {
    session_.channel().send_stop(watch_->reason());
  } else if (result_.interrupted) {
    session_.channel().send_stop(app::kInterrupted);
    session_.wait_for_leave(kLeaveLimit);
  } else if (options_.operation == Operation::read) {
    return session_.channel().send_line(fmt::format("{}", result_.outcome.iterations),
                                        "the end of the run");
  } else {
    session_.wait_to_close();
    return session_.channel().sync("end");
  }
  return {};
}

Status Run::serve_reads() {
  const auto line = app::serve_until_closed(session_, [this] {
    app::wait_a_little(session_.endpoint());
    return true;
  });
  if (!line) {
    const bool interrupted = session_.channel().peer_state() == app::PeerState::stopped &&
                             session_.channel().stop_reason() == app::kInterrupted;
    result_.interrupted = interrupted;
    return interrupted ? Status{} : tl::make_unexpected(line.error());
  }
  return {};
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
  result_.counters = session_.counters();
  if (text()) {
    print_result(options_, result_);
  }
  if (!options_.common.json.empty()) {
    if (auto written = write_result(options_, result_); !written && done) {
      done = written;
    }
  }
  if (watch_->failed()) {
    return app::report_failure(kProgram, {EIO, watch_->reason()});
  }
  return done ? 0 : app::report_failure(kProgram, done.error());
}

}  // namespace

int run(const Options& options, const roce::Config& config) {
  Options completed = options;
  auto session = app::Session::open(options.common, config, completed.rc, [] {});
  if (!session) {
    return app::report_failure(kProgram, session.error());
  }
  return Run(completed, std::move(*session)).whole();
}

}  // namespace uroce::pingpong
