// What two programs tell each other before a run, over a SideChannel. Between uroce's own programs:
// all parameters, compared at both ends, so that a difference is a sentence and not a hang. With
// the pingpongs of ibverbs-utils as client or server: their fixed text of QPN, PSN and GID.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/side_channel.h"
#include "roce/config.h"

namespace uroce::app {

using roce::Gid;

/// What the other end needs to reach one QP, and the memory behind it for WRITE and READ.
struct QpAddress {
  uint32_t qpn = 0;
  uint32_t psn = 0;  ///< first PSN this QP sends
  uint32_t rkey = 0;
  uint64_t va = 0;      ///< first byte of the memory, in the owner's addresses
  uint64_t length = 0;  ///< bytes of the memory

  friend bool operator==(const QpAddress&, const QpAddress&) = default;
};

/// One end of a run.
struct EndAddress {
  Gid gid;
  std::vector<QpAddress> qps;

  friend bool operator==(const EndAddress&, const EndAddress&) = default;
};

/// Name and value of what must be alike at both ends, in the order in which differences are told.
using Parameters = std::vector<std::pair<std::string, std::string>>;

/// The first line that uroce's programs send.
struct Hello {
  std::string program;  ///< "uroce-pingpong"
  Parameters parameters;
  EndAddress endpoint;
};

/// One line of JSON, without the newline.
std::string hello_line(const Hello& hello);

/// The reverse; EPROTO when `line` is anything else, or of another version of the exchange.
Result<Hello> parse_hello(std::string_view line);

/// A sentence that names every parameter that differs, with both values; empty when all agree.
std::string differences(const Parameters& here, const Parameters& there);

/// Sends `mine`, receives the other end's and compares. EINVAL with differences(); EPROTO when the
/// other end is not uroce's `mine.program`; else as SideChannel's steps. Both ends may call it at
/// once: neither waits for the other before sending.
Result<EndAddress> exchange_hello(SideChannel& channel, const Hello& mine);

/// What a client turned out to speak.
enum class Dialect : uint8_t { uroce, stock };

/// Server: tells by the first byte that comes, without taking it. EPROTO when it is neither.
Result<Dialect> recognise_client(SideChannel& channel);

/// What ibverbs-utils' pingpongs tell each other.
struct StockAddress {
  uint16_t lid = 0;
  uint32_t qpn = 0;
  uint32_t psn = 0;
  Gid gid;

  friend bool operator==(const StockAddress&, const StockAddress&) = default;
};

/// "0000:00002a:abcdef:0000...": 51 characters; on the wire a NUL follows.
std::string stock_text(const StockAddress& address);

/// Reads it, with or without the NUL; EPROTO when it is anything else.
Result<StockAddress> parse_stock(std::string_view text);

/// ibv_srq_pingpong tells so many addresses, whatever its number of queue pairs; the rest are zero.
/// The others tell one.
inline constexpr size_t kStockSrqAddresses = 256;

/// Client of a stock server: sends the own addresses, receives as many of the server's, confirms.
/// The server may send packets as soon as this has returned.
Result<std::vector<StockAddress>> stock_client_exchange(SideChannel& channel,
                                                        const std::vector<StockAddress>& mine);

/// Server of a stock client, in two steps: the QPs must be ready to receive before the reply, since
/// the client sends packets at once.
Result<std::vector<StockAddress>> stock_server_receive(SideChannel& channel, size_t count);
Status stock_server_reply(SideChannel& channel, const std::vector<StockAddress>& mine);

}  // namespace uroce::app
