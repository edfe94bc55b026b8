// verbs-threads: a program for libibverbs that knows nothing of uroce. Eight threads post to one
// queue pair and poll one completion queue that they share, and each has a pair and a queue of its
// own; a second one of its kind does the same at the other end. Every byte that is sent, written
// and read back is checked, that each message arrives once, and that each atomic is executed once.
//
//   verbs-threads [-p PORT] [-n ROUNDS] [-g GID_INDEX] [-f] [HOST]
//
// With -f a child is forked first that ends at once, as a program's helper commands do.
// SPDX-License-Identifier: BSD-3-Clause
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "pairs.h"

namespace dropin {
namespace {

struct Options {
  const char* host = nullptr;
  std::string port = "18515";
  uint32_t rounds = 50;
  uint8_t gid_index = 1;
  bool forks = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int o = 0; (o = getopt(argc, argv, "p:n:g:f")) != -1;) {
    switch (o) {
      case 'p':
        options.port = optarg;
        break;
      case 'n':
        options.rounds = static_cast<uint32_t>(std::strtoul(optarg, nullptr, 10));
        break;
      case 'g':
        options.gid_index = static_cast<uint8_t>(std::strtoul(optarg, nullptr, 10));
        break;
      case 'f':
        options.forks = true;
        break;
      default:
        std::_Exit(2);
    }
  }
  options.host = argv[optind];
  return options;
}

[[noreturn]] void wrong(const char* what, const Origin& seen) {
  std::fprintf(stderr, "verbs-threads: %s: side %u, over %u, thread %u, round %u\n", what,
               seen.side, static_cast<unsigned>(seen.over), seen.thread, seen.round);
  std::_Exit(1);
}

/// The child runs what the program and its libraries have left to be done at the end.
void fork_a_child() {
  const pid_t child = fork();
  need(child >= 0, "fork");
  if (child == 0) {
    std::exit(0);
  }
  int status = 0;
  need(waitpid(child, &status, 0) == child && status == 0, "the child");
}

class Threads {
 public:
  explicit Threads(const Options& options)
      : rounds_(options.rounds),
        forks_(options.forks),
        side_(options.host != nullptr ? 1 : 0),
        pairs_(arena_, options.gid_index),
        seen_(size_t{kThreads} * rounds_),
        link_(options.host, options.port.c_str()) {}

  void run() {
    pairs_.meet(link_);
    link_.exchange(uint32_t{0});  // nobody sends to a pair that is not ready
    if (forks_) {
      fork_a_child();
    }
    std::array<std::thread, kThreads> threads;
    for (uint32_t t = 0; t < kThreads; ++t) {
      threads[t] = std::thread([this, t] { work(t); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    check_what_the_peer_did();
    link_.exchange(uint32_t{1});  // and the pairs answer until both have come here
  }

 private:
  using Part = Arena::Part;

  void work(uint32_t thread) {
    uint32_t own_receives = 0;
    for (uint32_t round = 0; round < rounds_; ++round) {
      post_round(thread, Over::own, round);
      post_round(thread, Over::shared, round);
      finish_own(thread, round, own_receives);
      while (shared_sent_[thread] < kSendsARound * (round + 1)) {
        serve_shared();
      }
      check(thread, Over::own, Part::read_back, {side_, Over::own, thread, round});
      check(thread, Over::shared, Part::read_back, {side_, Over::shared, thread, round});
    }
    while (shared_received_ < kThreads * rounds_) {
      serve_shared();
    }
  }

  /// Writes to the peer, reads that back, adds one there, and says so by a message.
  void post_round(uint32_t thread, Over over, uint32_t round) {
    const Pair& pair = pairs_.over(over, thread);
    const Message outgoing = arena_.part(thread, over, Part::outgoing);
    write_message(outgoing, {side_, over, thread, round});
    const uint64_t target =
        pairs_.peer_address(arena_.offset(arena_.part(thread, over, Part::target)));
    ibv_send_wr request{};
    request.wr_id = kSend | thread;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.wr.rdma = {target, pairs_.peer_key()};
    pairs_.post_send(pair, request, outgoing);
    request.opcode = IBV_WR_RDMA_READ;
    pairs_.post_send(pair, request, arena_.part(thread, over, Part::read_back));
    request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    request.wr.atomic = {pairs_.peer_address(Arena::counter_offset()), 1, 0, pairs_.peer_key()};
    pairs_.post_send(pair, request, arena_.part(thread, over, Part::found), sizeof(uint64_t));
    request.opcode = IBV_WR_SEND;
    pairs_.post_send(pair, request, outgoing);
  }

  /// Until the round's own requests and the peer's message are there. `receives`: of all rounds.
  void finish_own(uint32_t thread, uint32_t round, uint32_t& receives) {
    const Pair& pair = pairs_.own(thread);
    uint32_t sent = 0;
    while (sent < kSendsARound || receives <= round) {
      const ibv_wc wc = next_own(pair);
      if ((wc.wr_id & kSend) != 0) {
        ++sent;
        continue;
      }
      const auto buffer = static_cast<uint32_t>(wc.wr_id);
      const Message message = arena_.own_receive(thread, buffer);
      expect(message, {1 - side_, Over::own, thread, receives++});
      pairs_.post_receive(pair, message, buffer);
    }
  }

  /// The next completion of an own queue; sleeps for it where the queue has a channel.
  ibv_wc next_own(const Pair& pair) {
    for (;;) {
      if (const auto wc = poll(pair)) {
        return *wc;
      }
      if (pair.channel == nullptr) {
        continue;
      }
      need(ibv_req_notify_cq(pair.cq, 0) == 0, "ibv_req_notify_cq");
      if (const auto wc = poll(pair)) {
        return *wc;
      }
      ibv_cq* cq = nullptr;
      void* context = nullptr;
      need(ibv_get_cq_event(pair.channel, &cq, &context) == 0 && cq == pair.cq, "ibv_get_cq_event");
      ibv_ack_cq_events(cq, 1);
    }
  }

  static std::optional<ibv_wc> poll(const Pair& pair) {
    ibv_wc wc{};
    const int n = ibv_poll_cq(pair.cq, 1, &wc);
    need(n >= 0, "ibv_poll_cq");
    if (n == 0) {
      return std::nullopt;
    }
    if (wc.status != IBV_WC_SUCCESS) {
      std::fprintf(stderr, "verbs-threads: %s\n", ibv_wc_status_str(wc.status));
      std::_Exit(1);
    }
    return wc;
  }

  /// Takes what has come on the shared queue, whosever it is.
  void serve_shared() {
    const auto wc = poll(pairs_.shared());
    if (!wc) {
      return;
    }
    if ((wc->wr_id & kSend) != 0) {
      ++shared_sent_[wc->wr_id & ~kSend];
      return;
    }
    const auto buffer = static_cast<uint32_t>(wc->wr_id);
    const Message message = arena_.shared_receive(buffer);
    const Origin from = origin_of(message);
    if (from.side == side_ || from.over != Over::shared || from.thread >= kThreads ||
        from.round >= rounds_ || !is_whole(message)) {
      wrong("a message is not whole", from);
    }
    if (seen_[size_t{from.thread} * rounds_ + from.round].exchange(true)) {
      wrong("a message has come twice", from);
    }
    pairs_.post_receive(pairs_.shared(), message, buffer);
    ++shared_received_;
  }

  void check(uint32_t thread, Over over, Part part, const Origin& expected) {
    expect(arena_.part(thread, over, part), expected);
  }

  static void expect(Message message, const Origin& expected) {
    const Origin from = origin_of(message);
    if (from != expected || !is_whole(message)) {
      wrong("not what was expected here", from);
    }
  }

  /// All of the peer's messages have come, and what it did before each of them with them.
  void check_what_the_peer_did() {
    for (uint32_t t = 0; t < kThreads; ++t) {
      for (const Over over : {Over::shared, Over::own}) {
        check(t, over, Part::target, {1 - side_, over, t, rounds_ - 1});
      }
    }
    if (arena_.counter() != uint64_t{2} * kThreads * rounds_) {
      std::fprintf(stderr, "verbs-threads: %lu atomics were executed\n",
                   static_cast<unsigned long>(arena_.counter()));
      std::_Exit(1);
    }
  }

  static constexpr uint64_t kSend = uint64_t{1} << 32;  // in a wr_id, with the thread

  uint32_t rounds_;
  bool forks_;
  uint32_t side_;
  Arena arena_;
  Pairs pairs_;
  std::array<std::atomic<uint32_t>, kThreads> shared_sent_{};
  std::atomic<uint32_t> shared_received_{0};
  std::vector<std::atomic<bool>> seen_;  // the peer's messages over the shared pair
  PeerLink link_;
};

}  // namespace
}  // namespace dropin

int main(int argc, char** argv) {
  // What ThreadSanitizer starts to name functions must not run over the preloaded library.
  unsetenv("LD_PRELOAD");
  const dropin::Options options = dropin::parse(argc, argv);
  dropin::Threads(options).run();
  std::printf("%u messages each way were whole\n", 2 * dropin::kThreads * options.rounds);
  return 0;
}
