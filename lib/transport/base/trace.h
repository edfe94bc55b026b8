// Trace points of the protocol: places where bpftrace, perf or SystemTap can look in, one
// no-operation each while nobody does (docs/tracing.md has the table, a test compares it with the
// programs). They stand where something is rare or once a burst, never once a packet.
//
// Arguments are numbers: a tracer cannot read the text of a name from a page that nobody has
// touched.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef ROCE_USDT
// In registers or constants only: tracers do not understand every address.
#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>
#define ROCE_PROBE2(name, a, b) DTRACE_PROBE2(uroce, name, a, b)
#define ROCE_PROBE3(name, a, b, c) DTRACE_PROBE3(uroce, name, a, b, c)
#define ROCE_PROBE4(name, a, b, c, d) DTRACE_PROBE4(uroce, name, a, b, c, d)
#else
#define ROCE_PROBE2(name, a, b) (static_cast<void>(a), static_cast<void>(b))
#define ROCE_PROBE3(name, a, b, c) (ROCE_PROBE2(name, a, b), static_cast<void>(c))
#define ROCE_PROBE4(name, a, b, c, d) (ROCE_PROBE3(name, a, b, c), static_cast<void>(d))
#endif

namespace roce::trace {

/// Frames have come from the port; `most` is what one burst can hold.
inline void rx_burst(size_t frames, size_t most) {
  ROCE_PROBE2(rx_burst, frames, most);
}
/// Frames were offered to the port, and it took the first ones.
inline void tx_burst(size_t offered, size_t taken) {
  ROCE_PROBE2(tx_burst, offered, taken);
}
/// A packet was dropped; `reason` is enum DropReason, `qpn` is 0 when none was found, `bytes` is
/// the frame's length.
inline void drop(uint32_t reason, uint32_t qpn, uint32_t bytes) {
  ROCE_PROBE3(drop, reason, qpn, bytes);
}
/// A gap shows: `expected` has not come, `came` has.
inline void gap(uint32_t qpn, uint32_t expected, uint32_t came) {
  ROCE_PROBE3(gap, qpn, expected, came);
}
/// A NAK leaves; `code` is the AETH syndrome's (0: packets are missing).
inline void nak_sent(uint32_t qpn, uint32_t psn, uint32_t code) {
  ROCE_PROBE3(nak_sent, qpn, psn, code);
}
inline void nak_received(uint32_t qpn, uint32_t psn, uint32_t code) {
  ROCE_PROBE3(nak_received, qpn, psn, code);
}
/// An RNR NAK leaves: nothing is posted to receive into. `timer` is the code of the pause it asks
/// for.
inline void rnr_sent(uint32_t qpn, uint32_t psn, uint32_t timer) {
  ROCE_PROBE3(rnr_sent, qpn, psn, timer);
}
inline void rnr_received(uint32_t qpn, uint32_t psn, int64_t pause_ns) {
  ROCE_PROBE3(rnr_received, qpn, psn, pause_ns);
}
/// The ACK timeout has passed. `retries`: how many there were since the last progress.
inline void timeout(uint32_t qpn, uint32_t una, uint32_t retries) {
  ROCE_PROBE3(timeout, qpn, una, retries);
}
/// Silence, long before the ACK timeout: the packet at `una` is sent again to make the peer speak.
inline void probe(uint32_t qpn, uint32_t una, uint32_t probes) {
  ROCE_PROBE3(probe, qpn, una, probes);
}
/// Everything from `una` on is sent again.
inline void rewind(uint32_t qpn, uint32_t una, uint32_t packets) {
  ROCE_PROBE3(rewind, qpn, una, packets);
}
/// A packet of such a rewind leaves once more.
inline void retransmit(uint32_t qpn, uint32_t psn) {
  ROCE_PROBE2(retransmit, qpn, psn);
}
/// One packet alone leaves once more, in front of what is next.
inline void repair(uint32_t qpn, uint32_t psn, uint32_t tries) {
  ROCE_PROBE3(repair, qpn, psn, tries);
}
/// The peer has answered a repair, `took_ns` after it left for the first time.
inline void repaired(uint32_t qpn, uint32_t psn, int64_t took_ns) {
  ROCE_PROBE3(repaired, qpn, psn, took_ns);
}
/// A QP goes from one state to another; both are enum ibv_qp_state.
inline void qp_state(uint32_t qpn, uint32_t from, uint32_t to) {
  ROCE_PROBE3(qp_state, qpn, from, to);
}
/// A work request ends with an error; `status` is enum ibv_wc_status.
inline void completion_error(uint32_t qpn, uint64_t wr_id, uint32_t status, uint32_t vendor_error) {
  ROCE_PROBE4(completion_error, qpn, wr_id, status, vendor_error);
}
/// A completion is lost: its queue of `capacity` entries is full.
inline void cq_overrun(uint32_t qpn, uint64_t wr_id, uint32_t capacity) {
  ROCE_PROBE3(cq_overrun, qpn, wr_id, capacity);
}
/// A congestion notification leaves, or has come from the peer.
inline void cnp_sent(uint32_t qpn, uint32_t peer_qpn) {
  ROCE_PROBE2(cnp_sent, qpn, peer_qpn);
}
inline void cnp_received(uint32_t qpn, uint32_t peer_qpn) {
  ROCE_PROBE2(cnp_received, qpn, peer_qpn);
}

}  // namespace roce::trace
