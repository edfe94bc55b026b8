// The course of a case: calls and packets, and after each what is expected of the device.
// SPDX-License-Identifier: BSD-3-Clause
#include "sim/swarm/script_writer.h"

#include <algorithm>
#include <cstring>

#include "script/words.h"
#include "sim/swarm/script_words.h"
#include "wire/icrc.h"
#include "wire/packet.h"

namespace roce::swarm {

void ScriptWriter::begin(const Connection& c, const Options& options, Instant now) {
  if (!lines_.empty()) {
    return;  // the first one it is
  }
  if (options.connections != 1 || c.a.type != IBV_QPT_RC || c.a.host == c.b.host ||
      c.a.shared != nullptr || c.b.shared != nullptr) {
    refuse("it is not one RC connection of two hosts without shared receive queues");
    return;
  }
  const bool first = c.a.host->index == host_;
  const End& end = first ? c.a : c.b;
  if (end.host->index != host_) {
    refuse("host " + std::to_string(host_) + " has no end of the connection");
    return;
  }
  end_ = &end;
  at_ = now;
  own_psn_ = next_psn_ = c.psn[first ? 0 : 1];
  peer_psn_ = c.psn[first ? 1 : 0];
  pmtu_ = size_t{128} << c.pmtu;
  window_va_ = end.window_va;
  window_begin_ = end.window.begin;
  rkeys_[0] = end.rkey;
  rkeys_[1] = end.host->words[end.pd].rkey();
  drops_ = end.host->device->counters().drops;
  lines_ = words_of_setup(options, end, c, own_psn_, peer_psn_);
  for (size_t i = 0; i < kWords && options.repertoire.atomics; ++i) {
    uint64_t word;
    std::memcpy(&word, end.host->memory->actual() + i * sizeof word, sizeof word);
    lines_.push_back("set_word(" + std::to_string(i * sizeof word) + ", " + script::hex(word) +
                     ");");
  }
}

void ScriptWriter::refuse(const std::string& why) {
  if (refusal_.empty()) {
    refusal_ = why;
  }
}

/// Time that has passed is said before anything else that has happened in it.
void ScriptWriter::touch(Instant now) {
  if (now != at_) {
    flush();
    lines_.push_back("advance(ns(" + std::to_string((now - at_).ns) + "));");
    at_ = now;
  }
}

void ScriptWriter::stimulus(Instant now, const std::string& line) {
  touch(now);
  flush();
  lines_.push_back(line);
}

void ScriptWriter::flush_list(const char* call, std::vector<std::string>& items) {
  if (items.empty()) {
    return;
  }
  std::string list;
  for (const std::string& item : items) {
    list += (list.empty() ? "" : ", ") + item;
  }
  const bool one_packet = items.size() == 1 && (&items == &in_ || &items == &out_);
  lines_.push_back(std::string(call) + (one_packet ? "(" + list + ");" : "({" + list + "});"));
  items.clear();
}

void ScriptWriter::flush() {
  flush_list("inject", in_);
  flush_list("expect", out_);
  flush_list("expect_sent", sent_done_);
  flush_list("expect_received", recv_done_);
  flush_list("expect_events", events_);
  if (dropped_.size() > 1) {
    refuse("packets were dropped for several reasons at one time");
  }
  lines_.insert(lines_.end(), dropped_.begin(), dropped_.end());
  dropped_.clear();
}

void ScriptWriter::on_frame(Instant now, std::span<const uint8_t> frame, bool sent) {
  if (end_ == nullptr) {
    return;
  }
  wire::Packet parsed;
  const wire::ParseResult result = wire::parse(frame, parsed);
  if (result.kind == wire::FrameKind::roce && wire::icrc_ok(parsed.l3, parsed.l3_len)) {
    touch(now);
    const bool reacted = !out_.empty() || !sent_done_.empty() || !recv_done_.empty();
    if (!sent && reacted) {
      flush();
    }
    (sent ? out_ : in_).push_back(packet(wire::decode(frame, parsed), sent));
  } else if (result.kind == wire::FrameKind::bad || result.kind == wire::FrameKind::roce) {
    refuse("a damaged frame came; run it with --fault corrupt=0 --fault truncate=0");
  }
}

void ScriptWriter::on_post(Instant now, const ibv_send_wr& first,
                           std::span<const SendRecord* const> records) {
  std::string list;
  const ibv_send_wr* wr = &first;
  for (const SendRecord* record : records) {
    const std::string request = words_of_request(*wr, *record);
    if (request.empty() || record->bad_local) {
      refuse(std::string("its user posts what a case cannot say: ") + name_of(record->op));
      return;
    }
    for (size_t i = 0; i < record->pieces.count; ++i) {
      offset(record->pieces.at[i].begin, record->pieces.at[i].size);
    }
    list += (list.empty() ? "" : ", ") + request;
    const size_t bytes = is_atomic(record->op) ? 0 : record->pieces.size();
    const auto packets = static_cast<uint32_t>(std::max<size_t>((bytes + pmtu_ - 1) / pmtu_, 1));
    posted_.push_back({next_psn_, packets, record->pieces});
    next_psn_ = (next_psn_ + packets) & kPsnMask;
    wr = wr->next;
  }
  stimulus(now, records.size() == 1 ? "post(" + list + ");" : "post({" + list + "});");
}

void ScriptWriter::on_receive(Instant now, const ReceiveRecord& record) {
  const size_t size = record.pieces.size();
  stimulus(now, "recv(" + std::to_string(record.id) + ", " + offset(record.slot.begin, size) +
                    ", " + std::to_string(size) + ");");
}

void ScriptWriter::on_move(Instant now, ibv_qp_state state) {
  stimulus(now, "move_to(" + words_of_state(state) + ");");
}

void ScriptWriter::on_completion(Instant now, const ibv_wc& wc, bool of_send_queue) {
  touch(now);
  (of_send_queue ? sent_done_ : recv_done_).push_back(words_of_completion(wc));
}

void ScriptWriter::on_event(Instant now, ibv_event_type type) {
  touch(now);
  events_.push_back("IBV_EVENT_" + script::event_name(type));
}

void ScriptWriter::on_drops(Instant now, const Drops& drops) {
  for (size_t i = 0; i < drops.size(); ++i) {
    if (drops[i] != drops_[i]) {
      touch(now);
      dropped_.push_back("expect_drop(DropReason::" + std::string(kDropReasonNames[i]) + ", " +
                         std::to_string(drops[i] - drops_[i]) + ");");
    }
  }
  drops_ = drops;
}

std::string ScriptWriter::text(const std::string& name, const std::string& rules,
                               const std::vector<std::string>& head) {
  flush();
  std::string out;
  for (const std::string& line : head) {
    out += "// " + line + "\n";
  }
  out += "// SPDX-License-Identifier: BSD-3-Clause\n#include \"script/registry.h\"\n\n";
  out += "namespace roce::script {\n\nRULE_CASE(\"" + rules + "\", " + name + ") {\n";
  for (const std::string& line : lines_) {
    out += "  " + line + "\n";
  }
  return out + "}\n\n}  // namespace roce::script\n";
}

}  // namespace roce::swarm
