// A message bounces a thousand times between two processes: the least that SEND and RECEIVE take.
//   example-pingpong            in one terminal
//   example-pingpong localhost  in another one
// SPDX-License-Identifier: BSD-3-Clause
#include "rc.h"

namespace {

constexpr uint32_t kSize = 64;
constexpr int kRounds = 1000;
// The own memory: what is sent, then what is received.
constexpr size_t kReceived = kSize;

void send(example::Connection& connection) {
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_SEND;
  connection.post(wr, 0, kSize);
}

/// Waits until one more message has come; the completions of what was sent pass by.
void receive(roce::Endpoint& endpoint, example::Connection& connection) {
  while (example::wait_for(endpoint, connection.cq).opcode != IBV_WC_RECV) {
  }
  connection.post_receive(0, kReceived, kSize);
}

}  // namespace

int main(int argc, char** argv) {
  const bool server = argc < 2;
  const auto endpoint = example::open_endpoint(server);
  example::Peer peer(*endpoint, server ? nullptr : argv[1]);
  example::Connection connection(*endpoint, size_t{2} * kSize);
  connection.post_receive(0, kReceived, kSize);
  connection.connect(peer);

  const roce::Instant start = endpoint->now();
  for (int round = 0; round < kRounds; ++round) {
    if (!server) {
      connection.bytes[0] = static_cast<uint8_t>(round);
      send(connection);
    }
    receive(*endpoint, connection);
    if (connection.bytes[kReceived] != static_cast<uint8_t>(round)) {
      example::die("the wrong message came back");
    }
    if (server) {
      connection.bytes[0] = connection.bytes[kReceived];
      send(connection);
    }
  }
  const auto ns = static_cast<double>((endpoint->now() - start).ns);
  std::printf("%d round trips, %.2f usec each\n", kRounds, ns / 1000 / kRounds);
  peer.meet();
  return 0;
}
