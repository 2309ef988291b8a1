// Searches the directory from the end of the file, whose last record a comment may follow.
#include "runtime/files/zip_file.h"

#include "core/types/escaped_text.h"
#include "core/types/text.h"
#include "runtime/files/quoted_name.h"
#include "runtime/files/zip_format.h"
#include "runtime/files/zip_record.h"

#include <algorithm>

namespace kiln::runtime {
namespace {

using zip::kDirectoryEntryBytes;
using zip::kEnd64Bytes;
using zip::kEnd64LocatorBytes;
using zip::kEndBytes;

/// The most bytes that deflate expands one byte to: 2 bits stand for 258 bytes at best.
constexpr std::uint64_t kMaxRatio = 1032;

/// Replaces the sizes and the offset that are all ones by the numbers of the extra field of ZIP64,
/// which has numbers for these fields alone.
void read_extra64(const ZipRecord& extra, ZipMember& member) {
  constexpr std::size_t kTag = 4, kNumber = 8;
  for (std::size_t at = 0; at + kTag <= extra.size();) {
    const std::size_t begin = at + kTag, end = begin + extra.u16(at + 2);
    if (end > extra.size()) return;
    if (extra.u16(at) == zip::kExtra64) {
      at = begin;
      for (std::uint64_t* field : {&member.bytes, &member.stored_bytes, &member.header}) {
        if (*field != zip::kMax32 || at + kNumber > end) continue;
        *field = extra.u64(at);
        at += kNumber;
      }
      return;
    }
    at = end;
  }
}

}  // namespace

ZipFile::ZipFile(const InputFile& file) : file_(file) {
  const Directory directory = find_directory();
  std::uint64_t unclaimed_bytes = file.size();  // that no member has so far
  for (std::uint64_t at = directory.begin; at < directory.end;) {
    members_.push_back(read_entry(at, directory));
    const ZipMember& member = members_.back();
    if (member.stored_bytes > unclaimed_bytes) {
      reject(member.name, "and those before it have more bytes than the file");
    }
    unclaimed_bytes -= member.stored_bytes;
  }
  if (members_.size() != directory.count) {
    file_.reject(text("is damaged: its directory has ", members_.size(), " members but declares ",
                      directory.count));
  }
  require_distinct_names();
}

ZipFile::Directory ZipFile::find_directory() const {
  constexpr std::string_view kSignature = "PK\x05\x06";
  std::string tail(std::min<std::uint64_t>(file_.size(), kEndBytes + zip::kMax16), '\0');
  const std::uint64_t begin = file_.size() - tail.size();
  file_.read(begin, std::as_writable_bytes(std::span(tail)));
  Directory directory;
  // A comment may contain the signature: the record is one whose numbers fit the file.
  for (std::size_t at = tail.rfind(kSignature); at != tail.npos;
       at = at == 0 ? tail.npos : tail.rfind(kSignature, at - 1)) {
    if (read_end(begin + at, directory)) return directory;
  }
  file_.reject("is truncated or damaged: it does not end as a ZIP archive does");
}

bool ZipFile::read_end(std::uint64_t at, Directory& directory) const {
  constexpr std::size_t kCount = 10, kSize = 12, kBegin = 16, kComment = 20;
  if (at + kEndBytes > file_.size()) return false;
  const ZipRecord record(file_, at, kEndBytes);
  if (at + kEndBytes + record.u16(kComment) != file_.size()) return false;
  directory = {record.u32(kBegin), record.u32(kBegin) + record.u32(kSize), record.u16(kCount)};
  if (directory.end == at) return true;
  return at >= kEnd64LocatorBytes && read_end64(at - kEnd64LocatorBytes, directory);
}

bool ZipFile::read_end64(std::uint64_t locator, Directory& directory) const {
  constexpr std::size_t kRecord = 8, kCount = 32, kSize = 40, kBegin = 48;
  const ZipRecord end64_locator(file_, locator, kEnd64LocatorBytes);
  if (end64_locator.u32(0) != zip::kEnd64Locator) return false;
  const std::uint64_t at = end64_locator.u64(kRecord);
  if (at > locator || locator - at < kEnd64Bytes) return false;
  const ZipRecord record(file_, at, kEnd64Bytes);
  directory = {record.u64(kBegin), at, record.u64(kCount)};
  return record.u32(0) == zip::kEnd64 && directory.begin <= at &&
         at - directory.begin == record.u64(kSize);
}

ZipMember ZipFile::read_entry(std::uint64_t& at, const Directory& directory) const {
  constexpr std::size_t kFlags = 8, kMethod = 10, kChecksum = 16, kStoredBytes = 20, kBytes = 24;
  constexpr std::size_t kName = 28, kExtra = 30, kComment = 32, kHeader = 42;
  const auto reject_entry = [&] {
    file_.reject(text("is damaged: entry ", members_.size(), " of its directory is invalid"));
  };
  if (directory.end - at < kDirectoryEntryBytes) reject_entry();
  const ZipRecord entry(file_, at, kDirectoryEntryBytes);
  at += kDirectoryEntryBytes;
  const std::uint64_t rest = entry.u16(kName) + entry.u16(kExtra) + entry.u16(kComment);
  if (entry.u32(0) != zip::kDirectoryEntry || directory.end - at < rest) reject_entry();
  const ZipRecord name(file_, at, entry.u16(kName));
  ZipMember member{.name = std::string(name.characters()),
                   .bytes = entry.u32(kBytes),
                   .stored_bytes = entry.u32(kStoredBytes),
                   .header = entry.u32(kHeader),
                   .checksum = static_cast<std::uint32_t>(entry.u32(kChecksum)),
                   .is_deflated = entry.u16(kMethod) == zip::kDeflated};
  read_extra64(ZipRecord(file_, at + name.size(), entry.u16(kExtra)), member);
  at += rest;
  require_supported(member, entry.u16(kFlags), entry.u16(kMethod));
  return member;
}

void ZipFile::require_supported(const ZipMember& member, std::uint64_t flags,
                                std::uint64_t method) const {
  if (!is_utf8(member.name)) file_.reject("is damaged: the name of a member is not UTF-8");
  if ((flags & zip::kEncrypted) != 0) {
    file_.reject(
        text("has the encrypted member ", quoted_name(member.name), ", which cannot be read"));
  }
  if (method != zip::kStored && method != zip::kDeflated) {
    file_.reject(text("has member ", quoted_name(member.name), " compressed by method ", method,
                      "; deflate, method 8, is read"));
  }
  const bool fits = member.is_deflated ? member.bytes / kMaxRatio <= member.stored_bytes
                                       : member.bytes == member.stored_bytes;
  if (fits) return;
  reject(member.name, text("declares ", member.bytes, " bytes but has ", member.stored_bytes,
                           member.is_deflated ? " compressed ones" : ""));
}

void ZipFile::require_distinct_names() const {
  std::vector<std::string_view> names;
  for (const ZipMember& member : members_) names.push_back(member.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) reject(*twice, "occurs twice");
}

void ZipFile::reject(std::string_view member, const std::string& message) const {
  file_.reject(text("is damaged: member ", quoted_name(member), " ", message));
}

}  // namespace kiln::runtime
