// Imports Einsum: diagonals, sums and pairwise contractions, left to right.
#include "core/k/base/tensor_impl.h"
#include "core/onnx/import/groups.h"
#include "core/onnx/import/node_context.h"
#include "core/types/at.h"

#include <algorithm>
#include <map>

namespace kiln::onnx {
namespace {

using ir::Dim;
using ir::Dims;
using ir::Ints;
using ir::Value;
using Values = std::vector<Value>;

/// The label of axis i, counted from the last, of those that "..." stands for is
/// kEllipsis - 1 - i; letters are their codes.
constexpr std::int64_t kEllipsis = 0;

/// A tensor with a label per axis.
struct EinsumTerm {
  Value value;
  Ints labels;
};

bool contains_label(const Ints& labels, std::int64_t label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

/// Letters and kEllipsis of one term of an equation.
Ints einsum_letters(NodeContext& node, std::string_view term) {
  Ints letters;
  for (std::size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if (c == ' ') continue;
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_letter) {
      letters.push_back(c);
    } else if (term.substr(i, 3) == "..." && !contains_label(letters, kEllipsis)) {
      letters.push_back(kEllipsis);
      i += 2;
    } else {
      node.fail(text("equation '", node.string("equation", ""), "' is malformed"));
    }
  }
  return letters;
}

/// The letters with kEllipsis replaced by `count` labels.
Ints einsum_labels(const Ints& letters, std::int64_t count) {
  Ints labels;
  for (const std::int64_t letter : letters) {
    if (letter != kEllipsis) labels.push_back(letter);
    for (std::int64_t i = count; letter == kEllipsis && i > 0; --i) {
      labels.push_back(kEllipsis - i);
    }
  }
  return labels;
}

/// x with two equal labels, at axes a < b, as one: the elements n + 1 apart of the flattened pair
/// of axes, which is padded to n (n + 1).
EinsumTerm diagonal_term(const EinsumTerm& x, int a, int b) {
  Ints order, labels;
  for (int i = 0; i < x.value.rank(); ++i) {
    if (i == a || i == b) continue;
    order.push_back(i);
    labels.push_back(x.labels[at(i)]);
  }
  order.insert(order.end(), {a, b});
  labels.push_back(x.labels[at(a)]);
  const Value moved = ir::permute(x.value, order);
  Dims dims = moved.dims();
  const Dim n = dims[dims.size() - 2];
  dims.back() = n;
  Dims rest(dims.begin(), dims.end() - 2), flat = rest, low(rest.size() + 1, 0), high = low,
                                           square = rest;
  flat.push_back(n * n);
  high.back() = n;
  square.insert(square.end(), {n, n + 1});
  const Value zero = ir::scalar_constant(moved.dtype(), 0);
  const Value padded = ir::pad(ir::reshape(ir::with_dims(moved, dims), flat), zero, low, high);
  const int last = static_cast<int>(square.size()) - 1;
  rest.push_back(n);
  return {ir::reshape(ir::slice_axis(ir::reshape(padded, square), last, 0, 1), rest), labels};
}

EinsumTerm without_repeated_labels(EinsumTerm x) {
  for (int b = 0; b < static_cast<int>(x.labels.size());) {
    const auto first = std::find(x.labels.begin(), x.labels.begin() + b, x.labels[at(b)]);
    const int a = static_cast<int>(first - x.labels.begin());
    if (a == b) {
      ++b;
    } else {
      x = diagonal_term(x, a, b);
      b = 0;
    }
  }
  return x;
}

/// The sum over the labels that are not in `kept`.
EinsumTerm summed_to(const EinsumTerm& x, const Ints& kept) {
  Ints axes, labels;
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    const bool is_kept = contains_label(kept, x.labels[i]);
    if (is_kept) labels.push_back(x.labels[i]);
    if (!is_kept) axes.push_back(static_cast<std::int64_t>(i));
  }
  return {axes.empty() ? x.value : ir::reduce_sum(x.value, axes), labels};
}

/// x without its axes of size 1 whose label has another size elsewhere: they broadcast.
EinsumTerm without_stretched_axes(const EinsumTerm& x, const std::map<std::int64_t, Dim>& sizes) {
  Dims dims;
  Ints labels;
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    const Dim& size = x.value.dims()[i];
    if (size.is_one() && !sizes.at(x.labels[i]).is_one()) continue;
    dims.push_back(size);
    labels.push_back(x.labels[i]);
  }
  return {ir::reshape(x.value, dims), labels};
}

/// x as a tensor with these labels, some of which it lacks: it broadcasts along them.
Value aligned_to(const EinsumTerm& x, const Ints& labels, const Dims& dims) {
  Ints order, axes;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto found = std::find(x.labels.begin(), x.labels.end(), labels[i]);
    if (found == x.labels.end()) continue;
    order.push_back(found - x.labels.begin());
    axes.push_back(static_cast<std::int64_t>(i));
  }
  return ir::broadcast(ir::permute(x.value, order), dims, axes);
}

/// The product of two terms, summed over the labels that are not in `needed`.
EinsumTerm contracted_terms(const EinsumTerm& a, const EinsumTerm& b, const Ints& needed,
                            const std::map<std::int64_t, Dim>& sizes) {
  const auto joined = [](Ints labels, const Ints& more) {
    labels.insert(labels.end(), more.begin(), more.end());
    return labels;
  };
  const EinsumTerm x = summed_to(a, joined(needed, b.labels)),
                   y = summed_to(b, joined(needed, a.labels));
  Ints result;
  bool has_sum = false;
  for (const std::int64_t label : joined(x.labels, y.labels)) {
    if (contains_label(result, label)) continue;
    if (contains_label(needed, label)) result.push_back(label);
    has_sum = has_sum || !contains_label(needed, label);
  }
  if (has_sum) return {ir::dot(x.value, x.labels, y.value, y.labels, result), result};
  Dims dims;
  for (const std::int64_t label : result) dims.push_back(sizes.at(label));
  return {aligned_to(x, result, dims) * aligned_to(y, result, dims), result};
}

/// Labels that occur once, in ASCII's order, after the axes of "...".
Ints implicit_result(const std::vector<Ints>& terms) {
  std::map<std::int64_t, int> counts;
  for (const Ints& term : terms) {
    for (const std::int64_t letter : term) ++counts[letter];
  }
  Ints letters;
  for (const auto& [letter, count] : counts) {
    if (count == 1 || letter == kEllipsis) letters.push_back(letter);
  }
  return letters;
}

struct Equation {
  std::vector<Ints> terms;
  Ints result;
};

Equation einsum_equation(NodeContext& node) {
  const std::string equation = node.string("equation", "");
  const std::size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  Equation parsed;
  for (std::size_t start = 0; start <= left.size();) {
    const std::size_t end = std::min(left.find(',', start), left.size());
    parsed.terms.push_back(einsum_letters(node, std::string_view(left).substr(start, end - start)));
    start = end + 1;
  }
  parsed.result = arrow == std::string::npos
                      ? implicit_result(parsed.terms)
                      : einsum_letters(node, std::string_view(equation).substr(arrow + 2));
  if (parsed.terms.size() != node.input_count()) {
    node.fail(text("equation '", equation, "' has ", parsed.terms.size(), " terms for ",
                   node.input_count(), " operands"));
  }
  return parsed;
}

/// The operands with their labels; repeated ones are diagonals.
std::vector<EinsumTerm> einsum_terms(NodeContext& node, const Equation& equation,
                                     std::int64_t& ellipsis) {
  std::vector<EinsumTerm> terms;
  for (std::size_t i = 0; i < equation.terms.size(); ++i) {
    const Value x = node.input(i);
    const Ints& letters = equation.terms[i];
    const bool has_ellipsis = contains_label(letters, kEllipsis);
    const std::int64_t rest = x.rank() - std::ssize(letters) + (has_ellipsis ? 1 : 0);
    if (rest < 0 || (rest > 0 && !has_ellipsis)) {
      node.fail(text("term ", i, " of equation '", node.string("equation", ""),
                     "' does not fit its operand (x ", x.type(), ")"));
    }
    if (has_ellipsis) ellipsis = std::max(ellipsis, rest);
    terms.push_back(without_repeated_labels({x, einsum_labels(letters, rest)}));
  }
  return terms;
}

Values import_einsum(NodeContext& node) {
  const Equation equation = einsum_equation(node);
  std::int64_t ellipsis = 0;
  std::vector<EinsumTerm> terms = einsum_terms(node, equation, ellipsis);
  std::map<std::int64_t, Dim> sizes;
  for (const EinsumTerm& term : terms) {
    for (std::size_t i = 0; i < term.labels.size(); ++i) {
      Dim& size = sizes.emplace(term.labels[i], term.value.dims()[i]).first->second;
      if (size.is_one()) size = term.value.dims()[i];
    }
  }
  const Ints result = einsum_labels(equation.result, ellipsis);
  for (const std::int64_t label : result) {
    if (sizes.count(label) != 0 && std::count(result.begin(), result.end(), label) == 1) continue;
    node.fail(text("equation '", node.string("equation", ""),
                   "' has a label of the result that no operand has, or twice"));
  }
  for (EinsumTerm& term : terms) term = without_stretched_axes(term, sizes);
  EinsumTerm total = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) {
    Ints needed = result;
    for (std::size_t k = i + 1; k < terms.size(); ++k) {
      needed.insert(needed.end(), terms[k].labels.begin(), terms[k].labels.end());
    }
    total = contracted_terms(total, terms[i], needed, sizes);
  }
  Dims dims;
  for (const std::int64_t label : result) dims.push_back(sizes.at(label));
  return {aligned_to(summed_to(total, result), result, dims)};
}

constexpr OperatorRow kEinsumRows[] = {{"Einsum", {12, 28}, import_einsum}};

}  // namespace

std::span<const OperatorRow> einsum_operators() { return kEinsumRows; }

}  // namespace kiln::onnx
