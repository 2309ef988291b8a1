// Prints dims. The text of an operation may have the length of its tree, so messages show its
// beginning, and modules print names for larger operations (core/module/print.cpp).
#include "core/ir/dim_algebra.h"
#include "core/ir/symbol_names.h"

namespace kiln::ir {
namespace {

constexpr const char* kNames[] = {"", "floordiv", "mod", "max", "min"};

/// Appends operations until the text has its greatest length, which also bounds the recursion.
struct Shortened {
  void operator()(std::string& out, const DimAtom& atom) const {
    if (out.size() <= kMaxDimText) append_text(out, *atom.operation(), *this);
  }
};

}  // namespace

void append_text(std::string& out, const Dim& dim, const AppendOperation& append_operation) {
  const std::int64_t constant = constant_of(dim);
  if (dim.is_static()) {
    out += std::to_string(constant);
    return;
  }
  bool is_first = true;
  for (const DimTerm& term : dim.expr()->terms) {
    if (!is_first && term.coefficient > 0) out += '+';
    is_first = false;
    if (term.coefficient == -1) out += '-';
    if (term.coefficient != 1 && term.coefficient != -1) {
      out += std::to_string(term.coefficient) + "*";
    }
    for (std::size_t i = 0; i < term.factors.size(); ++i) {
      if (i != 0) out += '*';
      if (const Symbol* symbol = term.factors[i]->symbol()) {
        out += SymbolNames::name_of(*symbol);
      } else {
        append_operation(out, *term.factors[i]);
      }
    }
  }
  if (constant > 0) out += '+';
  if (constant != 0) out += std::to_string(constant);
}

void append_text(std::string& out, const DimOperation& operation,
                 const AppendOperation& append_operation) {
  out += kNames[static_cast<int>(operation.op)];
  out += '(';
  append_text(out, operation.left, append_operation);
  out += ',';
  append_text(out, operation.right, append_operation);
  out += ')';
}

std::string Dim::to_string() const {
  if (is_static()) return std::to_string(value_);
  std::string out;
  append_text(out, *this, Shortened{});
  if (out.size() <= kMaxDimText) return out;
  std::size_t end = kMaxDimText - 3;
  while ((static_cast<unsigned char>(out[end]) & 0xc0) == 0x80) --end;  // within a character
  out.resize(end);
  return out + "...";
}

}  // namespace kiln::ir
