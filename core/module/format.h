// The layout of the binary form, little-endian: a header, a directory of sections with checksums,
// then the sections. Numbers in sections are LEB128 varints, signed ones zigzag-encoded; strings
// and lists are preceded by their length.
// Not Protocol Buffers or FlatBuffers: equal programs need equal bytes, which neither promises,
// and plugins of any compiler read the format without linking the same version of a library.

//   header     magic "KILNMODL", major u16, minor u16, section count u32
//   directory  id u32, offset u64, size u64, FNV-1a 64 of the bytes u64, per section
//   names      producer, module name, names of the symbols
//   types      the types of results, numbered by first appearance
//   graph      the nodes in topological order, then inputs, outputs, updates as (node, result)
//   state      the Variable nodes in call order
//   guards     of straight-line code: kind, left, right, text, line. A lambda holds its parameters,
//              nodes and results, then its own guards in the same form
//   origins    per node an index of (file, line, function), which follows its first use; optional
//   constants  the large constants; only in files
//
// A dim is the list of its operations that the section does not have yet, operands first, then its
// polynomial. An operation is an ir::DimOp and two polynomials, and is numbered within the section.
// A polynomial is its constant and its terms; a term is a coefficient and factors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kiln::module {

inline constexpr char kMagic[8] = {'K', 'I', 'L', 'N', 'M', 'O', 'D', 'L'};
/// Until the first release the format has this one version: a change of the layout, or of an op's
/// code or attributes, increments the minor, and readers reject any other.
inline constexpr std::uint16_t kFormatMajor = 0;
inline constexpr std::uint16_t kFormatMinor = 5;
inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::size_t kEntryBytes = 28;

/// The kinds of a factor of a dim, which precede its number.
inline constexpr std::uint64_t kSymbolFactor = 0;
inline constexpr std::uint64_t kOperationFactor = 1;

enum class Section : std::uint32_t { Names = 1, Types, Graph, State, Guards, Origins, Constants };

/// FNV-1a, 64 bits.
inline std::uint64_t checksum(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3u;
  return hash;
}

}  // namespace kiln::module
