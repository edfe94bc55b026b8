// Devices and queue pairs right on ports, without the simulated network in between: for tests of
// what an engine does with its port.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

#include <gtest/gtest.h>
#include <roce/verbs.h>

#include "sim/rc_rig.h"

namespace roce::sim {

inline Gid address_of(uint8_t host) {
  return Gid::from(Ipv4Address{{192, 0, 2, host}});
}

/// A device of host 1 or 2, which knows the other one, at the port `other`.
inline std::unique_ptr<verbs::Device> device_of(Port& port, verbs::Clock& clock, uint8_t host,
                                                const Port& other) {
  EngineConfig config;
  config.tables = {.max_qp = 8, .max_mr = 8, .max_cq = 8, .max_pd = 8};
  config.addresses.mac = port.info().mac;
  EXPECT_TRUE(config.addresses.add(address_of(host), 24));
  config.static_neighbours.emplace_back(address_of(host == 1 ? 2 : 1), other.info().mac);
  return *verbs::Device::create(port, clock, config, {});
}

/// Brings the queue pair to RTS, with a short timer and three retries.
inline void connect(RigSide& side, const Gid& peer, uint32_t peer_qpn) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  ASSERT_TRUE(
      side.qp.modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = peer_qpn;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.grh.sgid_index = 1;
  std::memcpy(attr.ah_attr.grh.dgid.raw, peer.bytes.data(), peer.bytes.size());
  ASSERT_TRUE(side.qp.modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                                       IBV_QP_MIN_RNR_TIMER));
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 8;
  attr.retry_cnt = 3;
  ASSERT_TRUE(side.qp.modify(attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

}  // namespace roce::sim
