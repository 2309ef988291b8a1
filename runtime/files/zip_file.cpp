// minizip calls back for bytes; what a callback throws is kept and thrown once minizip returns,
// since no exception may pass through C.
#include "runtime/files/zip_file.h"

#include "core/types/escaped_text.h"
#include "core/types/text.h"
#include "runtime/files/quoted_name.h"

#include <kiln/error.h>

#include <minizip/unzip.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <exception>
#include <new>
#include <utility>

namespace kiln::runtime {

/// The position of minizip in a file, and what a callback has thrown.
struct ZipPosition {
  std::uint64_t at = 0, end = 0;
  std::exception_ptr thrown = {};

  void rethrow() {
    if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
  }
  /// Returns work(), or `failed` if it throws.
  template <class Result, class Work>
  Result guarded(Result failed, const Work& work) noexcept {
    try {
      return work();
    } catch (...) {
      thrown = std::current_exception();
      return failed;
    }
  }
  long seek(std::uint64_t offset, int origin) {
    const std::uint64_t base = origin == ZLIB_FILEFUNC_SEEK_CUR   ? at
                               : origin == ZLIB_FILEFUNC_SEEK_END ? end
                                                                  : 0;
    std::uint64_t next = 0;
    if (__builtin_add_overflow(base, offset, &next) || next > end) return -1;
    at = next;
    return 0;
  }
};

namespace {

/// deflate stores 258 bytes in 2 bits at best.
constexpr std::uint64_t kMaxRatio = 1032;

voidpf open_stream(voidpf opaque, const void*, int) { return opaque; }
ZPOS64_T tell(voidpf, voidpf stream) { return static_cast<ZipPosition*>(stream)->at; }
long seek(voidpf, voidpf stream, ZPOS64_T offset, int origin) {
  return static_cast<ZipPosition*>(stream)->seek(offset, origin);
}
int close_stream(voidpf, voidpf) { return 0; }
int has_failed(voidpf, voidpf stream) {
  return static_cast<ZipPosition*>(stream)->thrown != nullptr ? 1 : 0;
}

zlib_filefunc64_def callbacks(ZipPosition* position) {
  return {.zopen64_file = open_stream,
          .zread_file = nullptr,
          .zwrite_file = nullptr,
          .ztell64_file = tell,
          .zseek64_file = seek,
          .zclose_file = close_stream,
          .zerror_file = has_failed,
          .opaque = position};
}

}  // namespace

struct ZipFile::Source : ZipPosition {
  explicit Source(const InputFile& of_file) : file(of_file) { end = file.size(); }
  ~Source() {
    if (archive != nullptr) unzClose(archive);
  }

  static uLong read(voidpf, voidpf stream, void* to, uLong size) {
    auto& source = *static_cast<Source*>(static_cast<ZipPosition*>(stream));
    return source.guarded<uLong>(0, [&] {
      const uLong count = std::min<std::uint64_t>(size, source.end - source.at);
      source.file.read(source.at, {static_cast<std::byte*>(to), count});
      source.at += count;
      return count;
    });
  }

  const InputFile& file;
  unzFile archive = nullptr;
};

ZipFile::ZipFile(const InputFile& file) : file_(file), source_(std::make_unique<Source>(file)) {
  zlib_filefunc64_def functions = callbacks(source_.get());
  functions.zread_file = Source::read;
  errno = 0;
  source_->archive = unzOpen2_64("", &functions);
  source_->rethrow();
  if (source_->archive == nullptr && errno == ENOMEM) throw std::bad_alloc();
  if (source_->archive == nullptr) file_.reject("is damaged: it is no ZIP archive");
  unz_global_info64 info = {};
  unzGetGlobalInfo64(source_->archive, &info);
  require_whole_end(info.size_comment);
  std::uint64_t unclaimed_bytes = file.size();
  for (std::uint64_t i = 0; i < info.number_entry; ++i) {
    const int status =
        i == 0 ? unzGoToFirstFile(source_->archive) : unzGoToNextFile(source_->archive);
    source_->rethrow();
    if (status != UNZ_OK) file_.reject(text("is damaged: its directory ends at member ", i));
    members_.push_back(read_entry(unclaimed_bytes));
  }
  require_distinct_names();
}

ZipFile::~ZipFile() = default;

void ZipFile::require_whole_end(std::uint64_t comment) const {
  constexpr std::string_view kSignature = "PK\x05\x06";
  constexpr std::uint64_t kBytes = 22;  // of the record at the end, without its comment
  char begin[kSignature.size()] = {};
  const bool fits = file_.size() >= kBytes + comment;
  if (fits) {
    file_.read(file_.size() - kBytes - comment, std::as_writable_bytes(std::span(begin)));
  }
  if (!fits || std::string_view(begin, sizeof begin) != kSignature) {
    file_.reject("is damaged: its end is not that of a ZIP archive");
  }
}

void ZipFile::require_distinct_names() const {
  std::vector<std::string_view> names;
  for (const ZipMember& member : members_) names.push_back(member.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) reject(*twice, "occurs twice");
}

void ZipFile::reject(std::string_view subject, const std::string& message) const {
  file_.reject(text("is damaged: member ", quoted_name(subject), " ", message));
}

ZipMember ZipFile::read_entry(std::uint64_t& unclaimed_bytes) {
  unz_file_info64 info = {};
  unz64_file_pos place = {};
  const auto read = [&](std::string& name) {
    return unzGetCurrentFileInfo64(source_->archive, &info, name.data(), name.size(), nullptr, 0,
                                   nullptr, 0);
  };
  std::string name;
  int status = read(name);
  name.resize(info.size_filename);
  if (status == UNZ_OK) status = read(name);
  if (status == UNZ_OK) status = unzGetFilePos64(source_->archive, &place);
  source_->rethrow();
  if (status != UNZ_OK) file_.reject("is damaged: an entry of its directory is invalid");
  if (!is_utf8(name)) file_.reject("is damaged: the name of a member is not UTF-8");
  if ((info.flag & 1) != 0) {
    file_.reject(text("has the encrypted member ", quoted_name(name), ", which cannot be read"));
  }
  if (info.compression_method != 0 && info.compression_method != Z_DEFLATED) {
    file_.reject(text("has member ", quoted_name(name), " compressed by method ",
                      info.compression_method, "; deflate, method 8, is read"));
  }
  const bool is_stored = info.compression_method == 0;
  const bool fits = is_stored ? info.uncompressed_size == info.compressed_size
                              : info.uncompressed_size / kMaxRatio <= info.compressed_size;
  if (!fits) {
    reject(name, text("declares ", info.uncompressed_size, " bytes but has ", info.compressed_size,
                      is_stored ? "" : " compressed ones"));
  }
  if (info.compressed_size > unclaimed_bytes)
    reject(name, "and those before it have more bytes than the file");
  unclaimed_bytes -= info.compressed_size;
  return {.name = std::move(name),
          .bytes = info.uncompressed_size,
          .directory_offset = place.pos_in_zip_directory,
          .index = place.num_of_file};
}

ZipStream::ZipStream(const ZipFile& archive, const ZipMember& member)
    : archive_(archive), member_(member) {
  const unz64_file_pos place{.pos_in_zip_directory = member.directory_offset,
                             .num_of_file = member.index};
  int status = unzGoToFilePos64(archive.source_->archive, &place);
  if (status == UNZ_OK) status = unzOpenCurrentFile(archive.source_->archive);
  archive.source_->rethrow();
  if (status == Z_MEM_ERROR || status == UNZ_INTERNALERROR) throw std::bad_alloc();
  if (status != UNZ_OK) archive.reject(member.name, "differs from its entry in the directory");
  is_open_ = true;
}

ZipStream::~ZipStream() {
  if (is_open_) unzCloseCurrentFile(archive_.source_->archive);
}

void ZipStream::read(std::span<std::byte> to) {
  while (!to.empty()) {
    const auto wanted = static_cast<unsigned>(std::min<std::size_t>(to.size(), INT_MAX));
    const int got = unzReadCurrentFile(archive_.source_->archive, to.data(), wanted);
    archive_.source_->rethrow();
    if (got == Z_MEM_ERROR) throw std::bad_alloc();
    if (got < 0) archive_.reject(member_.name, "cannot be decompressed");
    if (got == 0) archive_.reject(member_.name, "is truncated");
    to = to.subspan(static_cast<std::size_t>(got));
  }
}

void ZipStream::finish() {
  is_open_ = false;
  const int status = unzCloseCurrentFile(archive_.source_->archive);
  archive_.source_->rethrow();
  if (status != UNZ_OK) archive_.reject(member_.name, "has a wrong checksum");
}

}  // namespace kiln::runtime
