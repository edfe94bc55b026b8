// The transition table, a row a legal move.
// SPDX-License-Identifier: BSD-3-Clause
#include "qp/state.h"

#include <array>
#include <span>
#include <string>

namespace roce {
namespace {

struct Masks {
  bool exists = false;
  uint32_t required = 0;
  uint32_t optional = 0;
};

struct Row {
  QpState from;
  QpState to;
  Masks rc;
  Masks uc;
  Masks ud;
};

constexpr uint32_t kInitConnected = kAttrPkeyIndex | kAttrPort | kAttrAccessFlags;
constexpr uint32_t kInitDatagram = kAttrPkeyIndex | kAttrPort | kAttrQkey;
constexpr uint32_t kRtrUc = kAttrAv | kAttrPathMtu | kAttrDestQpn | kAttrRqPsn;
constexpr uint32_t kRtrRc = kRtrUc | kAttrMaxDestRdAtomic | kAttrMinRnrTimer;
constexpr uint32_t kRtrOptional = kAttrAltPath | kAttrAccessFlags | kAttrPkeyIndex;
constexpr uint32_t kRtsRc =
    kAttrTimeout | kAttrRetryCnt | kAttrRnrRetry | kAttrSqPsn | kAttrMaxRdAtomic;
constexpr uint32_t kRunningUc = kAttrCurState | kAttrAltPath | kAttrAccessFlags | kAttrPathMigState;
constexpr uint32_t kRunningRc = kRunningUc | kAttrMinRnrTimer;
constexpr uint32_t kRunningUd = kAttrCurState | kAttrQkey;
constexpr uint32_t kDrainedUc =
    kAttrPort | kAttrAv | kAttrAltPath | kAttrAccessFlags | kAttrPkeyIndex | kAttrPathMigState;
constexpr uint32_t kDrainedRc = kDrainedUc | kAttrTimeout | kAttrRetryCnt | kAttrRnrRetry |
                                kAttrMaxRdAtomic | kAttrMaxDestRdAtomic | kAttrMinRnrTimer;
constexpr Masks kNone{};

using enum QpState;

constexpr auto kRows = std::to_array<Row>({
    {reset, init, {true, kInitConnected, 0}, {true, kInitConnected, 0}, {true, kInitDatagram, 0}},
    {init, init, {true, 0, kInitConnected}, {true, 0, kInitConnected}, {true, 0, kInitDatagram}},
    {init,
     rtr,
     {true, kRtrRc, kRtrOptional},
     {true, kRtrUc, kRtrOptional},
     {true, 0, kAttrPkeyIndex | kAttrQkey}},
    {rtr,
     rts,
     {true, kRtsRc, kRunningRc},
     {true, kAttrSqPsn, kRunningUc},
     {true, kAttrSqPsn, kRunningUd}},
    {rts, rts, {true, 0, kRunningRc}, {true, 0, kRunningUc}, {true, 0, kRunningUd}},
    {rts,
     sqd,
     {true, 0, kAttrSqdAsyncNotify},
     {true, 0, kAttrSqdAsyncNotify},
     {true, 0, kAttrSqdAsyncNotify}},
    {sqd, sqd, {true, 0, kDrainedRc}, {true, 0, kDrainedUc}, {true, 0, kAttrPkeyIndex | kAttrQkey}},
    {sqd, rts, {true, 0, kRunningRc}, {true, 0, kRunningUc}, {true, 0, kRunningUd}},
    {sqe, rts, kNone, {true, 0, kAttrCurState | kAttrAccessFlags}, {true, 0, kRunningUd}},
});

constexpr std::array<const char*, 26> kAttributeNames = {"STATE",
                                                         "CUR_STATE",
                                                         "EN_SQD_ASYNC_NOTIFY",
                                                         "ACCESS_FLAGS",
                                                         "PKEY_INDEX",
                                                         "PORT",
                                                         "QKEY",
                                                         "AV",
                                                         "PATH_MTU",
                                                         "TIMEOUT",
                                                         "RETRY_CNT",
                                                         "RNR_RETRY",
                                                         "RQ_PSN",
                                                         "MAX_QP_RD_ATOMIC",
                                                         "ALT_PATH",
                                                         "MIN_RNR_TIMER",
                                                         "SQ_PSN",
                                                         "MAX_DEST_RD_ATOMIC",
                                                         "PATH_MIG_STATE",
                                                         "CAP",
                                                         "DEST_QPN",
                                                         "bit 21",
                                                         "bit 22",
                                                         "bit 23",
                                                         "bit 24",
                                                         "RATE_LIMIT"};

std::string names_of(uint32_t mask) {
  std::string out;
  for (size_t bit = 0; bit < 32; ++bit) {
    if ((mask >> bit & 1) != 0) {
      out += out.empty() ? "" : ", ";
      out += bit < kAttributeNames.size() ? kAttributeNames[bit] : "bit " + std::to_string(bit);
    }
  }
  return out;
}

Masks masks_for(QpType type, QpState from, QpState to) {
  if (to == reset || (to == err && from != reset)) {
    return {true, 0, 0};  // from anywhere, with no attribute
  }
  for (const Row& row : kRows) {
    if (row.from == from && row.to == to) {
      return type == QpType::rc ? row.rc : type == QpType::uc ? row.uc : row.ud;
    }
  }
  return kNone;
}

}  // namespace

Status check_transition(QpType type, QpState from, QpState to, uint32_t mask) {
  const Masks masks = masks_for(type, from, to);
  const auto move = [&] {
    return std::string(name_of(type)) + " QP " + name_of(from) + " -> " + name_of(to);
  };
  if (!masks.exists) {
    return failure(EINVAL, move() + ": there is no such transition");
  }
  mask &= ~static_cast<uint32_t>(kAttrState);
  if (const uint32_t missing = masks.required & ~mask; missing != 0) {
    return failure(EINVAL, move() + ": missing " + names_of(missing));
  }
  if (const uint32_t extra = mask & ~(masks.required | masks.optional); extra != 0) {
    return failure(EINVAL, move() + ": not allowed here: " + names_of(extra));
  }
  return {};
}

}  // namespace roce
