// A collection is "GCOL", its version and size, then objects: a number, references, a size, bytes.
#include "runtime/hdf5/global_heap.h"

#include <algorithm>

namespace kiln::hdf5 {
namespace {

constexpr std::size_t kPrefix = 16;  // of collections and of objects

[[noreturn]] void reject(const char* why) {
  throw Rejection(std::string("is damaged: a collection of texts ") + why);
}

}  // namespace

std::string GlobalHeap::text(Bytes& reference) {
  const std::uint64_t length = reference.number(4), address = reference.number(8),
                      number = reference.number(4);
  if (length == 0) return "";
  const Collection& held = collection(address);
  const auto object = held.objects.find(number);
  if (object == held.objects.end()) reject("lacks one of them");
  const auto [begin, size] = object->second;
  if (length > size) reject("has a text that is shorter than declared");
  const std::string text = held.bytes.substr(begin, length);
  return text.substr(0, text.find('\0'));
}

const GlobalHeap::Collection& GlobalHeap::collection(std::uint64_t address) {
  const auto [entry, is_new] = collections_.try_emplace(address);
  Collection& loaded = entry->second;
  if (!is_new) return loaded;
  Bytes prefix = file_.read(address, kPrefix);
  if (prefix.text(4) != "GCOL" || prefix.number(1) != 1) reject("has another signature");
  prefix.skip(3);
  const std::uint64_t size = prefix.number(8);
  if (size < kPrefix || size > file_.size() - loaded_) reject("is larger than the file");
  loaded_ += size;
  Bytes objects = file_.read(address, size);
  loaded.bytes = Bytes(objects).text(size);
  objects.skip(kPrefix);
  while (objects.left() >= kPrefix) {
    const std::uint64_t number = objects.number(2);
    objects.skip(6);
    const std::uint64_t bytes = objects.number(8);
    if (number == 0) break;  // free space
    if (bytes > objects.left()) reject("has a text beyond its end");
    loaded.objects.emplace(number, ByteRange{objects.at(), bytes});
    objects.skip(std::min<std::uint64_t>(objects.left(), (bytes + 7) / 8 * 8));
  }
  return loaded;
}

}  // namespace kiln::hdf5
