// Hosts: a device with its objects, and what must be true of it in the end.
// SPDX-License-Identifier: BSD-3-Clause
#include <numeric>
#include <string>

#include "engine/engine.h"
#include "sim/swarm/world.h"

namespace roce::swarm {
namespace {

Gid ipv4_of(size_t host) {
  return Gid::from(Ipv4Address{{192, 0, 2, static_cast<uint8_t>(host + 1)}});
}

}  // namespace

void World::start_host(Host& host) {
  host.port = &network_.port(host.index);
  host.port->set_dead(false);
  Port* port = host.port;
  if (!watch_.captures.empty()) {
    auto capture =
        PcapPort::open(*host.port, watch_.captures + "-" + std::to_string(host.index) + ".pcap", 0);
    if (capture) {
      host.capture = std::move(*capture);
      port = host.capture.get();
    }
  }
  EngineConfig config;
  config.tables = {.max_qp = 64, .max_mr = 256};
  config.held_packets = options_.held_packets;
  config.neighbours.capacity = 16;
  config.addresses.mac = host.port->info().mac;
  Status ready = config.addresses.add(ipv4_of(host.index), 24);
  for (size_t i = 0; i < options_.ends; ++i) {
    if (i != host.index) {
      const MacAddress mac = Network::mac_of(i);
      config.static_neighbours.emplace_back(ipv4_of(i), mac);
      config.static_neighbours.emplace_back(Gid::from(link_local_address(mac)), mac);
    }
  }
  verbs::DeviceConfig device;
  device.window_packets = options_.window_packets;
  device.random = [this] { return prng_.next(); };
  auto created = verbs::Device::create(*port, clock_, config, device);
  ROCE_CHECK(ready.has_value() && created.has_value());
  host.device = std::move(*created);
  host.memory = std::make_unique<Memory>(options_.memory, prng_.next());
  constexpr size_t kWordBytes = kWords * sizeof(uint64_t);
  host.space.emplace(Range{kWordBytes, options_.memory - kWordBytes});
  for (size_t i = 0; i < kWords; ++i) {
    std::memcpy(&host.word_start[i], host.memory->actual() + i * sizeof(uint64_t),
                sizeof(uint64_t));
    host.log[i] = {};
  }
  make_objects(host);
}

/// What all queue pairs may complete at once, those that are being replaced among them; or less.
size_t World::cq_entries(Prng& prng) const {
  return options_.small_queues ? 1 + prng.below(12)
                               : 4 * (options_.connections + 1) * (3 * options_.depth + 8);
}

void World::make_objects(Host& host) {
  const size_t domains = 1 + prng_.below(2);
  for (size_t i = 0; i < domains; ++i) {
    host.pds.push_back(*host.device->alloc_pd());
    host.local.push_back(*host.device->reg_mr(
        host.pds[i], host.memory->actual(), host.memory->size(), IBV_ACCESS_LOCAL_WRITE, kLocalVa));
    host.words.push_back(
        *host.device->reg_mr(host.pds[i], host.memory->actual(), kWords * sizeof(uint64_t),
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC, kWordsVa));
    if (options_.shared_receives) {
      host.shared.push_back(std::make_unique<SharedReceives>(SharedReceives{
          *host.device->create_srq(host.pds[i], {SharedReceives::kEntries, kMaxPieces, 0}), {}}));
    }
  }
  const size_t queues = 1 + prng_.below(3);
  for (size_t i = 0; i < queues; ++i) {
    const size_t entries = cq_entries(prng_);
    host.cqs.push_back(*host.device->create_cq(static_cast<int>(entries)));
    host.rooms.push_back({entries});
  }
}

/// Lets go of everything. A process that dies does not say goodbye.
void World::stop_host(Host& host, bool crash) {
  if (host.device == nullptr) {
    return;
  }
  host.port->set_dead(crash);
  host.ends.clear();
  host.shared.clear();
  host.words.clear();
  host.local.clear();
  host.cqs.clear();
  host.rooms.clear();
  host.pds.clear();
  host.device.reset();
  host.capture.reset();
  if (host.port->lent() != 0) {
    fail("host " + std::to_string(host.index) + " has kept " + std::to_string(host.port->lent()) +
         " frame buffers");
  }
}

void World::check_host(Host& host) {
  check_counters(host);
  compare(host);
  for (size_t i = 0; i < kWords && !options_.forged(); ++i) {
    uint64_t last;
    std::memcpy(&last, host.memory->actual() + i * sizeof last, sizeof last);
    if (!host.log[i].explains(host.word_start[i], last)) {
      fail("atomics on word " + std::to_string(i) + " of host " + std::to_string(host.index) +
           " were not each executed exactly once");
    }
  }
  check_pool(host);
}

void World::check_counters(Host& host) {
  const EngineCounters c = host.device->counters();
  const uint64_t sum = std::accumulate(c.drops.begin(), c.drops.end(), uint64_t{0});
  if (sum != c.dropped || c.drops_of(DropReason::none) != 0) {
    fail("host " + std::to_string(host.index) + " has dropped " + std::to_string(c.dropped) +
         " packets, for reasons that sum up to " + std::to_string(sum));
  }
}

/// All queue pairs are gone: a shared queue takes as many requests as it ever did.
void World::check_pool(Host& host) {
  for (const auto& shared : host.shared) {
    ibv_recv_wr wr{};
    ibv_recv_wr* bad = nullptr;
    size_t room = 0;
    while (room <= SharedReceives::kEntries && shared->srq.post_recv(&wr, &bad) == 0) {
      ++room;
    }
    const size_t posted = shared->posted.size();
    // A request whose completion went with its queue pair is outstanding to its user for ever.
    if (room + posted < SharedReceives::kEntries || room > SharedReceives::kEntries) {
      fail("a shared receive queue of " + std::to_string(SharedReceives::kEntries) + " has " +
           std::to_string(posted) + " requests outstanding and room for " + std::to_string(room));
    }
  }
}

std::vector<Range> World::open_ranges(const Host& host) const {
  std::vector<Range> open = {{0, kWords * sizeof(uint64_t)}};
  for (const auto& shared : host.shared) {
    for (const ReceiveRecord& record : shared->posted) {
      open.push_back(record.slot);
    }
  }
  for (const auto& c : connections_) {
    for (const End* end : {&c->a, &c->b}) {
      if (end->host != &host || c->phase == Connection::Phase::closed || end->crashed) {
        continue;
      }
      const End& peer = *end->peer;
      if (end->type != IBV_QPT_RC || !peer.sends.empty() || !peer.ghosts.empty() || peer.crashed ||
          options_.forged()) {
        open.push_back(end->window);
      }
      for (const ReceiveRecord& record : end->receives) {
        open.push_back(record.slot);
      }
      for (const SendRecord& record : end->sends) {
        if (takes_data(record.op)) {
          open.push_back(record.slot);
        }
      }
    }
  }
  return open;
}

void World::compare(Host& host) {
  const std::string difference = host.memory->compare(open_ranges(host));
  if (!difference.empty()) {
    fail("memory of host " + std::to_string(host.index) + ": " + difference);
  }
}

}  // namespace roce::swarm
