// Making, changing and destroying objects.
// SPDX-License-Identifier: BSD-3-Clause
#include "fuzz/verbs_session.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "attribute_mask.h"
#include "engine/counters.h"
#include "engine/engine.h"

namespace roce::fuzz {
namespace {

/// Also a number that is no value of the enumeration.
template <class Enum>
void set(Enum& field, uint32_t number) {
  static_assert(sizeof field == sizeof number);
  std::memcpy(&field, &number, sizeof number);
}

}  // namespace

World::World() : arena(kArena) {
  EngineConfig config;
  config.tables = {.max_qp = 3, .max_mr = 6, .max_cq = 3, .max_pd = 3, .max_srq = 2, .max_ah = 3};
  config.addresses.mac = wire.a().info().mac;
  ROCE_CHECK(config.addresses.add(Gid::from(kIp), 24));
  verbs::DeviceConfig own;
  own.pkeys = {0xffff, 0x8001, 0x7fff};
  own.resolve_timeout = Duration::from_ms(2);
  own.random = [this] { return numbers.next(); };
  own.while_waiting = [this] { clock.move(Duration::from_ms(1)); };
  device = std::move(*verbs::Device::create(wire.a(), clock, config, own));
}

void World::begin() {
  clock.start_epoch();
  std::memset(arena.data(), 0, arena.size());
  device->poll();
}

void VerbsSession::call() {
  switch (in_.byte() % 16) {
    case 0:
    case 1:
    case 2:
      make();
      break;
    case 3:
      destroy();
      break;
    case 4:
      modify_qp();
      break;
    case 5:
    case 6:
      connect_qp();
      break;
    case 7:
      change_others();
      break;
    case 8:
      query();
      break;
    case 9:
    case 10:
    case 11:
      post_send();
      break;
    case 12:
      post_receive();
      break;
    case 13:
      post_special();
      break;
    default:
      poll();
      break;
  }
}

void VerbsSession::make() {
  verbs::Pd* const pd = pick(pds_, in_);
  const uint8_t what = in_.byte() % 8;
  if (what == 0 || pd == nullptr) {
    keep(pds_, device_.alloc_pd());
    return;
  }
  switch (what) {
    case 1: {
      const size_t offset = in_.below(kArena);
      const size_t length = in_.flag() ? kArena - offset : in_.byte();
      const std::optional<uint64_t> iova =
          in_.flag() ? std::optional(in_.number<uint64_t>()) : std::nullopt;
      keep(mrs_, device_.reg_mr(*pd, world_.arena.data() + offset,
                                std::min(length, kArena - offset), access(), iova));
      break;
    }
    case 2:
      keep(mws_, device_.alloc_mw(*pd, static_cast<ibv_mw_type>(in_.byte() % 4)));
      break;
    case 3:
      keep(cqs_,
           device_.create_cq(static_cast<int>(size()) - 1, {in_.flag(), pick(channels_, in_)}));
      break;
    case 4:
      make_srq(*pd);
      break;
    case 5:
      keep(ahs_, device_.create_ah(*pd, address()));
      break;
    case 6:
      keep(channels_, device_.create_comp_channel());
      break;
    default:
      make_qp(pd);
      break;
  }
}

void VerbsSession::make_srq(verbs::Pd& pd) {
  const uint32_t sges = in_.flag() ? in_.byte() % 4 : in_.byte();
  keep(srqs_, device_.create_srq(pd, {size(), sges, size()}));
}

void VerbsSession::make_qp(verbs::Pd* pd) {
  verbs::Cq* const send_cq = pick(cqs_, in_);
  verbs::Cq* const recv_cq = pick(cqs_, in_);
  if (send_cq == nullptr || recv_cq == nullptr) {
    keep(cqs_, device_.create_cq(16));
    return;
  }
  constexpr ibv_qp_type kTypes[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET,
                                    static_cast<ibv_qp_type>(99)};
  ibv_qp_init_attr init{};
  init.qp_type = in_.one_of(kTypes);
  const bool usual = in_.flag();
  init.cap = usual ? ibv_qp_cap{8, 8, 2, 2, 32}
                   : ibv_qp_cap{size(), size(), in_.byte(), in_.byte(), size()};
  init.sq_sig_all = in_.flag() ? 1 : 0;
  verbs::Srq* const srq = in_.flag() ? pick(srqs_, in_) : nullptr;
  auto qp = device_.create_qp(*pd, *send_cq, *recv_cq, init, srq);
  check(qp);
  if (qp) {
    qps_.add({std::move(*qp), init.qp_type});
  }
}

/// Handles go in any order; what is still used stays alive behind them.
void VerbsSession::destroy() {
  switch (in_.byte() % 8) {
    case 0:
      drop(pds_);
      break;
    case 1:
      drop(mrs_);
      break;
    case 2:
      drop(mws_);
      break;
    case 3:
      drop(cqs_);
      break;
    case 4:
      drop(channels_);
      break;
    case 5:
      drop(srqs_);
      break;
    case 6:
      drop(ahs_);
      break;
    default:
      drop(qps_);
      break;
  }
}

ibv_ah_attr VerbsSession::address() {
  ibv_ah_attr ah{};
  ah.is_global = in_.byte() % 8 == 7 ? 0 : 1;
  ah.port_num = in_.byte() % 8 == 7 ? in_.byte() : 1;
  ah.sl = in_.byte();
  ah.grh.sgid_index = in_.byte() % 4 == 3 ? in_.byte() : 1;
  ah.grh.hop_limit = in_.byte();
  ah.grh.traffic_class = in_.byte();
  ah.grh.flow_label = in_.number<uint32_t>() >> in_.byte() % 32;
  Gid gid = Gid::from(kIp);
  switch (in_.byte() % 8) {
    case 6:
      gid = Gid::from(Ipv4Address{{192, 0, 2, in_.byte()}});
      break;
    case 7: {
      const auto bytes = in_.take(gid.bytes.size());
      std::copy(bytes.begin(), bytes.end(), gid.bytes.begin());
      break;
    }
    default:
      break;
  }
  std::memcpy(ah.grh.dgid.raw, gid.bytes.data(), gid.bytes.size());
  return ah;
}

ibv_qp_attr VerbsSession::attributes() {
  ibv_qp_attr a{};
  set(a.qp_state, in_.byte() % 9);
  set(a.cur_qp_state, in_.byte() % 9);
  set(a.path_mtu, in_.byte() % 8);
  a.qkey = in_.byte();
  a.rq_psn = in_.number<uint32_t>() >> in_.byte() % 32;
  a.sq_psn = in_.number<uint32_t>() >> in_.byte() % 32;
  a.dest_qp_num = in_.number<uint32_t>() >> in_.byte() % 32;
  a.qp_access_flags = static_cast<unsigned>(access());
  a.pkey_index = in_.byte() % 5;
  a.port_num = in_.byte() % 3;
  a.max_rd_atomic = in_.byte();
  a.max_dest_rd_atomic = in_.byte();
  a.min_rnr_timer = in_.byte() % 40;
  a.timeout = in_.byte() % 40;
  a.retry_cnt = in_.byte() % 10;
  a.rnr_retry = in_.byte() % 10;
  a.en_sqd_async_notify = in_.byte();
  a.ah_attr = address();
  return a;
}

void VerbsSession::modify_qp() {
  verbs::Qp* const qp = pick_qp();
  if (qp == nullptr) {
    return;
  }
  const uint32_t mask = in_.number<uint32_t>() & (in_.flag() ? UINT32_MAX : 0x1f'ffffu);
  check(qp->modify(attributes(), static_cast<int>(mask | (in_.flag() ? IBV_QP_STATE : 0))));
}

/// The usual way to RTS, with another queue pair or itself as the peer.
void VerbsSession::connect_qp() {
  LiveQp* const live = pick(qps_, in_);
  verbs::Qp* const peer = pick_qp();
  if (live == nullptr) {
    return;
  }
  ibv_qp_attr a{};
  a.port_num = 1;
  a.path_mtu = IBV_MTU_256;
  a.dest_qp_num = peer->qpn();
  a.qp_access_flags = 0xf;
  a.max_rd_atomic = a.max_dest_rd_atomic = in_.byte() % 5;
  a.timeout = 10;
  a.retry_cnt = in_.byte() % 3;
  a.rnr_retry = in_.byte() % 8;
  a.ah_attr.is_global = 1;
  a.ah_attr.port_num = 1;
  a.ah_attr.grh.sgid_index = 1;
  std::memcpy(a.ah_attr.grh.dgid.raw, Gid::from(kIp).bytes.data(), 16);
  for (const ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    a.qp_state = state;
    check(live->qp.modify(a, test::attribute_mask(live->type, state)));
  }
}

void VerbsSession::change_others() {
  switch (in_.byte() % 8) {
    case 0:
      if (verbs::Cq* const cq = pick(cqs_, in_)) {
        check(cq->resize(static_cast<int>(size()) - 1));
      }
      break;
    case 1:
      if (verbs::Cq* const cq = pick(cqs_, in_)) {
        check(cq->arm(in_.flag()));
      }
      break;
    case 2:
      if (verbs::Srq* const srq = pick(srqs_, in_)) {
        check(srq->modify({size(), in_.byte(), size()}, in_.byte() % 8));
      }
      break;
    case 3:
      if (verbs::Mr* const mr = pick(mrs_, in_)) {
        check(mr->deregister());
      }
      break;
    case 4:
      if (verbs::Mr* const mr = pick(mrs_, in_)) {
        const size_t offset = in_.below(kArena);
        check(mr->reregister(in_.byte() % 16, pick(pds_, in_), world_.arena.data() + offset,
                             in_.below(kArena - offset + 1), access()));
      }
      break;
    case 5:
    case 6:
      if (verbs::Qp* const qp = pick_qp()) {
        ibv_gid group{};
        std::memcpy(group.raw, Gid::from(Ipv4Address{{224, 1, 2, in_.byte()}}).bytes.data(), 16);
        check(in_.flag() ? qp->attach_mcast(group) : qp->detach_mcast(group));
      }
      break;
    default:
      if (verbs::CompChannel* const channel = pick(channels_, in_)) {
        // Does not block: there is no other thread that could bring an event.
        static_cast<void>(channel->fd());
      }
      break;
  }
}

void VerbsSession::query() {
  check(device_.query_port(in_.byte()));
  check(device_.query_gid(in_.byte() % 3, static_cast<int>(in_.number<int32_t>())));
  check(device_.query_pkey(in_.byte() % 3, in_.byte() % 5));
  ibv_wc wc{};
  wc.wc_flags = in_.byte();
  ibv_grh grh{};
  const auto bytes = in_.take(sizeof grh);
  std::memcpy(static_cast<void*>(&grh), bytes.data(), bytes.size());
  check(device_.init_ah_from_wc(in_.byte() % 3, wc, grh));
  for (size_t i = 0; i < qps_.size(); ++i) {
    qps_[i].qp.query();
    qps_[i].qp.counters();
  }
  for (size_t i = 0; i < srqs_.size(); ++i) {
    srqs_[i].query();
  }
}

void VerbsSession::poll() {
  if (in_.byte() % 4 == 3) {
    world_.clock.move(Duration::from_us(int64_t{1} << in_.byte() % 24));
  }
  for (int turn = 0; turn < 4; ++turn) {
    device_.poll();
  }
  ibv_wc wc[8];
  for (size_t i = 0; i < cqs_.size(); ++i) {
    const int n = cqs_[i].poll(wc);
    ROCE_CHECK(n <= 8 && (n >= 0 || n == -EOVERFLOW));
  }
  while (device_.take_async_event()) {
  }
}

void VerbsSession::end() {
  poll();
  // What went to other nodes.
  std::array<Frame, 64> frames;
  for (size_t n = 1; n > 0;) {
    n = world_.wire.b().rx_burst(world_.clock.now(), frames);
    world_.wire.b().release(std::span(frames).first(n));
  }
  const EngineCounters counters = device_.counters();
  uint64_t sum = 0;
  for (const uint64_t n : counters.drops) {
    sum += n;
  }
  ROCE_CHECK(sum == counters.dropped);
}

}  // namespace roce::fuzz
