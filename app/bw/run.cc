// From two processes to a figure.
// SPDX-License-Identifier: BSD-3-Clause
#include "run.h"

#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "closing.h"
#include "common/run/session.h"
#include "receiver.h"
#include "result.h"
#include "sender.h"

namespace uroce::bw {
namespace {

using roce::Status;

constexpr std::string_view kWaiting =
    "\n************************************\n* Waiting for client to connect... *\n"
    "************************************\n";

class Run {
 public:
  Run(const Options& options, app::Session session)
      : options_(options), plan_(options), session_(std::move(session)) {}

  int whole();

 private:
  Status set_up();
  Status meet();
  Status send();
  Status receive();
  Status close_sender(const SendOutcome& outcome);
  Status close_receiver(const std::string& line);
  std::optional<roce::Error> verdict(const Status& done) const;
  app::Hello hello() const;
  std::optional<uint64_t> known_total() const;

  Options options_;
  Plan plan_;
  app::Session session_;
  app::HostMemory memory_;
  std::optional<app::RcConnection> connection_;
  std::optional<roce::verbs::Mr> mr_;
  std::optional<app::RunWatch> watch_;  // the sender's
  std::optional<Sender> sender_;
  std::optional<Receiver> receiver_;
  app::QpAddress peer_;
  std::string first_wrong_;
  RunResult result_;
};

app::Hello Run::hello() const {
  const app::CommonOptions& common = options_.common;
  return {.program = std::string(kProgram),
          .parameters = {{"op", std::string(name_of(options_.operation))},
                         {"size", fmt::format("{}", common.size)},
                         {"iters",
                          common.duration_s == 0 ? fmt::format("{}", common.iterations) : "any"},
                         {"duration", fmt::format("{}", common.duration_s)},
                         {"mtu", fmt::format("{}", options_.rc.mtu)},
                         {"data_validation", common.validate ? "on" : "off"},
                         {"seed", fmt::format("{}", common.seed.value_or(0))}},
          .endpoint = {.gid = connection_->gid(), .qps = {connection_->address(&*mr_)}}};
}

std::optional<uint64_t> Run::known_total() const {
  return plan_.duration_s == 0 ? std::optional(plan_.iterations) : std::nullopt;
}

Status Run::set_up() {
  const bool server = options_.common.is_server();
  auto memory = app::HostMemory::allocate(plan_.memory());
  if (!memory) {
    return tl::make_unexpected(memory.error());
  }
  memory_ = std::move(*memory);
  app::RcOptions rc = options_.rc;
  rc.send_depth = plan_.send_queue(server);
  rc.recv_depth = plan_.recv_queue(server);
  auto connection = app::RcConnection::create(session_.device(), rc);
  if (!connection) {
    return tl::make_unexpected(connection.error());
  }
  connection_.emplace(std::move(*connection));
  auto mr = connection_->register_memory(memory_.bytes());
  if (!mr) {
    return tl::make_unexpected(mr.error());
  }
  mr_.emplace(std::move(*mr));
  if (server) {
    receiver_.emplace(plan_, session_.endpoint(), *connection_, memory_, *mr_);
    return receiver_->prepare();
  }
  watch_.emplace(&session_.channel(), rc, session_.endpoint().now());
  sender_.emplace(plan_, session_.endpoint(), *connection_, memory_, *mr_, *watch_);
  return sender_->prepare();
}

Status Run::meet() {
  const auto theirs = app::exchange_hello(session_.channel(), hello());
  if (!theirs) {
    return tl::make_unexpected(theirs.error());
  }
  if (theirs->qps.size() != 1 || theirs->qps.front().length < plan_.memory()) {
    return roce::failure(EPROTO,
                         "the other end's greeting names no queue pair with its memory; "
                         "use programs of one version at both ends");
  }
  peer_ = theirs->qps.front();
  if (auto done = session_.wait_for_link(); !done) {
    return done;
  }
  if (auto done = connection_->connect(theirs->gid, peer_.qpn, peer_.psn); !done) {
    return done;
  }
  return session_.channel().sync("ready");
}

Status Run::send() {
  app::Progress progress(options_.text(), plan_.size, known_total());
  const SendOutcome outcome = sender_->run(peer_, progress);
  result_.bandwidth = {.size = plan_.size,
                       .iterations = outcome.messages,
                       .peak_seconds = outcome.peak_seconds,
                       .seconds = outcome.seconds};
  result_.measured = outcome.messages > 0;
  result_.interrupted = watch_->verdict() == app::Verdict::interrupted;
  result_.findings = outcome.findings;
  if (outcome.findings.first) {
    first_wrong_ = app::text_of(*outcome.findings.first);
  }
  if (watch_->failed()) {
    session_.channel().send_stop(watch_->reason());
    return roce::failure(EIO, watch_->reason());
  }
  return close_sender(outcome);
}

Status Run::close_sender(const SendOutcome& outcome) {
  app::SideChannel& channel = session_.channel();
  session_.wait_to_close();
  const Closing closing{outcome.messages, outcome.seconds, result_.interrupted};
  if (auto done = channel.send_line(line_of(closing), "the end of the run"); !done) {
    return done;
  }
  // A stop that crossed the closing line comes first.
  auto line = channel.receive_line("the receiver's answer");
  if (!line && channel.peer_state() == app::PeerState::stopped &&
      channel.stop_reason() == app::kInterrupted) {
    result_.interrupted = true;
    line = channel.receive_line("the receiver's answer");
  }
  if (!line) {
    return tl::make_unexpected(line.error());
  }
  const auto answer = parse_answer(*line);
  if (!answer) {
    return tl::make_unexpected(answer.error());
  }
  if (plan_.validate && plan_.operation != Operation::read) {
    result_.findings.checked = answer->checked;
    result_.findings.wrong = answer->wrong;
    first_wrong_ = answer->first;
  }
  return {};
}

Status Run::receive() {
  app::Progress progress(options_.text(), plan_.size, known_total());
  const auto line = app::serve_until_closed(session_, [&] { return receiver_->turn(progress); });
  const bool finished = line.has_value();
  Status done = finished ? close_receiver(*line) : tl::make_unexpected(line.error());
  progress.clear();
  const ReceiveOutcome outcome = receiver_->outcome();
  if (plan_.operation == Operation::send) {
    result_.bandwidth.iterations = outcome.messages;
    result_.bandwidth.seconds = outcome.seconds;
  }
  result_.bandwidth.size = plan_.size;
  result_.measured = result_.bandwidth.iterations > 0;
  if (plan_.operation != Operation::read) {
    result_.findings = outcome.findings;
  }
  if (outcome.findings.first) {
    first_wrong_ = app::text_of(*outcome.findings.first);
  }
  if (!receiver_->reason().empty()) {
    session_.channel().send_stop(receiver_->reason());
    return roce::failure(EIO, receiver_->reason());
  }
  return done;
}

Status Run::close_receiver(const std::string& line) {
  const auto closing = parse_closing(line);
  if (!closing) {
    return tl::make_unexpected(closing.error());
  }
  app::Progress none(false, plan_.size, {});
  if (!receiver_->finish(closing->messages, none)) {
    return {};  // the receiver's reason() is told
  }
  result_.interrupted = closing->interrupted;
  // Plain WRITEs and READs pass unseen here; the sender's figures are shown.
  result_.bandwidth.iterations = closing->messages;
  result_.bandwidth.seconds = closing->seconds;
  const Findings findings = receiver_->outcome().findings;
  const Answer answer{findings.checked, findings.wrong,
                      findings.first ? app::text_of(*findings.first) : ""};
  return session_.channel().send_line(line_of(answer), "the answer");
}

/// What makes this run a failure, if anything.
std::optional<roce::Error> Run::verdict(const Status& done) const {
  if (!done) {
    return done.error();
  }
  if (result_.findings.wrong > 0) {
    return roce::Error{
        EIO, fmt::format("wrong data in {} of {} messages; the first: {}", result_.findings.wrong,
                         result_.findings.checked, first_wrong_)};
  }
  return std::nullopt;
}

int Run::whole() {
  Status done = set_up();
  if (done) {
    done = meet();
  }
  if (!done) {
    return app::report_failure(kProgram, done.error());
  }
  if (options_.text()) {
    print_header(options_, plan_);
  }
  done = options_.common.is_server() ? receive() : send();
  result_.counters = session_.counters();
  if (options_.text()) {
    print_result(options_, result_);
  }
  if (!options_.common.json.empty()) {
    if (auto written = write_result(options_, plan_, result_); !written && done) {
      done = written;
    }
  }
  const auto failure = verdict(done);
  return failure ? app::report_failure(kProgram, *failure) : 0;
}

}  // namespace

int run(const Options& options, const roce::Config& config) {
  Options completed = options;
  auto session = app::Session::open(options.common, config, completed.rc, [&] {
    if (options.text()) {
      fmt::print("{}", kWaiting);
      std::fflush(stdout);
    }
  });
  if (!session) {
    return app::report_failure(kProgram, session.error());
  }
  return Run(completed, std::move(*session)).whole();
}

}  // namespace uroce::bw
