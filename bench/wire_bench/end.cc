// The end's process: one DPDK port that is driven in turn by bare loops and by a device on top.
// The device rests, with nothing under way, while the bare loops run.
// SPDX-License-Identifier: BSD-3-Clause
#include "wire_bench/end.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <roce/verbs.h>

#include "bring_up.h"
#include "port/dpdk/raw_loops.h"
#include "wire/ethernet.h"
#include "wire/icrc.h"
#include "wire_bench/copy_work.h"
#include "wire_bench/messages.h"
#include "wire_bench/transport.h"

namespace uroce::wire_bench {
namespace {

using roce::Duration;
using roce::Instant;
using roce::Result;
using roce::Status;
namespace wire = roce::wire;

constexpr uint32_t kRawBurst = 32;  // frames per driver call, as many as the engine takes
constexpr Duration kGap = Duration::from_us(1);  // a longer one between two looks is lost time

/// Waits on a thread of its own, asleep, for the command that ends a passive task.
class StopCommand {
 public:
  explicit StopCommand(int control)
      : thread_([this, control] {
          static_cast<void>(receive_command(control));  // any command, or the parent's end
          arrived_ = true;
        }) {}
  /// Waits for it.
  ~StopCommand() { thread_.join(); }
  StopCommand(const StopCommand&) = delete;
  StopCommand& operator=(const StopCommand&) = delete;

  const std::atomic<bool>& arrived() const { return arrived_; }

 private:
  std::atomic<bool> arrived_{false};
  std::thread thread_;
};

class End {
 public:
  End(int control, const roce::Config& config) : control_(control), config_(config) {}
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  int serve();

 private:
  Result<Reply> run(const Command& command);
  Result<Reply> run_passive(const Command& command);
  Result<Reply> run_passive(const Command& command, const std::atomic<bool>& stop);
  Result<Reply> open();
  Result<Reply> lost_share(const Command& command);
  roce::RawConfig raw_config(const Command& command, const std::atomic<bool>* stop);
  bool command_waits() const;

  int control_;
  const roce::Config& config_;
  roce::EalGuard eal_;  // stops DPDK after what follows has gone
  std::unique_ptr<roce::Port> port_;
  std::optional<LoopClock> clock_;
  std::unique_ptr<Transport> transport_;
  std::optional<CopyWork> work_;  // of the bare loop that runs
};

Reply value_of(double value, uint64_t odd = 0, double tail = 0) {
  Reply reply;
  reply.value = value;
  reply.tail = tail;
  reply.odd = odd;
  return reply;
}

Result<Reply> reply_of(const Result<double>& value) {
  return value.map([](double v) { return value_of(v); });
}

Result<Reply> reply_of(const Status& status) {
  return status.map([] { return Reply{}; });
}

Result<Reply> reply_of(const Result<roce::RawStream>& stream, const Command& command) {
  return stream.map([&](const roce::RawStream& s) {
    return value_of(command.best_slices ? s.slice_p90 : s.slice_p50, s.wrong);
  });
}

Result<Reply> reply_of(const Result<roce::RawRoundTrips>& trips) {
  return trips.map([](const roce::RawRoundTrips& t) {
    return value_of(static_cast<double>(t.p50.ns), t.lost, static_cast<double>(t.p99.ns));
  });
}

Result<Reply> reply_of(const Result<RoundTrips>& trips) {
  return trips.map([](const RoundTrips& t) { return value_of(t.p50_ns, 0, t.p99_ns); });
}

/// Bytes from the IP header to the payload of a bare frame.
size_t headers_of(const Command& command) {
  return command.size - wire::EthernetHeader::kSize - command.payload - wire::kIcrcSize;
}

/// Frames of `command`, copied through the two halves of the transport's memory if it says so.
roce::RawConfig End::raw_config(const Command& command, const std::atomic<bool>* stop) {
  roce::RawConfig raw;
  if (command.payload != 0) {
    work_.emplace(headers_of(command), transport_->send_memory().first(command.memory),
                  transport_->receive_memory().first(command.memory));
    raw.work = &*work_;
  }
  raw.frame_len = command.size;
  raw.burst = kRawBurst;
  raw.warm_up = command.warm_up;
  raw.measured = command.measured;
  raw.stop = stop;
  return raw;
}

Result<Reply> End::open() {
  if (config_.engine.lcores != 1) {
    return roce::failure(EINVAL, "uroce-wire-bench measures one engine; set engine.lcores to 1");
  }
  auto opened = roce::start_ports(config_);
  if (!opened) {
    return tl::make_unexpected(opened.error());
  }
  port_ = std::move(opened->front());
  clock_.emplace(roce::TscClock::from_eal());
  auto transport = Transport::create(*port_, *clock_, config_);
  if (!transport) {
    return tl::make_unexpected(transport.error());
  }
  transport_ = std::move(*transport);
  Reply reply;
  reply.address = transport_->address();
  reply.path_mtu = transport_->path_mtu();
  return reply;
}

/// Looks at the clock without rest: where it jumps, the CPU did something else.
Result<Reply> End::lost_share(const Command& command) {
  const Instant begin = clock_->now();
  const Instant end = begin + command.measured;
  int64_t lost = 0;
  Instant last = begin;
  for (Instant now = last; now < end; last = now) {
    now = clock_->now();
    lost += now - last > kGap ? (now - last).ns : 0;
  }
  return value_of(static_cast<double>(lost) / static_cast<double>((last - begin).ns));
}

Result<Reply> End::run_passive(const Command& command, const std::atomic<bool>& stop) {
  switch (command.task) {
    case Task::raw_receive:
      return reply_of(roce::raw_stream_rx(*port_, raw_config(command, &stop)), command);
    case Task::raw_pong:
      return reply_of(roce::raw_pong(*port_, raw_config(command, &stop)));
    case Task::receive:
      return reply_of(transport_->receive(command, stop));
    case Task::pong:
      return reply_of(transport_->pong(command, stop));
    default:
      transport_->serve(stop);
      return Reply{};
  }
}

/// Says that it is ready, does the task, and waits for the command that ends it in any case.
Result<Reply> End::run_passive(const Command& command) {
  if (Status s = send_message(control_, Reply{}); !s) {
    return tl::make_unexpected(s.error());
  }
  const StopCommand stop(control_);
  return run_passive(command, stop.arrived());
}

Result<Reply> End::run(const Command& command) {
  switch (command.task) {
    case Task::open:
      return open();
    case Task::connect:
      return reply_of(transport_->connect(command.peer));
    case Task::jitter:
      return lost_share(command);
    case Task::raw_send:
      return reply_of(roce::raw_stream_tx(*port_, raw_config(command, nullptr)), command);
    case Task::raw_ping:
      return reply_of(roce::raw_ping(*port_, raw_config(command, nullptr)));
    case Task::write:
      return reply_of(transport_->stream(IBV_WR_RDMA_WRITE, command));
    case Task::send:
      return reply_of(transport_->stream(IBV_WR_SEND, command));
    case Task::read:
      return reply_of(transport_->stream(IBV_WR_RDMA_READ, command));
    case Task::ping:
      return reply_of(transport_->ping(command));
    case Task::report:
      return value_of(0, transport_->retransmitted());
    case Task::raw_receive:
    case Task::raw_pong:
    case Task::receive:
    case Task::serve:
    case Task::pong:
      return run_passive(command);
    case Task::stop:
      break;
  }
  return roce::failure(EINVAL, "there is nothing to stop");
}

bool End::command_waits() const {
  pollfd fd{control_, POLLIN, 0};
  return ::poll(&fd, 1, 0) != 0;
}

int End::serve() {
  constexpr int kPollsARound = 64;
  for (;;) {
    // Between tasks the other end may still need an answer, and what came late has to go.
    while (transport_ && !command_waits()) {
      for (int i = 0; i < kPollsARound; ++i) {
        transport_->poll();
      }
    }
    const auto command = receive_command(control_);
    if (!command) {
      return 0;
    }
    const auto reply = run(*command);
    if (!send_message(control_, reply ? *reply : Reply::of(reply.error()))) {
      return 0;
    }
  }
}

}  // namespace

int serve_parent(int control, const roce::Config& config) {
  return End(control, config).serve();
}

}  // namespace uroce::wire_bench
