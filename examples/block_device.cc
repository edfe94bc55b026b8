// A disk in memory served over the network, with an io-loop in the style of a storage reactor. The
// initiator SENDs a command with the place of its buffer; the target READs the data of a write from
// there, or WRITEs the data of a read there, then SENDs the status. Nobody copies.
//   example-block            the target
//   example-block localhost  the initiator: writes all blocks, reads them back, compares
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "reactor.h"

namespace {

using example::Connection;
using example::Reactor;

constexpr uint32_t kBlock = 4096;
constexpr uint32_t kBlocks = 1024;
constexpr uint32_t kQueue = 16;  // commands under way; a command's tag is its place

struct Command {
  enum class Kind : uint32_t { read, write, stop };
  Kind kind = Kind::stop;
  uint32_t block = 0;
  uint64_t address = 0;  ///< of the initiator's buffer
  uint32_t rkey = 0;
  uint32_t tag = 0;
};
struct Status {
  uint32_t tag = 0;
};

// Both ends have blocks in front, the target its disk and the initiator a buffer a tag, then the
// commands and the statuses.
struct Layout {
  size_t blocks;
  size_t command(uint64_t tag) const { return blocks * kBlock + tag * sizeof(Command); }
  size_t status(uint64_t tag) const { return command(kQueue) + tag * sizeof(Status); }
  size_t size() const { return status(kQueue); }
};
constexpr Layout kTarget{kBlocks};
constexpr Layout kInitiator{kQueue};

template <class T>
T& at(Connection& connection, size_t offset) {
  return *reinterpret_cast<T*>(connection.bytes.data() + offset);
}

void send(Connection& c, uint64_t id, size_t offset, uint32_t length) {
  ibv_send_wr wr{};
  wr.wr_id = id;
  wr.opcode = IBV_WR_SEND;
  c.post(wr, offset, length);
}

/// The target's answer to one completion.
void serve(Connection& c, Reactor& reactor, const ibv_wc& wc) {
  constexpr uint64_t kStatusSent = kQueue;
  if (wc.opcode == IBV_WC_RECV) {
    const Command command = at<Command>(c, kTarget.command(wc.wr_id));
    c.post_receive(wc.wr_id, kTarget.command(wc.wr_id), sizeof(Command));
    if (command.kind == Command::Kind::stop) {
      return reactor.stop();
    }
    ibv_send_wr wr{};
    wr.wr_id = command.tag % kQueue;
    wr.opcode = command.kind == Command::Kind::write ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
    wr.wr.rdma = {command.address, command.rkey};
    c.post(wr, size_t{command.block % kBlocks} * kBlock, kBlock);
  } else if (wc.wr_id != kStatusSent) {  // the data have moved
    at<Status>(c, kTarget.status(wc.wr_id)).tag = static_cast<uint32_t>(wc.wr_id);
    send(c, kStatusSent, kTarget.status(wc.wr_id), sizeof(Status));
  }
}

uint8_t content_of(uint32_t block) {
  return static_cast<uint8_t>(block * 7 + 1);
}

/// The initiator's pass over the disk: `kind` for each block, kQueue commands at a time.
class Pass {
 public:
  Pass(roce::Endpoint& endpoint, Connection& c, Command::Kind kind) : c_(c), kind_(kind) {
    add_network(reactor_, endpoint, c, [this](const ibv_wc& wc) {
      if (wc.opcode == IBV_WC_RECV) {
        on_status(wc);
      }
    });
    for (uint32_t tag = 0; tag < kQueue; ++tag) {
      start(tag);
    }
    reactor_.run();
  }

 private:
  void start(uint32_t tag) {
    uint8_t* const buffer = c_.bytes.data() + size_t{tag} * kBlock;
    std::fill_n(buffer, kBlock, kind_ == Command::Kind::write ? content_of(next_) : uint8_t{0});
    at<Command>(c_, kInitiator.command(tag)) = {kind_, next_++, reinterpret_cast<uint64_t>(buffer),
                                                c_.mr.rkey(), tag};
    send(c_, 0, kInitiator.command(tag), sizeof(Command));
  }
  void on_status(const ibv_wc& wc) {
    const uint32_t tag = at<Status>(c_, kInitiator.status(wc.wr_id)).tag;
    c_.post_receive(wc.wr_id, kInitiator.status(wc.wr_id), sizeof(Status));
    const uint32_t block = at<Command>(c_, kInitiator.command(tag)).block;
    const uint8_t* const data = c_.bytes.data() + size_t{tag} * kBlock;
    if (std::count(data, data + kBlock, content_of(block)) != kBlock) {
      example::die("block " + std::to_string(block) + " came back with other data");
    }
    if (++finished_ == kBlocks) {
      reactor_.stop();
    } else if (next_ < kBlocks) {
      start(tag);
    }
  }

  Connection& c_;
  Command::Kind kind_;
  Reactor reactor_;
  uint32_t next_ = 0;
  uint32_t finished_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const bool target = argc < 2;
  const auto endpoint = example::open_endpoint(target);
  example::Peer peer(*endpoint, target ? nullptr : argv[1]);
  const Layout& layout = target ? kTarget : kInitiator;
  Connection c(*endpoint, layout.size());
  for (uint64_t i = 0; i < kQueue; ++i) {
    c.post_receive(i, target ? layout.command(i) : layout.status(i),
                   target ? sizeof(Command) : sizeof(Status));
  }
  c.connect(peer);
  if (target) {
    Reactor reactor;
    add_network(reactor, *endpoint, c, [&](const ibv_wc& wc) { serve(c, reactor, wc); });
    reactor.run();
  } else {
    const Pass writes(*endpoint, c, Command::Kind::write);
    const Pass reads(*endpoint, c, Command::Kind::read);
    at<Command>(c, kInitiator.command(0)) = {};
    send(c, 0, kInitiator.command(0), sizeof(Command));
    std::printf("%u blocks of %u bytes written, read back and compared\n", kBlocks, kBlock);
  }
  peer.meet();
  return 0;
}
