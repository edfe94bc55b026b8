// Datagrams to a multicast group: whoever joins it gets them; the sender need not know who that is.
//   example-multicast            joins and waits
//   example-multicast localhost  sends
// SPDX-License-Identifier: BSD-3-Clause
#include <vector>

#include "common.h"

namespace {

namespace verbs = roce::verbs;
using example::must;

constexpr uint32_t kMessages = 100;
constexpr uint32_t kSize = 256;
constexpr uint32_t kQkey = 0x11111111;
constexpr uint32_t kMulticastQpn = 0xffffff;
constexpr size_t kPlace = sizeof(ibv_grh) + kSize;  // in front of a datagram comes its header

/// ::ffff:239.1.2.3, an IPv4 group.
ibv_gid group() {
  ibv_gid gid{};
  const uint8_t end[] = {0xff, 0xff, 239, 1, 2, 3};
  std::memcpy(gid.raw + 10, end, sizeof end);
  return gid;
}

void ready(verbs::Qp& qp, uint32_t psn) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qkey = kQkey;
  must(qp.modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
  attr.qp_state = IBV_QPS_RTR;
  must(qp.modify(attr, IBV_QP_STATE));
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = psn;
  must(qp.modify(attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
}

void send(roce::Endpoint& endpoint, verbs::Cq& cq, verbs::Qp& qp, verbs::Pd& pd, ibv_sge sge) {
  ibv_ah_attr way{};
  way.is_global = 1;
  way.port_num = 1;
  way.grh.dgid = group();
  way.grh.sgid_index = static_cast<uint8_t>(endpoint.device().default_gid_index());
  way.grh.hop_limit = 1;  // stays in this network
  const verbs::Ah ah = must(endpoint.device().create_ah(pd, way));
  for (uint32_t i = 0; i < kMessages; ++i) {
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_SEND_WITH_IMM;
    wr.imm_data = htonl(i);
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.wr.ud = {ah.ibv(), kMulticastQpn, kQkey};
    ibv_send_wr* bad = nullptr;
    if (qp.post_send(&wr, &bad) != 0) {
      example::die(std::string(qp.post_error()));
    }
    example::wait_for(endpoint, cq);
  }
  std::printf("%u datagrams sent\n", kMessages);
}

void receive(roce::Endpoint& endpoint, verbs::Cq& cq) {
  uint32_t in_order = 0;
  for (uint32_t i = 0; i < kMessages; ++i) {
    in_order += ntohl(example::wait_for(endpoint, cq).imm_data) == i ? 1U : 0U;
  }
  std::printf("%u datagrams received, %u of them in order\n", kMessages, in_order);
}

}  // namespace

int main(int argc, char** argv) {
  const bool receiver = argc < 2;
  const auto endpoint = example::open_endpoint(receiver);
  verbs::Device& device = endpoint->device();
  example::Peer peer(*endpoint, receiver ? nullptr : argv[1]);
  std::vector<uint8_t> memory(kMessages * kPlace);
  verbs::Pd pd = must(device.alloc_pd());
  verbs::Mr mr = must(device.reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE));
  verbs::Cq cq = must(device.create_cq(2 * kMessages));
  ibv_qp_init_attr init{};
  init.qp_type = IBV_QPT_UD;
  init.cap = {kMessages, kMessages, 1, 1, 0};
  verbs::Qp qp = must(device.create_qp(pd, cq, cq, init));
  ready(qp, device.random_psn());

  for (uint32_t i = 0; receiver && i < kMessages; ++i) {
    ibv_sge sge{reinterpret_cast<uint64_t>(memory.data() + i * kPlace), kPlace, mr.lkey()};
    ibv_recv_wr wr{.wr_id = i, .next = nullptr, .sg_list = &sge, .num_sge = 1};
    ibv_recv_wr* bad = nullptr;
    if (qp.post_recv(&wr, &bad) != 0) {
      example::die(std::string(qp.post_error()));
    }
  }
  if (receiver) {
    must(qp.attach_mcast(group()));
  }
  while (!endpoint->link_up()) {
    endpoint->poll();
  }
  peer.meet();
  if (receiver) {
    receive(*endpoint, cq);
  } else {
    send(*endpoint, cq, qp, pd, {reinterpret_cast<uint64_t>(memory.data()), kSize, mr.lkey()});
  }
  peer.meet();
  return 0;
}
