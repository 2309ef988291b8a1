// The binary form, as writer and reader share it. Little-endian. A header, a directory of sections
// each with a checksum, then the sections. Numbers in sections are variable-length (7 bits a byte,
// signed ones zigzag); strings and lists have their count before them.

//   header     magic "KILNMODL", major, minor, lowest reader minor, section count: u16 each
//   directory  id u32, offset u64, size u64, FNV-1a 64 of the bytes u64, per section
//   names      producer, module name, names of the symbols
//   types      the types of results, numbered by first appearance
//   graph      the nodes in topological order, then inputs, outputs, updates as (node, result)
//   state      the Variable nodes in call order
//   guards     of straight-line code: kind, left, right, text, line. A lambda has its parameters,
//              nodes and results, then (from minor version 2 on) its own guards, likewise
//   origins    file names, then (file, line, function) per node; may be left out
//   constants  only in files: the large constants
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kiln::module {

inline constexpr char kMagic[8] = {'K', 'I', 'L', 'N', 'M', 'O', 'D', 'L'};
inline constexpr std::uint16_t kFormatMajor = 0;
inline constexpr std::uint16_t kFormatMinor = 3;
inline constexpr std::uint16_t kFirstMinorWithLambdaGuards = 2;
inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::size_t kEntryBytes = 28;

enum class Section : std::uint32_t { Names = 1, Types, Graph, State, Guards, Origins, Constants };

inline std::uint64_t checksum(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3u;
  return hash;
}

}  // namespace kiln::module
