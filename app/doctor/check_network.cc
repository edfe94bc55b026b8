// The wire: rights, sockets, MTU, and the way to the other end.
// SPDX-License-Identifier: BSD-3-Clause
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <system_error>

#include <fmt/format.h>

#include "checks.h"

namespace uroce::doctor {
namespace {

using roce::PortKind;

constexpr uint32_t kOverhead = 80;  // of a packet, around its payload
constexpr int kPatienceMs = 2000;
constexpr unsigned kNetAdmin = 12;  // bits of /proc/self/status
constexpr unsigned kNetRaw = 13;

bool uses_interface(const roce::Config& config) {
  return config.port.kind == PortKind::af_packet || config.port.kind == PortKind::af_xdp;
}

/// Connects within the patience; 0 or an errno.
int try_connect(const addrinfo& to) {
  const int made = ::socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
  int error = made < 0 ? errno : 0;
  if (made >= 0 && ::connect(made, to.ai_addr, to.ai_addrlen) != 0) {
    error = errno;
    pollfd wait{made, POLLOUT, 0};
    if (error == EINPROGRESS) {
      socklen_t size = sizeof error;
      if (::poll(&wait, 1, kPatienceMs) <= 0) {
        error = ETIMEDOUT;
      } else {
        ::getsockopt(made, SOL_SOCKET, SO_ERROR, &error, &size);
      }
    }
  }
  ::close(made);
  return error;
}

}  // namespace

void check_rights(const System& system, const roce::Config& config, Findings& findings) {
  const bool raw = uses_interface(config);
  const bool admin = config.port.kind == PortKind::af_xdp || config.port.kind == PortKind::tap;
  if (!raw && !admin) {
    findings.push_back({Verdict::ok, "rights",
                        fmt::format("port.kind {} needs none beyond an ordinary user's",
                                    roce::name_of(config.port.kind)),
                        ""});
    return;
  }
  const std::string text = system.field("/proc/self/status", "CapEff").value_or("0");
  uint64_t have = 0;
  std::from_chars(text.data(), text.data() + text.size(), have, 16);
  const bool fine =
      (!raw || (have >> kNetRaw & 1U) != 0) && (!admin || (have >> kNetAdmin & 1U) != 0);
  const std::string names = fmt::format("{}{}{}", raw ? "cap_net_raw" : "", raw && admin ? "," : "",
                                        admin ? "cap_net_admin" : "");
  findings.push_back(
      {fine ? Verdict::ok : Verdict::bad, "rights",
       fmt::format("port.kind {} needs {}", roce::name_of(config.port.kind), names),
       fine ? "" : fmt::format("sudo setcap {}+ep PROGRAM, or run it as root", names)});
}

void check_wire(const System& system, const roce::Config& config, Findings& findings) {
  if (config.port.kind == PortKind::virtio_user || config.port.kind == PortKind::memif) {
    const std::string folder = std::filesystem::path(config.port.socket).parent_path().string();
    const bool there = system.exists(folder);
    const bool usable = there ? system.may_use(folder) : true;
    const std::string state = system.exists(config.port.socket)
                                  ? "somebody listens there, or a dead server left it"
                                  : "nobody listens there yet";
    findings.push_back({usable ? Verdict::ok : Verdict::bad, "wire",
                        usable ? fmt::format("{}: {}", config.port.socket, state)
                               : fmt::format("this user may not write to {}", folder),
                        usable ? "" : "--set port.socket=FILE, in a folder of your own"});
    return;
  }
  if (uses_interface(config)) {
    const std::string folder = fmt::format("/sys/class/net/{}", config.port.interface);
    const std::string state = system.read(folder + "/operstate").value_or("");
    const bool fine = state == "up" || state == "unknown";
    findings.push_back(
        {fine ? Verdict::ok : Verdict::bad, "wire",
         state.empty() ? fmt::format("there is no interface {}", config.port.interface)
                       : fmt::format("{} is {}", config.port.interface, state),
         fine            ? ""
         : state.empty() ? "ip -br link lists them; --set port.interface=NAME"
                         : fmt::format("sudo ip link set {} up", config.port.interface)});
    return;
  }
  findings.push_back(
      {Verdict::ok, "wire", fmt::format("port.kind {}", roce::name_of(config.port.kind)), ""});
}

void check_mtu(const System& system, const roce::Config& config, Findings& findings) {
  int64_t mtu = config.port.mtu;
  if (uses_interface(config)) {
    const auto theirs = system.number(fmt::format("/sys/class/net/{}/mtu", config.port.interface));
    if (!theirs) {
      findings.push_back({Verdict::unseen, "mtu", "the interface does not tell its MTU", ""});
      return;
    }
    if (*theirs < mtu) {
      findings.push_back({Verdict::bad, "mtu",
                          fmt::format("{} carries {} bytes and port.mtu is {}",
                                      config.port.interface, *theirs, mtu),
                          fmt::format("sudo ip link set {} mtu {}, or --set port.mtu={}",
                                      config.port.interface, mtu, *theirs)});
      return;
    }
  }
  uint32_t path = 4096;
  while (path > 256 && path + kOverhead > mtu) {
    path /= 2;
  }
  const bool full = path == 4096;
  findings.push_back({full ? Verdict::ok : Verdict::slow, "mtu",
                      fmt::format("port.mtu {} carries a path MTU of {}", mtu, path),
                      full ? "" : fmt::format("--set port.mtu={} at both ends", 4096 + kOverhead)});
}

void check_peer(const std::string& host, uint16_t port, Findings& findings) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), fmt::format("{}", port).c_str(), &hints, &list);
      code != 0) {
    findings.push_back({Verdict::bad, "peer", fmt::format("{}: {}", host, ::gai_strerror(code)),
                        fmt::format("getent hosts {}", host)});
    return;
  }
  int error = EHOSTUNREACH;
  for (const addrinfo* at = list; at != nullptr && error != 0 && error != ECONNREFUSED;
       at = at->ai_next) {
    error = try_connect(*at);
  }
  ::freeaddrinfo(list);
  const std::string said = std::generic_category().message(error);
  if (error == 0 || error == ECONNREFUSED) {
    findings.push_back({Verdict::ok, "peer",
                        fmt::format("{} answers; {} listens at TCP port {}", host,
                                    error == 0 ? "somebody" : "nobody yet", port),
                        ""});
    return;
  }
  findings.push_back(
      {Verdict::bad, "peer", fmt::format("{} does not answer: {}", host, said),
       fmt::format("ping -c 3 {}; a firewall has to let TCP port {} and UDP port 4791 pass", host,
                   port)});
}

}  // namespace uroce::doctor
