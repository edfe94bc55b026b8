// SideChannel over real sockets: steps, the caller's callback, deadlines, and the other end's end.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/side_channel.h"

#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/channel_pair.h"

namespace uroce::app {
namespace {

using test::ChannelPair;
using test::within;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The port of a listener that is gone.
uint16_t unused_port() {
  return Listener::open(0)->port();
}

TEST(SideChannel, lines_and_bytes_arrive_in_order) {
  ChannelPair pair;
  ASSERT_TRUE(pair.client->send_line("one", "a line"));
  ASSERT_TRUE(pair.client->send_bytes(std::string_view("a\0b", 3), "bytes"));
  ASSERT_TRUE(pair.client->send_line("two", "a line"));
  EXPECT_EQ(*pair.server->peek("a line"), 'o');
  EXPECT_EQ(*pair.server->receive_line("a line"), "one");
  EXPECT_EQ(*pair.server->receive_bytes(3, "bytes"), std::string_view("a\0b", 3));
  EXPECT_EQ(*pair.server->receive_line("a line"), "two");
}

TEST(SideChannel, large_messages_pass_while_both_ends_wait) {
  ChannelPair pair;
  const std::string big(900'000, 'x');
  auto sender = std::async(std::launch::async, [&] { return pair.client->send_line(big, "big"); });
  const auto line = pair.server->receive_line("big");
  ASSERT_TRUE(line) << line.error().reason;
  EXPECT_EQ(*line, big);
  EXPECT_TRUE(sender.get());
}

TEST(SideChannel, endless_line_is_refused) {
  ChannelPair pair;
  auto sender = std::async(std::launch::async, [&] {
    static_cast<void>(pair.client->send_bytes(std::string(3'000'000, 'x'), "big"));
  });
  const auto line = pair.server->receive_line("greeting");
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, EPROTO);
  pair.server.reset();
  sender.get();
}

TEST(SideChannel, progress_runs_while_a_step_waits) {
  ChannelPair pair;
  int rounds = 0;
  pair.server->set_waiting({.progress =
                                [&] {
                                  if (++rounds == 1000) {
                                    EXPECT_TRUE(pair.client->send_line("now", "a line"));
                                  }
                                  return true;
                                },
                            .limit = std::chrono::seconds(5)});
  const auto line = pair.server->receive_line("a line");
  ASSERT_TRUE(line) << line.error().reason;
  EXPECT_EQ(*line, "now");
  EXPECT_GE(rounds, 1000);
}

TEST(SideChannel, progress_can_end_a_step) {
  ChannelPair pair;
  pair.server->set_waiting({.progress = [] { return false; }, .limit = {}});
  const auto line = pair.server->receive_line("the client's parameters");
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, ECANCELED);
  EXPECT_THAT(line.error().reason, HasSubstr("the client's parameters"));
}

TEST(SideChannel, silent_peer_ends_in_a_named_timeout) {
  ChannelPair pair;
  pair.server->set_waiting(within(60));
  const auto begin = std::chrono::steady_clock::now();
  const auto line = pair.server->receive_line("parameters");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, ETIMEDOUT);
  EXPECT_THAT(
      line.error().reason,
      AllOf(HasSubstr(pair.server->peer()),
            HasSubstr("no parameters within 0.06 s; is it alive, and of the same version?")));
}

TEST(SideChannel, closed_peer_ends_in_a_named_error) {
  ChannelPair pair;
  EXPECT_FALSE(pair.server->peer_gone());
  pair.client.reset();
  const auto line = pair.server->receive_line("parameters");
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, ECONNRESET);
  EXPECT_THAT(line.error().reason, AllOf(HasSubstr("closed"), HasSubstr("parameters")));
  EXPECT_TRUE(pair.server->peer_gone());
}

TEST(SideChannel, sending_to_a_closed_peer_is_an_error_and_no_signal) {
  ChannelPair pair;
  pair.client.reset();
  Status sent;
  for (int i = 0; i < 100 && sent; ++i) {
    sent = pair.server->send_bytes(std::string(65536, 'x'), "data");
  }
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, ECONNRESET);
  EXPECT_THAT(sent.error().reason, HasSubstr("closed the connection, so data could not be sent"));
}

TEST(SideChannel, state_of_the_peer_is_seen_without_waiting) {
  ChannelPair pair;
  EXPECT_EQ(pair.server->peer_state(), PeerState::present);
  ASSERT_TRUE(pair.client->send_line("sync next", "a line"));
  pair.client.reset();
  // What it sent before it closed is still there to be read.
  EXPECT_EQ(pair.server->peer_state(), PeerState::present);
  EXPECT_TRUE(pair.server->receive_line("a line"));
  EXPECT_EQ(pair.server->peer_state(), PeerState::gone);
}

TEST(SideChannel, sync_meets_at_a_name) {
  ChannelPair pair;
  auto other = std::async(std::launch::async, [&] { return pair.client->sync("connected"); });
  EXPECT_TRUE(pair.server->sync("connected"));
  EXPECT_TRUE(other.get());
}

TEST(SideChannel, sync_at_different_points_names_both) {
  ChannelPair pair;
  auto other = std::async(std::launch::async, [&] { return pair.client->sync("finished"); });
  const Status here = pair.server->sync("connected");
  ASSERT_FALSE(here);
  EXPECT_EQ(here.error().code, EPROTO);
  EXPECT_THAT(here.error().reason, AllOf(HasSubstr("finished"), HasSubstr("connected"),
                                         HasSubstr("the two programs differ in version")));
  EXPECT_FALSE(other.get());
}

TEST(SideChannel, stop_notice_is_seen_by_looking_and_by_waiting) {
  ChannelPair looking;
  looking.client->send_stop("interrupted by SIGINT");
  while (looking.server->peer_state() == PeerState::present) {
    std::this_thread::yield();
  }
  EXPECT_EQ(looking.server->peer_state(), PeerState::stopped);
  EXPECT_EQ(looking.server->stop_reason(), "interrupted by SIGINT");
  looking.client.reset();
  EXPECT_EQ(looking.server->peer_state(), PeerState::stopped);

  ChannelPair waiting;
  waiting.client->send_stop("bad \x1b[31mword");
  waiting.client.reset();
  const Status met = waiting.server->sync("finished");
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().code, ECANCELED);
  EXPECT_THAT(met.error().reason, HasSubstr("stopped: bad ?[31mword"));
}

TEST(SideChannel, nobody_listening_is_refused_with_the_remedy) {
  const uint16_t port = unused_port();
  const auto channel = SideChannel::connect("localhost", port, within(1000));
  ASSERT_FALSE(channel);
  EXPECT_EQ(channel.error().code, ECONNREFUSED);
  EXPECT_THAT(channel.error().reason,
              AllOf(HasSubstr(std::to_string(port)), HasSubstr("start the server first")));
}

TEST(SideChannel, patience_bridges_the_time_until_the_server_listens) {
  const uint16_t port = unused_port();
  auto client = std::async(std::launch::async, [port] {
    return SideChannel::connect("localhost", port, within(1000), std::chrono::seconds(5))
        .has_value();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  auto listener = Listener::open(port);
  ASSERT_TRUE(listener) << listener.error().reason;
  EXPECT_TRUE(listener->accept(within(5000)));
  EXPECT_TRUE(client.get());
}

TEST(SideChannel, unknown_host_is_named) {
  const auto channel = SideChannel::connect("no such host", 1, within(100));
  ASSERT_FALSE(channel);
  EXPECT_EQ(channel.error().code, ENOENT);
  EXPECT_THAT(channel.error().reason, HasSubstr("no such host"));
}

TEST(Listener, port_in_use_is_named_with_the_remedy) {
  const auto first = Listener::open(0);
  ASSERT_TRUE(first);
  const auto second = Listener::open(first->port());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, EADDRINUSE);
  EXPECT_THAT(second.error().reason,
              AllOf(HasSubstr(std::to_string(first->port())), HasSubstr("-p")));
}

TEST(Listener, waits_for_a_client_until_its_deadline_or_a_stop) {
  auto listener = Listener::open(0);
  ASSERT_TRUE(listener);
  const auto late = listener->accept(within(60));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ETIMEDOUT);
  const auto stopped = listener->accept({.progress = [] { return false; }, .limit = {}});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ECANCELED);
}

}  // namespace
}  // namespace uroce::app
