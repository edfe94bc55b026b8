// From two processes to figures: one run a size, each with queue pairs of its own.
// SPDX-License-Identifier: BSD-3-Clause
#include "run.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "closing.h"
#include "common/run/rig.h"
#include "common/run/run_watch.h"
#include "passes.h"
#include "result.h"
#include "streams.h"

namespace uroce::bw {
namespace {

using roce::Status;

constexpr std::string_view kWaiting =
    "\n************************************\n* Waiting for client to connect... *\n"
    "************************************\n";

/// What the process has had of its CPUs, in seconds.
double cpu_seconds() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

/// The rig has lanes for both directions.
Options with_lanes(Options options) {
  options.qps = options.lanes();
  return options;
}

/// One run. Its session comes from the last one and goes on to the next.
class Run {
 public:
  Run(const Pass& pass, app::Session session)
      : options_(pass.options),
        pass_(pass),
        plan_(pass.options),
        rig_(with_lanes(pass.options), std::move(session)) {}

  /// The exit code; messages have been printed.
  int whole();
  app::Session take_session() { return rig_.take_session(); }
  const RunResult& result() const { return result_; }
  const Plan& plan() const { return plan_; }

 private:
  Status set_up();
  Status meet();
  Status send();
  Status receive();
  Status both();
  void note_sent(const StreamOutcome& outcome);
  Status close_sender(const StreamOutcome& outcome);
  Status take_answer();
  Status close_receiver(const std::string& line);
  Status work();
  std::optional<roce::Error> verdict(const Status& done) const;
  std::optional<roce::Error> shortfall() const;
  std::optional<uint64_t> known_total() const;
  bool sends() const { return !options_.is_server() || options_.bidirectional; }
  bool receives() const { return options_.is_server() || options_.bidirectional; }
  app::Session& session() { return rig_.session(); }

  Options options_;
  const Pass& pass_;
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
  session().wait_patiently(app::kStepLimit);
  if (auto done = rig_.set_up(plan_.memory(), plan_.send_queue(server), plan_.recv_queue(server));
      !done) {
    return done;
  }
  if (receives()) {
    receive_.emplace(plan_, rig_, lanes_of(rig_, plan_, server));
    if (auto done = receive_->prepare(); !done) {
      return done;
    }
  }
  if (!sends()) {
    return {};
  }
  watch_.emplace(&session().channel(), options_.connection, session().endpoint().now());
  send_.emplace(plan_, rig_, lanes_of(rig_, plan_, !server), *watch_);
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

void Run::note_sent(const StreamOutcome& outcome) {
  result_.bandwidth = {.size = plan_.size,
                       .iterations = outcome.messages,
                       .peak_seconds = outcome.peak_seconds,
                       .seconds = outcome.seconds,
                       .confidence = outcome.confidence};
  result_.marks = outcome.marks;
  result_.measured = outcome.messages > 0;
  result_.interrupted = watch_->verdict() == app::Verdict::interrupted;
  result_.findings = outcome.findings;
  if (options_.margin_s > 0) {
    leave_out_margins(result_, options_.margin_s);
  }
}

Status Run::send() {
  app::Progress progress(options_.text() && !pass_.quiet, plan_.size, known_total());
  const StreamOutcome outcome = send_->run(progress);
  note_sent(outcome);
  if (watch_->failed()) {
    session().channel().send_stop(watch_->reason());
    return roce::failure(EIO, watch_->reason());
  }
  return close_sender(outcome);
}

Status Run::close_sender(const StreamOutcome& outcome) {
  session().wait_to_close();
  const Closing closing{outcome.messages, outcome.seconds, result_.interrupted};
  if (auto done = session().channel().send_line(line_of(closing), "the end of the run"); !done) {
    return done;
  }
  return take_answer();
}

Status Run::take_answer() {
  app::SideChannel& channel = session().channel();
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
  const bool checked_here = result_.findings.checked > 0 && !options_.bidirectional;
  result_.findings.add({.checked = checked_here ? 0 : answer->checked,
                        .wrong = answer->wrong,
                        .lost = answer->lost,
                        .first = answer->first});
  return {};
}

Status Run::receive() {
  app::Progress progress(options_.text() && !pass_.quiet, plan_.size, known_total());
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
  result_.interrupted = result_.interrupted || closing->interrupted;
  const StreamOutcome outcome = receive_->outcome();
  // What passes unseen here is shown by the sender's figures.
  const uint64_t messages = plan_.seen() ? outcome.messages : closing->messages;
  result_.bandwidth.iterations += messages;
  result_.bandwidth.seconds = std::max(result_.bandwidth.seconds, closing->seconds);
  const Findings& findings = outcome.findings;
  const Answer answer{findings.checked, findings.wrong, findings.lost, findings.first};
  return session().channel().send_line(line_of(answer), "the answer");
}

/// Sends and receives at once; then each end closes the direction that it sent in.
Status Run::both() {
  app::Progress progress(options_.text() && !pass_.quiet, plan_.size, known_total());
  const StreamOutcome outcome = send_->run(progress, [this] {
    if (!receive_->glance()) {
      watch_->fail(receive_->reason());
    }
    return !watch_->failed();
  });
  note_sent(outcome);
  if (watch_->failed()) {
    session().channel().send_stop(watch_->reason());
    return roce::failure(EIO, watch_->reason());
  }
  const Closing closing{outcome.messages, outcome.seconds, result_.interrupted};
  if (auto done = session().channel().send_line(line_of(closing), "the end of the run"); !done) {
    return done;
  }
  app::Progress none(false, plan_.size, {});
  const auto line = app::serve_until_closed(session(), [&] { return receive_->turn(none); });
  if (!line) {
    return tl::make_unexpected(line.error());
  }
  if (auto done = close_receiver(*line); !done || !receive_->reason().empty()) {
    return done ? roce::failure(EIO, receive_->reason()) : done;
  }
  result_.findings.add(receive_->outcome().findings);
  result_.bandwidth.peak_seconds = 0;  // of one direction only
  return take_answer();
}

/// What is less than was asked for, if anything.
std::optional<roce::Error> Run::shortfall() const {
  const double bandwidth = in_unit(result_.bandwidth.bytes_per_second(), options_.unit);
  const double rate = result_.bandwidth.messages_per_second() / 1e6;
  if (bandwidth < options_.least_bandwidth) {
    return roce::Error{EIO, fmt::format("--limit_bw {}: the average is {:.2f}",
                                        options_.least_bandwidth, bandwidth)};
  }
  if (rate < options_.least_rate) {
    return roce::Error{
        EIO, fmt::format("--limit_msgrate {}: the rate is {:.6f} Mpps", options_.least_rate, rate)};
  }
  return std::nullopt;
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
  return result_.measured && !pass_.quiet ? shortfall() : std::nullopt;
}

Status Run::work() {
  const roce::Instant start = session().endpoint().now();
  const double used = cpu_seconds();
  const auto counts = app::ProcessorCounts::hardware();
  Status done = options_.bidirectional ? both() : options_.is_server() ? receive() : send();
  result_.processor = counts.spent();
  const auto seconds = static_cast<double>((session().endpoint().now() - start).ns) / 1e9;
  result_.cpu_share = seconds > 0 ? (cpu_seconds() - used) / seconds : 0;
  return done;
}

int Run::whole() {
  Status done = set_up();
  if (done) {
    done = meet();
  }
  if (!done) {
    return app::report_failure(kProgram, done.error());
  }
  if (options_.text() && pass_.first) {
    print_header(options_, plan_);
  }
  done = work();
  result_.counters = rig_.counters();
  if (options_.text() && !pass_.quiet) {
    print_result(options_, result_, pass_.last);
  }
  if (options_.linger_s > 0) {
    session().linger(std::chrono::seconds(options_.linger_s));
  }
  const auto failure = verdict(done);
  return failure ? app::report_failure(kProgram, *failure) : 0;
}

/// The results of all passes, to where --json and --plot say.
int write_results(const Options& options, const Plan& plan, const std::vector<RunResult>& results) {
  if (!options.json.empty()) {
    if (auto written = write_json(options, plan, results); !written) {
      return app::report_failure(kProgram, written.error());
    }
  }
  if (!options.plot.empty() && !results.empty()) {
    if (auto drawn = app::draw(plot_of(options, results), options.plot); !drawn) {
      return app::report_failure(kProgram, drawn.error());
    }
  }
  return 0;
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
  const std::vector<Pass> passes = passes_of(options);
  std::vector<RunResult> results;
  int code = 0;
  std::optional<app::Session> open(std::move(*session));
  for (const Pass& pass : passes) {
    Run one(pass, std::move(*open));
    code = one.whole();
    if (!pass.quiet) {
      results.push_back(one.result());
    }
    if (code != 0 || one.result().interrupted || pass.last) {
      const int written = write_results(options, one.plan(), results);
      return code != 0 ? code : written;
    }
    open.emplace(one.take_session());
  }
  return code;
}

}  // namespace uroce::bw
