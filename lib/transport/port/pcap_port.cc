// Records are put together in one large buffer and written to the file in one piece. A sent frame
// is copied before the port below sees it, since its bytes are out of reach afterwards, and the
// copy is dropped again when the port refuses it.
// SPDX-License-Identifier: BSD-3-Clause
#include "port/pcap_port.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace roce {
namespace {

constexpr uint32_t kMagicNanoseconds = 0xa1b23c4d;
constexpr uint32_t kSnapLen = 65535;
constexpr uint32_t kLinkTypeEthernet = 1;

// The file formats, in the byte order of the host: readers tell it by the magic number.
struct FileHeader {
  uint32_t magic = kMagicNanoseconds;
  uint16_t version_major = 2;
  uint16_t version_minor = 4;
  uint32_t zone = 0;
  uint32_t accuracy = 0;
  uint32_t snap_len = kSnapLen;
  uint32_t link_type = kLinkTypeEthernet;
};
static_assert(sizeof(FileHeader) == 24);

struct RecordHeader {
  uint32_t seconds = 0;
  uint32_t nanoseconds = 0;
  uint32_t captured_len = 0;
  uint32_t len = 0;
};
static_assert(sizeof(RecordHeader) == 16);

/// Frames that are copied before they are known to be accepted.
constexpr size_t kPiece = 32;
constexpr size_t kPieceBytes = kPiece * (sizeof(RecordHeader) + kSnapLen);
constexpr size_t kBufferBytes = 2 * kPieceBytes;

/// Writes all of `bytes`; 0 or an errno.
int write_all(int fd, const uint8_t* data, size_t len) {
  while (len > 0) {
    const ssize_t n = ::write(fd, data, len);
    if (n < 0 && errno != EINTR) {
      return errno;
    }
    if (n > 0) {
      data += n;
      len -= static_cast<size_t>(n);
    }
  }
  return 0;
}

tl::unexpected<Error> file_failure(int code, const std::string& path, const char* what) {
  return failure(code, "the capture file '" + path + "' cannot be " + what + ": " +
                           std::generic_category().message(code) + "; name another file");
}

}  // namespace

Result<PcapPort::Capture> PcapPort::create(const std::string& path, uint64_t wall_ns_at_zero) {
  // Never waits for the reader of a pipe; only plain files are taken.
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK;
  const int fd = ::open(path.c_str(), flags, S_IRUSR | S_IWUSR);
  if (fd < 0) {
    return file_failure(errno, path, "created");
  }
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd);
    return failure(EINVAL, "the capture file '" + path + "' is not a plain file; name another one");
  }
  const FileHeader header;
  const int error = write_all(fd, reinterpret_cast<const uint8_t*>(&header), sizeof header);
  if (error != 0) {
    ::close(fd);
    return file_failure(error, path, "written");
  }
  return Capture{fd, wall_ns_at_zero};
}

Result<std::unique_ptr<PcapPort>> PcapPort::open(std::unique_ptr<Port> below,
                                                 const std::string& path,
                                                 uint64_t wall_ns_at_zero) {
  const Result<Capture> capture = create(path, wall_ns_at_zero);
  if (!capture) {
    return tl::make_unexpected(capture.error());
  }
  return std::unique_ptr<PcapPort>(new PcapPort(std::move(below), *capture));
}

Result<std::unique_ptr<PcapPort>> PcapPort::open(Port& below, const std::string& path,
                                                 uint64_t wall_ns_at_zero) {
  const Result<Capture> capture = create(path, wall_ns_at_zero);
  if (!capture) {
    return tl::make_unexpected(capture.error());
  }
  return std::unique_ptr<PcapPort>(new PcapPort(below, *capture));
}

PcapPort::PcapPort(Port& below, const Capture& capture)
    : WrappingPort(below),
      capture_(capture),
      buffer_(std::make_unique_for_overwrite<uint8_t[]>(kBufferBytes)),
      file_size_(sizeof(FileHeader)) {}

PcapPort::PcapPort(std::unique_ptr<Port> below, const Capture& capture)
    : WrappingPort(std::move(below)),
      capture_(capture),
      buffer_(std::make_unique_for_overwrite<uint8_t[]>(kBufferBytes)),
      file_size_(sizeof(FileHeader)) {}

PcapPort::~PcapPort() {
  flush();
  ::close(capture_.fd);
}

size_t PcapPort::rx_burst(Instant now, std::span<Frame> frames) {
  const size_t n = below().rx_burst(now, frames);
  for (const Frame& f : frames.first(n)) {
    if (stopped_) {
      not_captured_++;
    } else {
      append(now, f);
      buffered_++;
      flush_when_due();
    }
  }
  return n;
}

size_t PcapPort::tx_burst(Instant now, std::span<Frame> frames) {
  size_t sent = 0;
  size_t piece = 0;
  size_t accepted = 0;
  do {
    piece = std::min(kPiece, frames.size() - sent);
    accepted = send_piece(now, frames.subspan(sent, piece));
    sent += accepted;
  } while (accepted == piece && sent < frames.size());
  // The port below has counted what it refused of the last piece.
  not_offered_ += frames.size() - sent - (piece - accepted);
  return sent;
}

PortStats PcapPort::stats() const {
  PortStats s = below().stats();
  s.tx_refused += not_offered_;
  return s;
}

size_t PcapPort::send_piece(Instant now, std::span<Frame> frames) {
  if (stopped_) {
    const size_t n = below().tx_burst(now, frames);
    not_captured_ += n;
    return n;
  }
  std::array<size_t, kPiece + 1> ends{used_};
  for (size_t i = 0; i < frames.size(); i++) {
    append(now, frames[i]);
    ends[i + 1] = used_;
  }
  const size_t n = below().tx_burst(now, frames);
  used_ = ends[n];
  buffered_ += n;
  flush_when_due();
  return n;
}

/// Adds one record. Requires room for it, which flush_when_due() has made.
void PcapPort::append(Instant now, const Frame& frame) {
  constexpr uint64_t kSecond = 1'000'000'000;
  const uint64_t wall_ns = capture_.wall_ns_at_zero + now.ns;
  uint8_t* const record = &buffer_[used_];
  uint8_t* const bytes = record + sizeof(RecordHeader);
  RecordHeader header;
  header.seconds = static_cast<uint32_t>(wall_ns / kSecond);
  header.nanoseconds = static_cast<uint32_t>(wall_ns % kSecond);

  const auto add = [&header, bytes](const uint8_t* data, uint32_t len) {
    const uint32_t n = std::min(len, kSnapLen - header.captured_len);
    if (n != 0) {
      std::memcpy(bytes + header.captured_len, data, n);
    }
    header.captured_len += n;
    header.len += len;
  };
  add(frame.data, frame.len);
  for (const Segment& s : std::span(frame.segments, frame.segment_count)) {
    add(s.data, s.len);
  }
  std::memcpy(record, &header, sizeof header);
  used_ += sizeof header + header.captured_len;
}

void PcapPort::flush_when_due() {
  if (buffered_ >= kFlushFrames || kBufferBytes - used_ < kPieceBytes) {
    flush();
  }
}

void PcapPort::flush() {
  if (stopped_ || used_ == 0) {
    return;
  }
  if (write_all(capture_.fd, buffer_.get(), used_) != 0) {
    stop();
    return;
  }
  file_size_ += used_;
  written_ += buffered_;
  used_ = 0;
  buffered_ = 0;
}

void PcapPort::stop() {
  stopped_ = true;
  not_captured_ += buffered_;
  used_ = 0;
  buffered_ = 0;
  // Cuts off what was written in part. If that fails, readers report a file that was cut short.
  static_cast<void>(::ftruncate(capture_.fd, static_cast<off_t>(file_size_)) == 0);
}

}  // namespace roce
