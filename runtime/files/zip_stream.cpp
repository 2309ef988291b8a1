// Stored bytes are read straight into the caller's memory, deflated ones through a buffer.
#include "runtime/files/zip_stream.h"

#include "runtime/files/zip_format.h"
#include "runtime/files/zip_record.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <vector>

namespace kiln::runtime {

struct ZipStream::Inflater {
  Inflater() : buffer(kBuffer) {
    // A raw stream of the largest window.
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  static constexpr std::size_t kBuffer = std::size_t{64} << 10;
  std::vector<std::byte> buffer;
  z_stream stream = {};
};

ZipStream::ZipStream(const ZipFile& archive, const ZipMember& member)
    : archive_(archive), member_(member), stored_left_(member.stored_bytes) {
  constexpr std::size_t kMethod = 8, kName = 26, kExtra = 28;
  const InputFile& file = archive.file();
  const auto has_bytes = [&](std::uint64_t offset, std::uint64_t bytes) {
    return offset <= file.size() && bytes <= file.size() - offset;
  };
  const auto differs = [&] {
    archive.reject(member.name, "differs from its entry in the directory");
  };
  if (!has_bytes(member.header, zip::kLocalHeaderBytes)) differs();
  const ZipRecord header(file, member.header, zip::kLocalHeaderBytes);
  const std::uint64_t method = member.is_deflated ? zip::kDeflated : zip::kStored;
  if (header.u32(0) != zip::kLocalHeader || header.u16(kMethod) != method) differs();
  const std::uint64_t name = member.header + zip::kLocalHeaderBytes;
  at_ = name + header.u16(kName) + header.u16(kExtra);
  if (!has_bytes(at_, stored_left_) || header.u16(kName) != member.name.size()) differs();
  if (ZipRecord(file, name, member.name.size()).characters() != member.name) differs();
  if (member.is_deflated) inflater_ = std::make_unique<Inflater>();
}

ZipStream::~ZipStream() = default;

void ZipStream::read(std::span<std::byte> to) {
  if (member_.is_deflated) {
    read_deflated(to);
  } else {
    if (to.size() > stored_left_) archive_.reject(member_.name, "is truncated");
    archive_.file().read(at_, to);
    at_ += to.size();
    stored_left_ -= to.size();
  }
  checksum_ = static_cast<std::uint32_t>(
      crc32_z(checksum_, reinterpret_cast<const Bytef*>(to.data()), to.size()));
}

void ZipStream::read_deflated(std::span<std::byte> to) {
  z_stream& stream = inflater_->stream;
  while (!to.empty()) {
    if (stream.avail_in == 0 && stored_left_ > 0) {
      const std::size_t count = std::min<std::uint64_t>(Inflater::kBuffer, stored_left_);
      archive_.file().read(at_, std::span(inflater_->buffer).first(count));
      at_ += count;
      stored_left_ -= count;
      stream.next_in = reinterpret_cast<Bytef*>(inflater_->buffer.data());
      stream.avail_in = static_cast<uInt>(count);
    }
    const auto wanted =
        static_cast<uInt>(std::min<std::size_t>(to.size(), std::numeric_limits<uInt>::max()));
    stream.next_out = reinterpret_cast<Bytef*>(to.data());
    stream.avail_out = wanted;
    const int status = inflate(&stream, Z_NO_FLUSH);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    const bool is_short = status == Z_STREAM_END || status == Z_BUF_ERROR;
    if (status != Z_OK && !is_short) archive_.reject(member_.name, "cannot be decompressed");
    to = to.subspan(wanted - stream.avail_out);
    if (is_short && !to.empty()) archive_.reject(member_.name, "is truncated");
  }
}

void ZipStream::finish() const {
  if (checksum_ != member_.checksum) archive_.reject(member_.name, "has a wrong checksum");
}

}  // namespace kiln::runtime
