// ibv_wr_*: work requests built call by call, posted together by wr_complete().
// SPDX-License-Identifier: BSD-3-Clause
#include "objects.h"

namespace roce::ibv {
namespace {

constexpr uint64_t kOperations =
    IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
    IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |
    IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_ATOMIC_WRITE;

/// Begins a request with the id and flags that the program has set in the queue pair.
ibv_send_wr& begin(ibv_qp_ex* qp, ibv_wr_opcode opcode) {
  Builder& b = from<Qp>(qp).builder;
  if (b.count == b.requests.size()) {
    b.requests.emplace_back();
    b.lists.emplace_back();
    b.inline_bytes.emplace_back();
  }
  b.lists[b.count].clear();
  b.inline_bytes[b.count].clear();
  ibv_send_wr& wr = b.requests[b.count++];
  wr = {};
  wr.wr_id = qp->wr_id;
  wr.send_flags = qp->wr_flags;
  wr.opcode = opcode;
  return wr;
}

void rdma(ibv_qp_ex* qp, ibv_wr_opcode opcode, uint32_t rkey, uint64_t remote_addr) {
  begin(qp, opcode).wr.rdma = {remote_addr, rkey};
}

/// The request under construction; nullptr (and an error at the end) when none was begun.
ibv_send_wr* last(Builder& b) {
  if (b.count == 0) {
    b.error = EINVAL;
    return nullptr;
  }
  return &b.requests[b.count - 1];
}

void set_sge_list(ibv_qp_ex* qp, size_t count, const ibv_sge* list) {
  Builder& b = from<Qp>(qp).builder;
  if (last(b) != nullptr) {
    b.lists[b.count - 1].assign(list, list + count);
  }
}

void set_sge(ibv_qp_ex* qp, uint32_t lkey, uint64_t addr, uint32_t length) {
  const ibv_sge sge{addr, length, lkey};
  set_sge_list(qp, 1, &sge);
}

void set_inline_data_list(ibv_qp_ex* qp, size_t count, const ibv_data_buf* buffers) {
  Builder& b = from<Qp>(qp).builder;
  ibv_send_wr* const wr = last(b);
  if (wr == nullptr) {
    return;
  }
  // Copied now: the program may use its buffers again before wr_complete().
  std::vector<uint8_t>& bytes = b.inline_bytes[b.count - 1];
  for (size_t i = 0; i < count; ++i) {
    const auto* const at = static_cast<const uint8_t*>(buffers[i].addr);
    bytes.insert(bytes.end(), at, at + buffers[i].length);
  }
  wr->send_flags |= IBV_SEND_INLINE;
  b.lists[b.count - 1] = {
      {reinterpret_cast<uint64_t>(bytes.data()), static_cast<uint32_t>(bytes.size()), 0}};
}

void set_inline_data(ibv_qp_ex* qp, void* addr, size_t length) {
  const ibv_data_buf buffer{addr, length};
  set_inline_data_list(qp, 1, &buffer);
}

void set_ud_addr(ibv_qp_ex* qp, ibv_ah* ah, uint32_t remote_qpn, uint32_t remote_qkey) {
  if (ibv_send_wr* const wr = last(from<Qp>(qp).builder)) {
    wr->wr.ud = {ah, remote_qpn, remote_qkey};
  }
}

void set_xrc_srqn(ibv_qp_ex* qp, uint32_t /*remote_srqn*/) {
  from<Qp>(qp).builder.error = EOPNOTSUPP;
}

void send_tso(ibv_qp_ex* qp, void* /*hdr*/, uint16_t /*hdr_sz*/, uint16_t /*mss*/) {
  from<Qp>(qp).builder.error = EOPNOTSUPP;
}

void atomic_write(ibv_qp_ex* qp, uint32_t rkey, uint64_t remote_addr, const void* value) {
  rdma(qp, IBV_WR_ATOMIC_WRITE, rkey, remote_addr);
  set_inline_data(qp, const_cast<void*>(value), sizeof(uint64_t));
}

void start(ibv_qp_ex* qp) {
  Qp& ours = from<Qp>(qp);
  ours.send_lock.lock();  // until complete or abort
  ours.builder.count = 0;
  ours.builder.error = 0;
}

int complete(ibv_qp_ex* qp) {
  Qp& ours = from<Qp>(qp);
  Builder& b = ours.builder;
  int rc = b.error;
  if (rc == 0 && b.count > 0) {
    for (size_t i = 0; i < b.count; ++i) {
      b.requests[i].sg_list = b.lists[i].data();
      b.requests[i].num_sge = static_cast<int>(b.lists[i].size());
      b.requests[i].next = i + 1 < b.count ? &b.requests[i + 1] : nullptr;
    }
    rc = ours.native->post_send_all(b.requests.data());
  }
  ours.send_lock.unlock();
  return rc;
}

void abort(ibv_qp_ex* qp) {
  from<Qp>(qp).send_lock.unlock();
}

}  // namespace

int fill_builder(Qp& qp, uint64_t send_ops) {
  if ((send_ops & ~kOperations) != 0) {
    return EOPNOTSUPP;
  }
  ibv_qp_ex& ex = qp.ibv;
  ex.wr_rdma_write = [](ibv_qp_ex* q, uint32_t rkey, uint64_t addr) {
    rdma(q, IBV_WR_RDMA_WRITE, rkey, addr);
  };
  ex.wr_rdma_write_imm = [](ibv_qp_ex* q, uint32_t rkey, uint64_t addr, __be32 imm) {
    ibv_send_wr& wr = begin(q, IBV_WR_RDMA_WRITE_WITH_IMM);
    wr.wr.rdma = {addr, rkey};
    wr.imm_data = imm;
  };
  ex.wr_rdma_read = [](ibv_qp_ex* q, uint32_t rkey, uint64_t addr) {
    rdma(q, IBV_WR_RDMA_READ, rkey, addr);
  };
  ex.wr_send = [](ibv_qp_ex* q) { begin(q, IBV_WR_SEND); };
  ex.wr_send_imm = [](ibv_qp_ex* q, __be32 imm) { begin(q, IBV_WR_SEND_WITH_IMM).imm_data = imm; };
  ex.wr_send_inv = [](ibv_qp_ex* q, uint32_t rkey) {
    begin(q, IBV_WR_SEND_WITH_INV).invalidate_rkey = rkey;
  };
  ex.wr_local_inv = [](ibv_qp_ex* q, uint32_t rkey) {
    begin(q, IBV_WR_LOCAL_INV).invalidate_rkey = rkey;
  };
  ex.wr_bind_mw = [](ibv_qp_ex* q, ibv_mw* mw, uint32_t rkey, const ibv_mw_bind_info* info) {
    begin(q, IBV_WR_BIND_MW).bind_mw = {mw, rkey, *info};
  };
  ex.wr_atomic_cmp_swp = [](ibv_qp_ex* q, uint32_t rkey, uint64_t addr, uint64_t compare,
                            uint64_t swap) {
    begin(q, IBV_WR_ATOMIC_CMP_AND_SWP).wr.atomic = {addr, compare, swap, rkey};
  };
  ex.wr_atomic_fetch_add = [](ibv_qp_ex* q, uint32_t rkey, uint64_t addr, uint64_t value) {
    begin(q, IBV_WR_ATOMIC_FETCH_AND_ADD).wr.atomic = {addr, value, 0, rkey};
  };
  ex.wr_atomic_write = atomic_write;
  ex.wr_send_tso = send_tso;
  ex.wr_set_ud_addr = set_ud_addr;
  ex.wr_set_xrc_srqn = set_xrc_srqn;
  ex.wr_set_inline_data = set_inline_data;
  ex.wr_set_inline_data_list = set_inline_data_list;
  ex.wr_set_sge = set_sge;
  ex.wr_set_sge_list = set_sge_list;
  ex.wr_start = start;
  ex.wr_complete = complete;
  ex.wr_abort = abort;
  return 0;
}

}  // namespace roce::ibv
