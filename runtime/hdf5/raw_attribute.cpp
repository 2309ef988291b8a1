// Object headers are lists of messages in chunks; a message of a chunk may name the next chunk.
#include "runtime/hdf5/raw_attribute.h"

#include <deque>
#include <optional>
#include <utility>

namespace kiln::hdf5 {
namespace {

constexpr std::uint64_t kAttribute = 0x0c, kContinuation = 0x10;
constexpr std::uint64_t kIsShared = 2;  // a flag of messages: the data are elsewhere

std::size_t padded(std::uint64_t size, bool is_padded) {
  return is_padded ? (size + 7) / 8 * 8 : size;
}

/// The data of an attribute's message, if it has the name.
std::optional<Bytes> data_of(Bytes message, std::string_view name) {
  const std::uint64_t version = message.number(1);
  message.skip(1);
  const std::uint64_t name_size = message.number(2), type_size = message.number(2),
                      space_size = message.number(2);
  if (version == 3) message.skip(1);  // the encoding of the name
  const bool is_padded = version == 1;
  const std::string_view found = message.text(padded(name_size, is_padded));
  if (found.substr(0, found.find('\0')) != name) return std::nullopt;
  message.skip(padded(type_size, is_padded));
  message.skip(padded(space_size, is_padded));
  return message.part(message.left());
}

/// The chunks of a header.
class Header {
 public:
  Header(const FileBytes& file, std::uint64_t address) : file_(file) {
    Bytes start = file.read(address, 1);
    if (start.number(1) == 1) {
      open_first_version(address);
    } else {
      open_second_version(address);
    }
  }

  std::optional<Bytes> find(std::string_view name) {
    while (!chunks_.empty()) {
      Bytes chunk = std::move(chunks_.front());
      chunks_.pop_front();
      const std::size_t prefix = is_first_version_ ? 8 : has_order_ ? 6 : 4;
      while (chunk.left() >= prefix) {
        if (auto data = next_message(chunk, name)) return data;
      }
    }
    return std::nullopt;
  }

 private:
  void open_first_version(std::uint64_t address) {
    Bytes prefix = file_.read(address, 16);
    prefix.skip(8);
    is_first_version_ = true;
    add_chunk(address + 16, prefix.number(4));
  }

  void open_second_version(std::uint64_t address) {
    constexpr std::uint64_t kHasTimes = 0x20, kHasLimits = 0x10, kHasOrder = 4;
    const std::uint64_t flags = file_.read(address + 5, 1).number(1);
    const std::uint64_t before =
        address + 6 + ((flags & kHasTimes) != 0 ? 16 : 0) + ((flags & kHasLimits) != 0 ? 4 : 0);
    const std::size_t width = std::size_t{1} << (flags & 3);
    has_order_ = (flags & kHasOrder) != 0;
    add_chunk(before + width, file_.read(before, width).number(width));
  }

  void add_chunk(std::uint64_t address, std::uint64_t size) {
    total_ += size;
    if (size > file_.size() || total_ > file_.size()) {
      throw Rejection("is damaged: an object header has more bytes than the file");
    }
    chunks_.push_back(file_.read(address, size));
  }

  void add_continuation(Bytes message) {
    const std::uint64_t address = message.number(8), size = message.number(8);
    if (is_first_version_) return add_chunk(address, size);
    constexpr std::uint64_t kAround = 8;  // a signature and a checksum
    if (size < kAround) throw Rejection("is damaged: a chunk of an object header is too small");
    add_chunk(address + kAround / 2, size - kAround);
  }

  std::optional<Bytes> next_message(Bytes& chunk, std::string_view name) {
    const std::uint64_t type = chunk.number(is_first_version_ ? 2 : 1), size = chunk.number(2),
                        flags = chunk.number(1);
    chunk.skip(is_first_version_ ? 3 : has_order_ ? 2 : 0);
    Bytes message = chunk.part(size);
    if ((flags & kIsShared) != 0) return std::nullopt;
    if (type == kContinuation) add_continuation(std::move(message));
    if (type == kAttribute) return data_of(std::move(message), name);
    return std::nullopt;
  }

  const FileBytes& file_;
  bool is_first_version_ = false, has_order_ = false;
  std::uint64_t total_ = 0;
  std::deque<Bytes> chunks_;
};

}  // namespace

Bytes raw_attribute(const FileBytes& file, std::uint64_t header, std::string_view name) {
  if (std::optional<Bytes> data = Header(file, header).find(name)) return *std::move(data);
  throw Rejection("has the attribute '" + std::string(name) + "' outside of its object's header, " +
                  "where texts of variable length are not read");
}

}  // namespace kiln::hdf5
