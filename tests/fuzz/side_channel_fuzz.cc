// Fuzzes what a program takes from the TCP connection beside the wire: everything that the other
// end sends before it closes, for each thing that this end may wait for.
// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "common/exchange.h"
#include "common/side_channel.h"
#include "fuzz/memory_socket.h"
#include "fuzz/tally.h"

namespace uroce::app {
namespace {

roce::fuzz::Tally tally;

Hello own_hello() {
  Hello hello;
  hello.program = "uroce-pingpong";
  hello.parameters = {{"size", "64"}, {"count", "1000"}};
  hello.endpoint.qps = {{.qpn = 42, .psn = 7, .rkey = 3, .va = 0x1000, .length = 4096}};
  return hello;
}

/// A refusal says why, in characters fit for a terminal.
void check_words(const roce::Error& error) {
  ROCE_CHECK(error.code != 0 && !error.reason.empty());
  for (const char c : error.reason) {
    ROCE_CHECK(static_cast<unsigned char>(c) >= 0x20);
  }
}

template <class T>
void check(const Result<T>& result) {
  if (!result) {
    check_words(result.error());
  }
}

void serve(SideChannel& channel) {
  const auto dialect = recognise_client(channel);
  check(dialect);
  if (!dialect) {
    return;
  }
  if (*dialect == Dialect::uroce) {
    const auto theirs = exchange_hello(channel, own_hello());
    check(theirs);
    return;
  }
  const auto theirs = stock_server_receive(channel, 1);
  check(theirs);
  if (theirs) {
    check(stock_server_reply(channel, {StockAddress{}}));
  }
}

void meet(SideChannel& channel) {
  for (const std::string_view name : {"start", "end"}) {
    const Status met = channel.sync(name);
    if (!met) {
      check_words(met.error());
      return;
    }
    channel.peer_state();
  }
}

/// What is understood means the same after being said again.
void check_texts(std::string_view text) {
  const auto hello = parse_hello(text);
  check(hello);
  if (hello) {
    const auto again = parse_hello(hello_line(*hello));
    ROCE_CHECK(again.has_value() && again->endpoint == hello->endpoint);
    differences(own_hello().parameters, hello->parameters);
  }
  const auto stock = parse_stock(text);
  check(stock);
  if (stock) {
    const auto again = parse_stock(stock_text(*stock));
    ROCE_CHECK(again.has_value() && *again == *stock);
  }
}

/// Pieces as TCP might cut them: all at once, or 1 to 31 bytes each.
size_t piece_of(uint8_t what) {
  const size_t drawn = what >> 3;
  return drawn == 0 ? SIZE_MAX : drawn;
}

void check_channel(uint8_t what, std::string_view bytes) {
  using roce::fuzz::MemorySocket;
  MemorySocket::open(bytes, piece_of(what));
  {
    SideChannel channel(MemorySocket::kFd, "the fuzzer", {});
    switch (what % 4) {
      case 0:
        serve(channel);
        break;
      case 1:
        check(exchange_hello(channel, own_hello()));
        break;
      case 2:
        check(stock_client_exchange(channel, {StockAddress{}}));
        break;
      default:
        meet(channel);
        break;
    }
    channel.send_stop("the input is over");
    channel.peer_state();
  }
  ROCE_CHECK(MemorySocket::closed());
}

}  // namespace
}  // namespace uroce::app

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  // What needs no connection goes without.
  if ((data[0] & 4) == 0) {
    uroce::app::check_channel(data[0], bytes);
  } else {
    uroce::app::check_texts(bytes);
  }
  return 0;
}
