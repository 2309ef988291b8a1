// Numbers that do not fit in 32 bits are in the fields of ZIP64, where the usual field is all ones.
#include "runtime/files/zip_writer.h"

#include "runtime/files/zip_format.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

namespace kiln::runtime {
namespace {

using namespace zip;

constexpr std::uint16_t kVersion = 45;  // that has ZIP64
constexpr std::uint16_t kUnix = 3 << 8;
constexpr std::uint16_t kDate = 0x21;  // 1 January 1980, the first of the format
constexpr std::uint32_t kMode = 0100644u << 16;

/// Little-endian numbers.
class Record {
 public:
  Record& u16(std::uint64_t value) { return add(value, 2); }
  Record& u32(std::uint64_t value) { return add(value, 4); }
  Record& u64(std::uint64_t value) { return add(value, 8); }
  Record& text(const std::string& value) {
    bytes_ += value;
    return *this;
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(bytes_)); }
  std::size_t size() const { return bytes_.size(); }
  const std::string& contents() const { return bytes_; }

 private:
  Record& add(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> (8 * i));
    return *this;
  }

  std::string bytes_;
};

std::uint64_t capped32(std::uint64_t value) { return std::min(value, kMax32); }

/// The extra field of ZIP64 with those numbers; empty for none.
Record extra64(std::span<const std::uint64_t> values) {
  Record extra;
  if (values.empty()) return extra;
  extra.u16(kExtra64).u16(values.size() * sizeof(std::uint64_t));
  for (const std::uint64_t value : values) extra.u64(value);
  return extra;
}

/// The fields that both headers of a member have.
void add_fields(Record& record, std::uint32_t checksum, std::uint64_t bytes,
                const std::string& name, const Record& extra) {
  constexpr std::uint16_t kTime = 0;
  record.u16(kVersion).u16(kUtf8).u16(kStored).u16(kTime).u16(kDate).u32(checksum);
  record.u32(capped32(bytes)).u32(capped32(bytes)).u16(name.size()).u16(extra.size());
}

}  // namespace

void ZipWriter::write(std::span<const std::byte> bytes) {
  file_.write(bytes);
  written_ += bytes.size();
}

void ZipWriter::add(const std::string& name, std::span<const std::span<const std::byte>> parts) {
  Entry entry{.name = name, .offset = written_};
  uLong checksum = crc32_z(0, nullptr, 0);
  for (const std::span<const std::byte> part : parts) {
    checksum = crc32_z(checksum, reinterpret_cast<const Bytef*>(part.data()), part.size());
    entry.bytes += part.size();
  }
  entry.checksum = static_cast<std::uint32_t>(checksum);
  const std::uint64_t sizes[] = {entry.bytes, entry.bytes};
  const Record extra = extra64(std::span(sizes).first(entry.bytes >= kMax32 ? 2 : 0));
  Record header;
  header.u32(kLocalHeader);
  add_fields(header, entry.checksum, entry.bytes, name, extra);
  write(header.text(name).text(extra.contents()).bytes());
  for (const std::span<const std::byte> part : parts) write(part);
  entries_.push_back(std::move(entry));
}

void ZipWriter::finish() {
  const std::uint64_t begin = written_;
  for (const Entry& entry : entries_) {
    std::vector<std::uint64_t> large;
    if (entry.bytes >= kMax32) large = {entry.bytes, entry.bytes};
    if (entry.offset >= kMax32) large.push_back(entry.offset);
    const Record extra = extra64(large);
    Record record;
    record.u32(kDirectoryEntry).u16(kUnix | kVersion);
    add_fields(record, entry.checksum, entry.bytes, entry.name, extra);
    record.u16(0).u16(0).u16(0).u32(kMode).u32(capped32(entry.offset));
    write(record.text(entry.name).text(extra.contents()).bytes());
  }
  const std::uint64_t count = entries_.size(), size = written_ - begin, end64 = written_;
  Record end;
  if (count >= kMax16 || begin >= kMax32 || size >= kMax32) {
    constexpr std::uint64_t kBytesThatFollow = 44;
    end.u32(kEnd64).u64(kBytesThatFollow).u16(kUnix | kVersion).u16(kVersion).u32(0).u32(0);
    end.u64(count).u64(count).u64(size).u64(begin);
    end.u32(kEnd64Locator).u32(0).u64(end64).u32(1);
  }
  const std::uint64_t shown = std::min(count, kMax16);
  end.u32(kEnd).u16(0).u16(0).u16(shown).u16(shown).u32(capped32(size)).u32(capped32(begin)).u16(0);
  write(end.bytes());
}

}  // namespace kiln::runtime
