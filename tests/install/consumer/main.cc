// A program outside of the tree: two queue pairs of one device, over a wire that leads back to it.
// One WRITEs a sentence into the other's memory. SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdio>
#include <cstring>

#include <roce/counters.h>
#include <roce/endpoint.h>

namespace verbs = roce::verbs;

namespace {

constexpr char kSentence[] = "written by RDMA";

verbs::Qp connected(verbs::Device& device, const verbs::Pd& pd, const verbs::Cq& cq) {
  ibv_qp_init_attr init{};
  init.qp_type = IBV_QPT_RC;
  init.cap = {4, 4, 1, 1, 0};
  return std::move(*device.create_qp(pd, cq, cq, init));
}

bool connect(verbs::Device& device, verbs::Qp& qp, uint32_t to) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  bool fine =
      bool(qp.modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = to;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(device.default_gid_index());
  attr.ah_attr.grh.dgid = *device.query_gid(1, device.default_gid_index());
  fine =
      fine && qp.modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 14;
  return fine && qp.modify(attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

int fail(const char* what) {
  std::fprintf(stderr, "consumer: %s\n", what);
  return 1;
}

}  // namespace

int main() {
  roce::ConfigSources sources;
  sources.flags = {{"port.kind", "ring", "here"}, {"eal.memory_mb", "128", "here"}};
  const auto config = roce::load_config(sources);
  if (!config) {
    return fail(config.error().reason.c_str());
  }
  const auto endpoint = roce::Endpoint::open(*config);
  if (!endpoint) {
    return fail(endpoint.error().reason.c_str());
  }
  verbs::Device& device = (*endpoint)->device();
  std::array<char, sizeof kSentence> target{};
  std::array<char, sizeof kSentence> source{};
  std::memcpy(source.data(), kSentence, sizeof kSentence);
  const verbs::Pd pd = *device.alloc_pd();
  const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  const verbs::Mr from = std::move(*device.reg_mr(pd, source.data(), source.size(), access));
  const verbs::Mr to = std::move(*device.reg_mr(pd, target.data(), target.size(), access));
  verbs::Cq cq = *device.create_cq(16);
  verbs::Qp a = connected(device, pd, cq);
  verbs::Qp b = connected(device, pd, cq);
  if (!connect(device, a, b.qpn()) || !connect(device, b, a.qpn())) {
    return fail("the queue pairs do not connect");
  }
  ibv_sge sge{reinterpret_cast<uint64_t>(source.data()), sizeof kSentence, from.lkey()};
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.wr.rdma = {reinterpret_cast<uint64_t>(target.data()), to.rkey()};
  ibv_send_wr* bad = nullptr;
  if (a.post_send(&wr, &bad) != 0) {
    return fail(a.post_error().data());
  }
  ibv_wc wc{};
  while (cq.poll({&wc, 1}) == 0) {
    (*endpoint)->poll();
  }
  std::printf("%s, %s\n", target.data(), device.counters().dropped == 0 ? "nothing dropped" : "?");
  return wc.status == IBV_WC_SUCCESS ? 0 : fail(verbs::wc_status_name(wc.status).data());
}
