// Text format version 0.0.4, and as much of HTTP as Prometheus needs.
// SPDX-License-Identifier: BSD-3-Clause
#include "prometheus.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace roce {
namespace {

constexpr int kLookMs = 200;  // between looks whether to stop
constexpr int kClientMs = 1000;

class Text {
 public:
  void metric(std::string_view name, std::string_view kind, std::string_view help) {
    text_ += fmt::format("# HELP uroce_{0} {2}\n# TYPE uroce_{0} {1}\n", name, kind, help);
  }
  void value(std::string_view name, uint64_t value, std::string_view labels = {}) {
    text_ += fmt::format("uroce_{}{} {}\n", name,
                         labels.empty() ? std::string() : fmt::format("{{{}}}", labels), value);
  }
  void counter(std::string_view name, std::string_view help, uint64_t count) {
    metric(name, "counter", help);
    value(name, count);
  }
  void gauge(std::string_view name, std::string_view help, uint64_t now) {
    metric(name, "gauge", help);
    value(name, now);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_engine(Text& text, const verbs::Snapshot& s) {
  text.counter("rx_packets_total", "RoCE packets that reached a queue pair", s.engine.rcvd_packets);
  text.counter("tx_packets_total", "RoCE packets sent", s.engine.sent_packets);
  text.counter("rx_other_total", "ARP, neighbour discovery and ping", s.engine.rcvd_other);
  text.counter("rx_cnp_total", "congestion notifications received", s.engine.rcvd_cnp);
  text.counter("rx_ce_total", "packets marked by a congested network", s.engine.rcvd_ce);
  text.metric("drops_total", "counter", "received packets that were dropped, by reason");
  for (size_t i = 1; i < kDropReasonCount; ++i) {
    text.value("drops_total", s.engine.drops[i], fmt::format("reason=\"{}\"", kDropReasonNames[i]));
  }
  text.counter("engine_turns_total", "turns of the engine", s.turns);
  text.metric("engine_busy_seconds_total", "counter", "time in which frames came or went");
  text.value("engine_busy_seconds_total", s.busy_ns / 1'000'000'000);
}

void add_sums(Text& text, const QpCounters& c) {
  text.counter("retransmits_total", "request packets sent again", c.retransmitted);
  text.counter("timeouts_total", "waits for an acknowledgement that ran out", c.timeouts);
  text.counter("sequence_naks_rx_total", "sequence NAKs received", c.sequence_naks_rcvd);
  text.counter("sequence_naks_tx_total", "sequence NAKs sent", c.sequence_naks_sent);
  text.counter("rnr_naks_rx_total", "RNR NAKs received", c.rnr_naks_rcvd);
  text.counter("rnr_naks_tx_total", "RNR NAKs sent", c.rnr_naks_sent);
  text.counter("duplicate_requests_total", "requests that came again", c.duplicate_requests);
  text.counter("acks_tx_total", "acknowledgements sent", c.acks_sent);
  text.counter("retry_exceeded_total", "queue pairs that gave up", c.retry_exceeded);
}

void add_port(Text& text, const verbs::Snapshot& s) {
  text.gauge("link_up", "1 while the other end of the wire is there", s.link_up ? 1 : 0);
  text.counter("port_rx_frames_total", "frames received", s.port.rx_frames);
  text.counter("port_tx_frames_total", "frames sent", s.port.tx_frames);
  text.counter("port_rx_missed_total", "frames lost before they were seen", s.port.rx_missed);
  text.counter("port_tx_refused_total", "frames that had to wait", s.port.tx_refused);
  text.counter("port_rx_handed_over_total", "frames received for another engine",
               s.port.rx_handed_over);
}

void add_objects(Text& text, const verbs::Snapshot& s) {
  text.gauge("queue_pairs", "queue pairs", s.qps.size());
  text.gauge("completion_queues", "completion queues", s.cqs.size());
  text.gauge("memory_regions", "memory regions", s.mrs.size());
  text.metric("qp_in_flight", "gauge", "packets of a queue pair not acknowledged yet");
  for (const verbs::QpSnapshot& qp : s.qps) {
    text.value("qp_in_flight", qp.in_flight,
               fmt::format("qpn=\"{}\",type=\"{}\",state=\"{}\"", qp.qpn, qp.type, qp.state));
  }
  text.metric("qp_retransmits_total", "counter", "request packets of a queue pair sent again");
  for (const verbs::QpSnapshot& qp : s.qps) {
    text.value("qp_retransmits_total", qp.counters.retransmitted,
               fmt::format("qpn=\"{}\"", qp.qpn));
  }
}

std::string response(std::string_view status, std::string_view body) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n"
      "Connection: close\r\n\r\n{}",
      status, body.size(), body);
}

}  // namespace

std::string prometheus_text(const verbs::Snapshot& snapshot) {
  Text text;
  add_engine(text, snapshot);
  add_sums(text, snapshot.all_qps);
  add_port(text, snapshot);
  add_objects(text, snapshot);
  return text.take();
}

Result<std::unique_ptr<PrometheusServer>> PrometheusServer::start(uint16_t port, Page page) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(port);
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 ||
      ::listen(listener, 4) != 0) {
    const int code = errno;
    ::close(listener);
    return failure(code, fmt::format("telemetry.prometheus_port {}: {}; choose another port, or 0 "
                                     "for none",
                                     port, std::strerror(code)));
  }
  return std::unique_ptr<PrometheusServer>(new PrometheusServer(listener, std::move(page)));
}

PrometheusServer::PrometheusServer(int listener, Page page)
    : listener_(listener), page_(std::move(page)), thread_([this] { serve(); }) {}

PrometheusServer::~PrometheusServer() {
  stop_.store(true);
  thread_.join();
  ::close(listener_);
}

void PrometheusServer::serve() {
  while (!stop_.load()) {
    pollfd wait{listener_, POLLIN, 0};
    if (::poll(&wait, 1, kLookMs) > 0) {
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client >= 0) {
        answer(client);
        ::close(client);
      }
    }
  }
}

/// One request; what does not come within a second is no request.
void PrometheusServer::answer(int client) {
  std::string request;
  std::array<char, 1024> part{};
  pollfd wait{client, POLLIN, 0};
  while (request.find("\r\n\r\n") == std::string::npos && request.size() < 8 * part.size()) {
    const ssize_t got =
        ::poll(&wait, 1, kClientMs) > 0 ? ::recv(client, part.data(), part.size(), 0) : ssize_t{0};
    if (got <= 0) {
      return;
    }
    request.append(part.data(), static_cast<size_t>(got));
  }
  std::string reply = response("404 Not Found", "the page is /metrics\n");
  if (request.starts_with("GET /metrics ")) {
    const Result<std::string> page = page_();
    reply = page ? response("200 OK", *page)
                 : response("503 Service Unavailable", page.error().reason + "\n");
  }
  for (std::string_view rest = reply; !rest.empty();) {
    const ssize_t sent = ::send(client, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return;
    }
    rest.remove_prefix(static_cast<size_t>(sent));
  }
}

}  // namespace roce
