// Both exchanges over real sockets, and their texts.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/exchange.h"

#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/channel_pair.h"

namespace uroce::app {
namespace {

using test::ChannelPair;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Hello hello_of(const char* ip, uint32_t qpn) {
  Hello hello;
  hello.program = "uroce-bw";
  hello.parameters = {{"op", "write"}, {"size", "65536"}, {"iters", "5000"}};
  hello.endpoint.gid = *roce::parse_gid(ip);
  hello.endpoint.qps = {{.qpn = qpn,
                         .psn = 0xfffffe,
                         .rkey = 0xdeadbeef,
                         .va = 0x7fff'1234'5678'9000,
                         .length = uint64_t{1} << 33U}};
  return hello;
}

TEST(Hello, survives_its_line) {
  const Hello before = hello_of("2001:db8::1", 0x2a);
  const std::string line = hello_line(before);
  EXPECT_EQ(line.front(), '{');
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto after = parse_hello(line);
  ASSERT_TRUE(after) << after.error().reason;
  EXPECT_EQ(after->program, before.program);
  EXPECT_EQ(after->parameters, before.parameters);
  EXPECT_EQ(after->endpoint, before.endpoint);
}

TEST(Hello, anything_else_is_refused) {
  for (const char* wrong :
       {"", "{", "[]", "42", "{}", R"({"magic":"uroce/1"})",
        R"({"magic":"uroce/1","program":1,"parameters":{},"gid":"","qps":[]})",
        R"({"magic":"uroce/1","program":"x","parameters":{"a":1},"gid":"","qps":[]})",
        R"({"magic":"uroce/1","program":"x","parameters":{},"gid":"","qps":[{}]})"}) {
    const auto hello = parse_hello(wrong);
    ASSERT_FALSE(hello) << wrong;
    EXPECT_EQ(hello.error().code, EPROTO) << wrong;
  }
  const auto other_version = parse_hello(R"({"magic":"uroce/2"})");
  ASSERT_FALSE(other_version);
  EXPECT_THAT(other_version.error().reason,
              AllOf(HasSubstr("uroce/2"), HasSubstr("uroce/1"), HasSubstr("one version")));
}

TEST(Differences, name_each_parameter_with_both_values) {
  const Parameters here = {{"size", "65536"}, {"iters", "1000"}, {"mtu", "4096"}, {"new", "1"}};
  const Parameters there = {{"iters", "5000"}, {"size", "64"}, {"mtu", "4096"}, {"old", "2"}};
  EXPECT_EQ(differences(here, there),
            "size is 65536 here and 64 there; iters is 1000 here and 5000 there; new is 1 here and "
            "not known there; old is not known here and 2 there");
  EXPECT_EQ(differences(here, here), "");
}

TEST(Exchange, gives_each_end_the_others_address) {
  ChannelPair pair;
  const Hello a = hello_of("192.0.2.1", 1);
  const Hello b = hello_of("192.0.2.2", 2);
  auto other = std::async(std::launch::async, [&] { return exchange_hello(*pair.client, b); });
  EXPECT_EQ(*recognise_client(*pair.server), Dialect::uroce);
  const auto at_server = exchange_hello(*pair.server, a);
  ASSERT_TRUE(at_server) << at_server.error().reason;
  EXPECT_EQ(*at_server, b.endpoint);
  EXPECT_EQ(*other.get(), a.endpoint);
}

TEST(Exchange, difference_is_told_at_both_ends) {
  ChannelPair pair;
  const Hello a = hello_of("192.0.2.1", 1);
  Hello b = hello_of("192.0.2.2", 2);
  b.parameters[1].second = "4096";
  auto other = std::async(std::launch::async, [&] { return exchange_hello(*pair.client, b); });
  const auto at_server = exchange_hello(*pair.server, a);
  const auto at_client = other.get();
  ASSERT_FALSE(at_server);
  ASSERT_FALSE(at_client);
  EXPECT_EQ(at_server.error().code, EINVAL);
  EXPECT_THAT(at_server.error().reason,
              AllOf(HasSubstr("size is 65536 here and 4096 there"), Not(HasSubstr("iters"))));
  EXPECT_THAT(at_client.error().reason, HasSubstr("size is 4096 here and 65536 there"));
}

TEST(Exchange, another_program_is_named) {
  ChannelPair pair;
  Hello b = hello_of("192.0.2.2", 2);
  b.program = "uroce-pingpong";
  ASSERT_TRUE(pair.client->send_line(hello_line(b), "greeting"));
  const auto at_server = exchange_hello(*pair.server, hello_of("192.0.2.1", 1));
  ASSERT_FALSE(at_server);
  EXPECT_EQ(at_server.error().code, EPROTO);
  EXPECT_THAT(at_server.error().reason, AllOf(HasSubstr("uroce-pingpong"), HasSubstr("uroce-bw")));
}

TEST(Exchange, dead_peer_ends_it) {
  ChannelPair pair;
  pair.client.reset();
  const auto at_server = exchange_hello(*pair.server, hello_of("192.0.2.1", 1));
  ASSERT_FALSE(at_server);
  EXPECT_EQ(at_server.error().code, ECONNRESET);
}

TEST(Exchange, stranger_at_the_port_is_refused) {
  ChannelPair pair;
  ASSERT_TRUE(pair.client->send_line("GET / HTTP/1.1", "request"));
  const auto dialect = recognise_client(*pair.server);
  ASSERT_FALSE(dialect);
  EXPECT_EQ(dialect.error().code, EPROTO);
}

StockAddress stock_address() {
  return {.lid = 0, .qpn = 0x2a, .psn = 0xabcdef, .gid = *roce::parse_gid("192.0.2.1")};
}

TEST(StockExchange, text_is_that_of_ibverbs_utils) {
  const std::string text = "0000:00002a:abcdef:00000000000000000000ffffc0000201";
  EXPECT_EQ(stock_text(stock_address()), text);
  EXPECT_EQ(*parse_stock(text), stock_address());
  EXPECT_EQ(*parse_stock(text + '\0'), stock_address());
  EXPECT_EQ(parse_stock("ffff:ffffff:ffffff:fe800000000000000000000000000001")->lid, 0xffff);
  for (const std::string& wrong :
       {std::string(), text.substr(1), text + "0", std::string(51, '0'), std::string(51, ':'),
        "000g" + text.substr(4), text.substr(0, 50) + "g"}) {
    EXPECT_FALSE(parse_stock(wrong)) << wrong;
  }
}

TEST(StockExchange, client_sends_52_bytes_then_done_with_its_nul) {
  ChannelPair pair;
  StockAddress theirs = stock_address();
  theirs.qpn = 0x77;
  auto client = std::async(std::launch::async,
                           [&] { return stock_client_exchange(*pair.client, {stock_address()}); });
  EXPECT_EQ(*recognise_client(*pair.server), Dialect::stock);
  EXPECT_EQ(*pair.server->receive_bytes(52, "address"), stock_text(stock_address()) + '\0');
  ASSERT_TRUE(pair.server->send_bytes(stock_text(theirs) + '\0', "address"));
  EXPECT_EQ(*pair.server->receive_bytes(5, "done"), std::string_view("done\0", 5));
  const auto got = client.get();
  ASSERT_TRUE(got) << got.error().reason;
  EXPECT_THAT(*got, ElementsAre(theirs));
}

TEST(StockExchange, server_answers_a_stock_client) {
  ChannelPair pair;
  StockAddress mine = stock_address();
  mine.psn = 1;
  auto client = std::async(std::launch::async,
                           [&] { return stock_client_exchange(*pair.client, {stock_address()}); });
  const auto got = stock_server_receive(*pair.server, 1);
  ASSERT_TRUE(got) << got.error().reason;
  EXPECT_THAT(*got, ElementsAre(stock_address()));
  EXPECT_TRUE(stock_server_reply(*pair.server, {mine}));
  EXPECT_THAT(*client.get(), ElementsAre(mine));
}

TEST(StockExchange, several_addresses_go_both_ways) {
  ChannelPair pair;
  std::vector<StockAddress> mine(kStockSrqAddresses);
  std::vector<StockAddress> theirs(kStockSrqAddresses);
  mine[0].qpn = 7;
  theirs[1].qpn = 8;
  auto client =
      std::async(std::launch::async, [&] { return stock_client_exchange(*pair.client, theirs); });
  EXPECT_EQ(*stock_server_receive(*pair.server, kStockSrqAddresses), theirs);
  EXPECT_TRUE(stock_server_reply(*pair.server, mine));
  EXPECT_EQ(*client.get(), mine);
}

TEST(StockExchange, client_that_does_not_confirm_is_an_error) {
  ChannelPair pair;
  ASSERT_TRUE(pair.client->send_bytes(std::string_view("gone\0", 5), "done"));
  const Status unconfirmed = stock_server_reply(*pair.server, {stock_address()});
  ASSERT_FALSE(unconfirmed);
  EXPECT_EQ(unconfirmed.error().code, EPROTO);
  EXPECT_THAT(unconfirmed.error().reason, HasSubstr("did not confirm the exchange"));
  pair.client.reset();
  const Status closed = stock_server_reply(*pair.server, {stock_address()});
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, ECONNRESET);
}

TEST(StockExchange, uroce_client_at_a_stock_server_is_told_of_the_flag) {
  ChannelPair pair;
  ASSERT_TRUE(pair.server->send_bytes(stock_text(stock_address()) + '\0', "address"));
  const auto at_client = exchange_hello(*pair.client, hello_of("192.0.2.2", 2));
  ASSERT_FALSE(at_client);
  EXPECT_THAT(at_client.error().reason,
              HasSubstr("is a stock ibverbs-utils program; call it with --stock"));
}

}  // namespace
}  // namespace uroce::app
