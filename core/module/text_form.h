// Definitions that printer and parser of the text form (.kir) share.
#pragma once

#include "core/ops/op.h"

#include <string_view>

namespace kiln::module {

inline constexpr std::string_view kTextVersion = "0.1";
inline constexpr std::size_t kBlobLineBytes = 40;
/// Operations of dims that have more operations, themselves included, have lines of their own.
inline constexpr std::uint32_t kMaxInlineOperations = 16;

/// Whether the attribute is an id, which is written as a number by first use within the module.
inline bool is_identity(ir::Op op, std::string_view field) {
  return field == "id" && (op == ir::Op::Placeholder || op == ir::Op::Variable ||
                           op == ir::Op::HostCall || op == ir::Op::Collective);
}

/// Whether the attribute is a parameter's scope: 0 in every closed lambda, and not written.
inline bool is_scope(ir::Op op, std::string_view field) {
  return op == ir::Op::Parameter && field == "scope";
}

/// Whether function and file names may contain the character without quotes.
inline bool is_plain_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '/' || c == '-' || c == '+';
}

}  // namespace kiln::module
