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
#include "common/run/rig.h"
#include "common/run/run_watch.h"
#include "result.h"
#include "streams.h"

namespace uroce::bw {
namespace {

using roce::Status;

constexpr std::string_view kWaiting =
    "\n************************************\n* Waiting for client to connect... *\n"
    "************************************\n";

class Run {
 public:
  Run(const Options& options, app::Session session)
      : options_(options), plan_(options), rig_(options, std::move(session)) {}

  int whole();

 private:
  Status set_up();
  Status meet();
  Status send();
  Status receive();
  Status close_sender(const StreamOutcome& outcome);
  Status close_receiver(const std::string& line);
  std::optional<roce::Error> verdict(const Status& done) const;
  std::optional<uint64_t> known_total() const;
  app::Session& session() { return rig_.session(); }

  Options options_;
  Plan plan_;
  app::Rig rig_;
  std::optional<app::RunWatch> watch_;  // the sender's
  std::optional<SendStreams> send_;
  std::optional<ReceiveStreams> receive_;

  RunResult result_;
};

std::optional<uint64_t> Run::known_total() const {
  return plan_.duration_s == 0 ? std::optional(plan_.iterations * options_.qps) : std::nullopt;
}

Status Run::set_up() {
  const bool server = options_.is_server();
  if (auto done = rig_.set_up(plan_.memory(), plan_.send_queue(server), plan_.recv_queue(server));
      !done) {
    return done;
  }
  if (server) {
    receive_.emplace(plan_, rig_);
    return receive_->prepare();
  }
  watch_.emplace(&session().channel(), options_.connection, session().endpoint().now());
  send_.emplace(plan_, rig_, *watch_);
  return send_->prepare();
}

Status Run::meet() {
  if (auto done = rig_.greet(kProgram); !done) {
    return done;
  }
  if (auto done = session().wait_for_link(); !done) {
    return done;
  }
  if (auto done = rig_.connect(); !done) {
    return done;
  }
  return session().channel().sync("ready");
}

Status Run::send() {
  app::Progress progress(options_.text(), plan_.size, known_total());
  const StreamOutcome outcome = send_->run(progress);
  result_.bandwidth = {.size = plan_.size,
                       .iterations = outcome.messages,
                       .peak_seconds = outcome.peak_seconds,
                       .seconds = outcome.seconds};
  result_.measured = outcome.messages > 0;
  result_.interrupted = watch_->verdict() == app::Verdict::interrupted;
  result_.findings = outcome.findings;

  if (watch_->failed()) {
    session().channel().send_stop(watch_->reason());
    return roce::failure(EIO, watch_->reason());
  }
  return close_sender(outcome);
}

Status Run::close_sender(const StreamOutcome& outcome) {
  app::SideChannel& channel = session().channel();
  session().wait_to_close();
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
  const bool checked_here = result_.findings.checked > 0;
  result_.findings.add({.checked = checked_here ? 0 : answer->checked,
                        .wrong = answer->wrong,
                        .lost = answer->lost,
                        .first = answer->first});
  return {};
}

Status Run::receive() {
  app::Progress progress(options_.text(), plan_.size, known_total());
  const auto line = app::serve_until_closed(session(), [&] { return receive_->turn(progress); });
  const bool finished = line.has_value();
  Status done = finished ? close_receiver(*line) : tl::make_unexpected(line.error());
  progress.clear();
  const StreamOutcome outcome = receive_->outcome();
  if (takes_receive(plan_.operation)) {
    result_.bandwidth.iterations = outcome.messages;
    result_.bandwidth.seconds = outcome.seconds;
  }
  result_.bandwidth.size = plan_.size;
  result_.measured = result_.bandwidth.iterations > 0;
  result_.findings = outcome.findings;

  if (!receive_->reason().empty()) {
    session().channel().send_stop(receive_->reason());
    return roce::failure(EIO, receive_->reason());
  }
  return done;
}

Status Run::close_receiver(const std::string& line) {
  const auto closing = parse_closing(line);
  if (!closing) {
    return tl::make_unexpected(closing.error());
  }
  app::Progress none(false, plan_.size, {});
  if (!receive_->finish(closing->messages, none)) {
    return {};  // the receiver's reason() is told
  }
  result_.interrupted = closing->interrupted;
  const StreamOutcome outcome = receive_->outcome();
  // What passes unseen here is shown by the sender's figures.
  result_.bandwidth.iterations = plan_.seen() ? outcome.messages : closing->messages;
  result_.bandwidth.seconds = closing->seconds;
  const Findings& findings = outcome.findings;
  const Answer answer{findings.checked, findings.wrong, findings.lost, findings.first};
  return session().channel().send_line(line_of(answer), "the answer");
}

/// What makes this run a failure, if anything.
std::optional<roce::Error> Run::verdict(const Status& done) const {
  if (!done) {
    return done.error();
  }
  if (result_.findings.wrong > 0) {
    return roce::Error{
        EIO, fmt::format("wrong data in {} of {} messages; the first: {}", result_.findings.wrong,
                         result_.findings.checked, result_.findings.first)};
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
  done = options_.is_server() ? receive() : send();
  result_.counters = rig_.counters();
  if (options_.text()) {
    print_result(options_, result_);
  }
  if (!options_.json.empty()) {
    if (auto written = write_result(options_, plan_, result_); !written && done) {
      done = written;
    }
  }
  const auto failure = verdict(done);
  return failure ? app::report_failure(kProgram, *failure) : 0;
}

}  // namespace

int run(Options options, const roce::Config& config) {
  const bool text = options.text();
  auto session = app::Session::open(options, config, [text] {
    if (text) {
      fmt::print("{}", kWaiting);
      std::fflush(stdout);
    }
  });
  if (!session) {
    return app::report_failure(kProgram, session.error());
  }
  return Run(options, std::move(*session)).whole();
}

}  // namespace uroce::bw
