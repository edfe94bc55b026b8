// What is written when, and the ring of the flight recorder.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/recorder_port.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace roce {
namespace {

constexpr size_t kFlushBytes = size_t{1} << 18U;

/// A plain file; never waits for the reader of a pipe. -1 and errno.
int create(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK,
                        S_IRUSR | S_IWUSR);
  struct stat status {};
  if (fd >= 0 && (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
    ::close(fd);
    errno = EINVAL;
    return -1;
  }
  return fd;
}

bool write_all(int fd, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) {
      return false;
    }
    bytes = bytes.subspan(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  }
  return true;
}

std::string comment_of(DropReason reason) {
  return reason == DropReason::none ? std::string()
                                    : "uroce dropped it: " + std::string(name_of(reason));
}

}  // namespace

Result<std::unique_ptr<RecorderPort>> RecorderPort::open(std::unique_ptr<Port> below,
                                                         const std::string& path, Mode mode,
                                                         uint64_t wall_ns_at_zero) {
  int fd = create(path);
  if (fd < 0) {
    const int code = errno;
    return failure(code, "the capture file '" + path + "' cannot be created: " +
                             std::generic_category().message(code) + "; name another file");
  }
  if (mode == Mode::flight) {
    ::close(fd);
    ::unlink(path.c_str());
    fd = -1;
  }
  return std::unique_ptr<RecorderPort>(
      new RecorderPort(std::move(below), path, mode, wall_ns_at_zero, fd));
}

RecorderPort::RecorderPort(std::unique_ptr<Port> below, std::string path, Mode mode, uint64_t wall,
                           int fd)
    : WrappingPort(std::move(below)),
      path_(std::move(path)),
      mode_(mode),
      wall_ns_at_zero_(wall),
      fd_(fd),
      ring_(mode == Mode::flight ? kFlightPackets : 0) {
  writer_.begin(info().name);
}

RecorderPort::~RecorderPort() {
  if (fd_ >= 0) {
    flush();
  }
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

size_t RecorderPort::rx_burst(Instant now, std::span<Frame> frames) {
  const size_t n = below().rx_burst(now, frames);
  for (const Frame& frame : frames.first(n)) {
    lent_.push_back({wall_ns_at_zero_ + now.ns, frame.data, frame.len, DropReason::none});
  }
  return n;
}

void RecorderPort::release(std::span<Frame> frames) {
  for (const Frame& frame : frames) {
    const auto at = std::find_if(lent_.begin(), lent_.end(),
                                 [&frame](const Lent& lent) { return lent.data == frame.data; });
    if (at != lent_.end()) {  // else a blank one
      record(at->unix_ns, PcapngWriter::Direction::in, {at->data, at->len}, at->reason);
      lent_.erase(at);
    }
  }
  below().release(frames);
}

void RecorderPort::note_drop(const Frame& frame, DropReason reason) {
  for (Lent& lent : lent_) {
    if (lent.data == frame.data) {
      lent.reason = reason;
    }
  }
  below().note_drop(frame, reason);
}

/// A sent frame's bytes are out of reach once it has been accepted, so each is copied before.
size_t RecorderPort::tx_burst(Instant now, std::span<Frame> frames) {
  size_t sent = 0;
  for (; sent < frames.size(); ++sent) {
    whole_.clear();
    const Frame& frame = frames[sent];
    whole_.insert(whole_.end(), frame.data, frame.data + frame.len);
    for (const Segment& s : std::span(frame.segments, frame.segment_count)) {
      whole_.insert(whole_.end(), s.data, s.data + s.len);
    }
    if (below().tx_burst(now, frames.subspan(sent, 1)) == 0) {
      break;
    }
    record(wall_ns_at_zero_ + now.ns, PcapngWriter::Direction::out, whole_, DropReason::none);
  }
  return sent;
}

void RecorderPort::record(uint64_t unix_ns, PcapngWriter::Direction direction,
                          std::span<const uint8_t> bytes, DropReason reason) {
  if (mode_ == Mode::flight) {
    keep(unix_ns, direction, bytes, reason);
    return;
  }
  if (fd_ >= 0) {
    writer_.packet(unix_ns, direction, bytes, static_cast<uint32_t>(bytes.size()),
                   comment_of(reason));
    if (writer_.bytes().size() >= kFlushBytes) {
      flush();
    }
  }
}

void RecorderPort::keep(uint64_t unix_ns, PcapngWriter::Direction direction,
                        std::span<const uint8_t> bytes, DropReason reason) {
  Kept& kept = ring_[kept_++ % kFlightPackets];
  kept.unix_ns = unix_ns;
  kept.len = static_cast<uint32_t>(bytes.size());
  kept.captured = static_cast<uint32_t>(std::min(bytes.size(), kFlightBytes));
  kept.direction = direction;
  kept.reason = reason;
  std::memcpy(kept.bytes.data(), bytes.data(), kept.captured);
}

void RecorderPort::note_failure(uint32_t qpn) {
  below().note_failure(qpn);
  if (mode_ != Mode::flight || flights_ == kMostFlights) {
    return;
  }
  ++flights_;
  fd_ = create(flights_ == 1 ? path_ : path_ + "." + std::to_string(flights_));
  if (fd_ < 0) {
    return;
  }
  for (size_t i = kept_ - std::min(kept_, kFlightPackets); i < kept_; ++i) {
    const Kept& kept = ring_[i % kFlightPackets];
    writer_.packet(kept.unix_ns, kept.direction, {kept.bytes.data(), kept.captured}, kept.len,
                   comment_of(kept.reason));
  }
  // What is in use above came last, and its fate is not known yet.
  for (const Lent& lent : lent_) {
    writer_.packet(lent.unix_ns, PcapngWriter::Direction::in, {lent.data, lent.len}, lent.len,
                   comment_of(lent.reason));
  }
  flush();
  if (fd_ >= 0) {
    ::close(fd_);
  }
  fd_ = -1;
  writer_.begin(info().name);
}

void RecorderPort::flush() {
  if (!write_all(fd_, writer_.bytes())) {
    ::close(fd_);
    fd_ = -1;
  }
  writer_.clear();
}

}  // namespace roce
