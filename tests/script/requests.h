// Work requests and completions as scripts write them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <infiniband/verbs.h>

namespace roce::script {

/// A send work request; its pieces are offsets into the device's memory.
struct Wr {
  struct Piece {
    size_t offset;
    uint32_t length;
    uint32_t lkey_error = 0;  ///< flipped bits of the key
  };

  ibv_send_wr wr{};
  std::vector<Piece> pieces;

  Wr& from(size_t offset, uint32_t length) {
    pieces.push_back({offset, length});
    return *this;
  }
  Wr& from_bad_key(size_t offset, uint32_t length) {
    pieces.push_back({offset, length, 1});
    return *this;
  }
  Wr& remote(uint64_t va, uint32_t rkey) {
    wr.wr.rdma = {va, rkey};
    return *this;
  }
  Wr& atomic(uint64_t va, uint32_t rkey, uint64_t compare_add, uint64_t swap = 0) {
    wr.wr.atomic = {va, compare_add, swap, rkey};
    return *this;
  }
  /// UD: the addressee; else it is the peer, with its right key.
  Wr& to(uint32_t qpn, uint32_t qkey) {
    wr.wr.ud.remote_qpn = qpn;
    wr.wr.ud.remote_qkey = qkey;
    return *this;
  }
  /// `value`: as a number; on the wire in network order.
  Wr& imm(uint32_t value) {
    wr.imm_data = __builtin_bswap32(value);
    return *this;
  }
  Wr& invalidate(uint32_t rkey) {
    wr.invalidate_rkey = rkey;
    return *this;
  }
  Wr& flag(unsigned flags) {
    wr.send_flags |= flags;
    return *this;
  }
  Wr& fence() { return flag(IBV_SEND_FENCE); }
  Wr& signaled() { return flag(IBV_SEND_SIGNALED); }
  Wr& solicited() { return flag(IBV_SEND_SOLICITED); }
  Wr& inlined() { return flag(IBV_SEND_INLINE); }
};

inline Wr request(uint64_t id, ibv_wr_opcode opcode) {
  Wr w;
  w.wr.wr_id = id;
  w.wr.opcode = opcode;
  return w;
}
inline Wr wr_send(uint64_t id) {
  return request(id, IBV_WR_SEND);
}
inline Wr wr_send_imm(uint64_t id) {
  return request(id, IBV_WR_SEND_WITH_IMM);
}
inline Wr wr_write(uint64_t id) {
  return request(id, IBV_WR_RDMA_WRITE);
}
inline Wr wr_write_imm(uint64_t id) {
  return request(id, IBV_WR_RDMA_WRITE_WITH_IMM);
}
inline Wr wr_read(uint64_t id) {
  return request(id, IBV_WR_RDMA_READ);
}
inline Wr wr_fetch_add(uint64_t id) {
  return request(id, IBV_WR_ATOMIC_FETCH_AND_ADD);
}
inline Wr wr_send_inv(uint64_t id) {
  return request(id, IBV_WR_SEND_WITH_INV);
}
inline Wr wr_local_inv(uint64_t id) {
  return request(id, IBV_WR_LOCAL_INV);
}
inline Wr wr_cmp_swap(uint64_t id) {
  return request(id, IBV_WR_ATOMIC_CMP_AND_SWP);
}

/// An expected completion: what is set is compared; the queue pair's number always is.
struct Done {
  uint64_t wr_id = 0;
  ibv_wc_status status = IBV_WC_SUCCESS;
  std::optional<ibv_wc_opcode> opcode;
  std::optional<uint32_t> byte_len;
  std::optional<uint32_t> imm_value;  ///< as a number; also: is there any?
  std::optional<uint32_t> invalidated;
  std::optional<uint32_t> vendor_err;
  std::optional<uint32_t> src_qp;
  std::optional<uint32_t> qpn;  ///< else the Script's own queue pair

  Done& len(uint32_t n) {
    byte_len = n;
    return *this;
  }
  Done& imm(uint32_t value) {
    imm_value = value;
    return *this;
  }
  Done& invalidates(uint32_t rkey) {
    invalidated = rkey;
    return *this;
  }
  Done& vendor(uint32_t syndrome) {
    vendor_err = syndrome;
    return *this;
  }
  Done& from(uint32_t peer) {
    src_qp = peer;
    return *this;
  }
  Done& of(uint32_t own) {
    qpn = own;
    return *this;
  }
};

inline Done done(uint64_t id, ibv_wc_opcode opcode) {
  Done d;
  d.wr_id = id;
  d.opcode = opcode;
  return d;
}
inline Done received(uint64_t id, uint32_t length) {
  return done(id, IBV_WC_RECV).len(length);
}
inline Done failed(uint64_t id, ibv_wc_status status) {
  Done d;
  d.wr_id = id;
  d.status = status;
  return d;
}
inline Done flushed(uint64_t id) {
  return failed(id, IBV_WC_WR_FLUSH_ERR);
}

}  // namespace roce::script
