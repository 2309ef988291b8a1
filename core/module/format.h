// The layout of the binary form, little-endian: a header, a directory of sections with checksums,
// then the sections. Numbers in sections are LEB128 varints, signed ones zigzag-encoded; strings
// and lists are preceded by their length.
// Not Protocol Buffers or FlatBuffers: equal programs need equal bytes, which neither promises,
// and plugins of any compiler read the format without linking the same version of a library.

//   header     magic "KILNMODL", major u16, minor u16, section count u32
//   directory  id u32, offset u64, size u64, FNV-1a 64 of the bytes u64, per section
//   names      producer, module name, names of the symbols
//   types      the operations of dims, operands first, then the types of results, both numbered by
//              first appearance
//   graph      the nodes in topological order, then inputs, outputs, updates as (node, result)
//   state      the attributes of the Variable nodes, in call order
//   guards     of straight-line code: kind, left, right, text, line
//   origins    per node the number of its origin, which follows at its first use: file, line,
//              function, name scope; optional. A name scope is the number of the innermost scope
//              that was written before, from 1 on, or 0 for none, then the list of the scopes
//              inside it, outermost first: name, file and line
//   constants  the large constants; only in files
//
// A node is its op's code, its attributes, operands and types. Attributes are preceded by their
// length in bytes, so that a reader skips those of an op that it does not know; a lambda, too,
// which holds its parameters, nodes, results and guards. Nothing else refers to what is skipped:
// types and operations of dims are in tables of the module. Other parts have no length, as a reader
// that skips a guard would accept what the program rejects. A dim is a polynomial: its constant and
// its terms; a term is a coefficient and factors, which are symbols and operations. An operation is
// an ir::DimOp and two polynomials.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kiln::module {

inline constexpr char kMagic[8] = {'K', 'I', 'L', 'N', 'M', 'O', 'D', 'L'};
/// Until the first release the format has this one version: a change of the layout, or of an op's
/// code or attributes, increments the minor, and readers reject any other.
inline constexpr std::uint16_t kFormatMajor = 0;
inline constexpr std::uint16_t kFormatMinor = 6;
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
