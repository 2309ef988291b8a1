// Type rules, axis rules, gradients and expansions of indexed, contraction, control and composite
// ops.
#include "core/ops/structure.h"

#include "core/ir/lambda.h"
#include "core/ir/location.h"
#include "core/ops/halves.h"
#include "core/types/text.h"

#include <kiln/error.h>

#include <algorithm>
#include <map>

namespace kiln::ir {
namespace {

void require_integer(Inference& in, std::size_t i, const char* what) {
  if (!is_integer(in.type(i).dtype)) in.type_error(text(what, " are not integers"));
}

void require_type(Inference& in, const Type& actual, const Type& expected,
                  const std::string& what) {
  if (actual == expected) return;
  in.type_error(text(what, " is ", actual, " but should be ", expected));
}

/// Collects the dim of each label, and requires that equal labels have equal dims.
void bind_labels(Inference& in, const Ints& labels, std::size_t operand,
                 std::map<std::int64_t, Dim>& dims) {
  const Type& type = in.type(operand);
  if (labels.size() != type.dims.size()) in.value_error("labels and rank differ");
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (std::count(labels.begin(), labels.end(), labels[i]) != 1) {
      in.value_error("a label occurs twice in one operand");
    }
    const auto [found, is_new] = dims.emplace(labels[i], type.dims[i]);
    if (is_new) continue;
    in.require_equal(found->second, type.dims[i], "contracted or shared sizes ", found->second,
                     " and ", type.dims[i], " differ");
  }
}

bool contains(const Ints& labels, std::int64_t label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

Type step_of(Inference& in, const Type& stacked, const Dim& length) {
  if (stacked.dims.empty()) in.value_error("a stacked operand of a scan is a scalar");
  in.require_equal(stacked.dims[0], length, "a scan of ", length, " steps has an input of ",
                   stacked.dims[0]);
  return {stacked.dtype, {stacked.dims.begin() + 1, stacked.dims.end()}};
}

void require_parameters(Inference& in, const Lambda& lambda, const std::vector<Type>& expected) {
  if (lambda.parameters.size() != expected.size()) {
    in.value_error(text("a body has ", lambda.parameters.size(), " parameters for ",
                        expected.size(), " values"));
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    require_type(in, lambda.parameters[i], expected[i], text("parameter ", i));
  }
}

Value keep_axis(const Value& reduced, const Value& x, std::int64_t axis) {
  return broadcast_over(reduced, x.dims(), {axis});
}

/// x minus its maximum. The results do not depend on the maximum, so it gets no gradient.
Value shifted(const Value& x, std::int64_t axis) {
  return x - keep_axis(stop_gradient(reduce_max(x, {axis})), x, axis);
}

}  // namespace

std::vector<Type> infer_gather(Inference& in) {
  const std::int64_t axis = in.as<AxisAttrs>().axis;
  const Type& reference = in.type(0);
  require_integer(in, 1, "indices");
  require_axis(in, axis, reference.rank());
  Type result = reference;
  result.dims.erase(result.dims.begin() + axis);
  result.dims.insert(result.dims.begin() + axis, in.type(1).dims.begin(), in.type(1).dims.end());
  return {result};
}

std::vector<Type> infer_scatter_add(Inference& in) {
  const auto& attrs = in.as<ScatterAttrs>();
  const Type &indices = in.type(0), &updates = in.type(1);
  if (!(dtype_bit(updates.dtype) & kNumbers)) in.type_error("updates are bool");
  require_axis(in, attrs.axis, updates.rank() - indices.rank() + 1);
  const auto axis = static_cast<std::size_t>(attrs.axis);
  for (std::size_t i = 0; i < indices.dims.size(); ++i) {
    in.require_equal(indices.dims[i], updates.dims[axis + i], "indices and updates do not fit");
  }
  in.require_less_equal(0, attrs.size, "size ", attrs.size, " is negative");
  Type result = updates;
  const auto begin = result.dims.begin() + attrs.axis;
  result.dims.erase(begin, begin + indices.rank());
  result.dims.insert(result.dims.begin() + attrs.axis, attrs.size);
  return {result};
}

std::vector<Type> infer_scatter_sub(Inference& in) {
  const Type &x = in.type(0), &rate = in.type(1), &indices = in.type(2), &updates = in.type(3);
  require_integer(in, 2, "indices");
  if (x.dims.empty()) in.value_error("x is a scalar");
  require_type(in, rate, {x.dtype, {}}, "rate");
  Dims rows = indices.dims;
  rows.insert(rows.end(), x.dims.begin() + 1, x.dims.end());
  if (updates.dtype != x.dtype || updates.dims.size() != rows.size()) {
    in.type_error(text("updates are ", updates, " but should be ", Type{x.dtype, rows}));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    in.require_equal(rows[i], updates.dims[i], "indices, updates and x do not fit");
  }
  return {x};
}

std::vector<Value> expand_scatter_sub(const Node&, std::span<const Value> operands) {
  const Value x = widened(operands[0]), rate = widened(operands[1]);
  const Value sums = scatter_add(operands[2], widened(operands[3]), 0, x.dims()[0]);
  const Value next = x - broadcast_to(rate, x.dims()) * with_dims(sums, x.dims());
  return {cast(next, operands[0].dtype())};
}

std::vector<Type> infer_dot(Inference& in) {
  const auto& attrs = in.as<DotAttrs>();
  if (in.type(0).dtype != in.type(1).dtype) in.type_error("operands have different dtypes");
  std::map<std::int64_t, Dim> dims;
  bind_labels(in, attrs.lhs, 0, dims);
  bind_labels(in, attrs.rhs, 1, dims);
  std::int64_t next = 0;
  for (const Ints* labels : {&attrs.lhs, &attrs.rhs}) {
    for (std::int64_t label : *labels) {
      if (label > next || label < 0) in.value_error("labels are not numbered by appearance");
      next = std::max(next, label + 1);
    }
  }
  Type result{in.type(0).dtype, {}};
  for (std::int64_t label : attrs.result) {
    const auto occurrences = std::count(attrs.result.begin(), attrs.result.end(), label);
    if (dims.count(label) == 0 || occurrences != 1) {
      in.value_error("a label of the result is not one of the operands' or occurs twice");
    }
    result.dims.push_back(dims.at(label));
  }
  for (const auto& [label, dim] : dims) {
    const int lists =
        contains(attrs.lhs, label) + contains(attrs.rhs, label) + contains(attrs.result, label);
    if (lists < 2) in.value_error("a label occurs once");
  }
  return {result};
}

std::vector<Type> infer_scan(Inference& in) {
  const auto& attrs = in.as<ScanAttrs>();
  if (attrs.consts < 0 || attrs.carry < 0 || attrs.xs < 0 || !attrs.body.lambda ||
      static_cast<std::uint64_t>(attrs.consts) + static_cast<std::uint64_t>(attrs.carry) +
              static_cast<std::uint64_t>(attrs.xs) !=
          in.count()) {
    in.value_error(text("a scan of ", attrs.consts, " consts, ", attrs.carry, " carries and ",
                        attrs.xs, " xs has ", in.count(), " operands"));
  }
  in.require_less_equal(0, attrs.length, "length ", attrs.length, " is negative");
  const Lambda& body = *attrs.body;
  const auto first_carry = static_cast<std::size_t>(attrs.consts);
  const auto carries = static_cast<std::size_t>(attrs.carry);
  std::vector<Type> expected{{DType::Int64, {}}};
  for (std::size_t i = 0; i < in.count(); ++i) {
    const bool stacked = i >= first_carry + carries;
    expected.push_back(stacked ? step_of(in, in.type(i), attrs.length) : in.type(i));
  }
  require_parameters(in, body, expected);
  if (body.results.size() < carries) in.value_error("the body gives too few results");
  std::vector<Type> types;
  for (std::size_t i = 0; i < body.results.size(); ++i) {
    Type type = body.results[i].type();
    if (i < carries) {
      require_type(in, type, in.type(first_carry + i), text("carry ", i, " of the body"));
    } else {
      type.dims.insert(type.dims.begin(), attrs.length);
    }
    types.push_back(std::move(type));
  }
  return types;
}

std::vector<Type> infer_while(Inference& in) {
  const auto& attrs = in.as<ScanAttrs>();
  if (attrs.xs != 0 || attrs.reverse) in.value_error("a while has xs or runs backwards");
  std::vector<Type> types = infer_scan(in);
  if (types.empty() || types.size() != static_cast<std::size_t>(attrs.carry)) {
    in.value_error(
        text("the body of a while gives ", types.size(), " results for ", attrs.carry, " carries"));
  }
  require_type(in, types[0], {DType::Bool, {}}, "carry 0 of a while");
  return types;
}

std::vector<Type> infer_cond(Inference& in) {
  const auto& attrs = in.as<CondAttrs>();
  if (in.count() == 0 || !(in.type(0) == Type{DType::Bool, {}})) {
    in.type_error("the predicate is not a bool scalar");
  }
  if (!attrs.then_branch.lambda || !attrs.else_branch.lambda) in.value_error("a branch is missing");
  std::vector<Type> expected;
  for (std::size_t i = 1; i < in.count(); ++i) expected.push_back(in.type(i));
  require_parameters(in, *attrs.then_branch, expected);
  require_parameters(in, *attrs.else_branch, expected);
  const auto& x = attrs.then_branch->results;
  const auto& y = attrs.else_branch->results;
  if (x.size() != y.size()) in.value_error("the branches give different numbers of results");
  std::vector<Type> types;
  for (std::size_t i = 0; i < x.size(); ++i) {
    require_type(in, y[i].type(), x[i].type(), text("result ", i, " of the other branch"));
    types.push_back(x[i].type());
  }
  return types;
}

std::vector<Type> infer_require(Inference& in) {
  const auto& a = in.as<RequireAttrs>();
  std::string message = a.message;
  const auto show = [&](std::string_view pattern, const Dim& size) {
    const std::size_t found = message.find(pattern);
    if (found != std::string::npos) message.replace(found, pattern.size(), text(size));
  };
  show("{left}", a.left);
  show("{right}", a.right);
  switch (a.kind) {
    case Guard::Kind::Equal: in.require_equal(a.left, a.right, message); return {in.type(0)};
    case Guard::Kind::LessEqual:
      in.require_less_equal(a.left, a.right, message);
      return {in.type(0)};
  }
  in.value_error(text("a condition of unknown kind ", static_cast<std::int64_t>(a.kind)));
}

std::vector<Type> infer_scale_gradient(Inference& in) {
  const Type &x = in.type(0), &scale = in.type(1);
  if (!is_float(scale.dtype)) in.type_error("the scale is not floating point");
  if (scale.dims.size() != x.dims.size()) in.value_error("the ranks differ");
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    in.require_equal(scale.dims[i], x.dims[i], "the sizes of axis ", i, " differ");
  }
  return {x};
}

std::vector<Type> infer_host_call(Inference& in) {
  if (in.count() == 0 || !(in.type(0) == Type{DType::Int64, {}})) {
    in.type_error("position is not an int64 scalar");
  }
  return in.as<HostCallAttrs>().results;
}

int axis_before_gather(const Node& node, std::size_t operand, int axis) {
  const int first = static_cast<int>(node.as<AxisAttrs>().axis);
  const int end = first + node.operands[1].rank();
  if (axis >= first && axis < end) return operand == 1 ? axis - first : kNoAxis;
  if (operand == 1) return kNoAxis;
  return axis < first ? axis : axis - node.operands[1].rank() + 1;
}

int axis_before_dot(const Node& node, std::size_t operand, int axis) {
  const DotAttrs& attrs = node.as<DotAttrs>();
  const std::int64_t label = attrs.result[static_cast<std::size_t>(axis)];
  return axis_in(operand == 0 ? attrs.lhs : attrs.rhs, label);
}

Grads grad_dot(const Grad& g) {
  const auto& a = g.node.as<DotAttrs>();
  Grads dx(2);
  if (g.wanted[0]) dx[0] = dot(g.dy[0], a.result, g.x[1], a.rhs, a.lhs);
  if (g.wanted[1]) dx[1] = dot(g.x[0], a.lhs, g.dy[0], a.result, a.rhs);
  return dx;
}

Grads grad_host_call(const Grad& g) {
  const Origin& origin = g.node.origin;
  if (g.node.as<HostCallAttrs>().function == "shard_results") {
    throw NotImplementedError(current_origin().function, "loss",
                              text("the loss depends on ", origin.function, location_suffix(origin),
                                   " with shards, which has no gradient"),
                              current_origin().where);
  }
  Grads dx(g.x.size());
  if (g.y.size() == 1 && g.x.size() > 1 && g.y[0].type() == g.x[1].type()) dx[1] = g.dy[0];
  return dx;
}

std::vector<Value> expand_softmax(const Node& node, std::span<const Value> operands) {
  const std::int64_t axis = node.as<AxisAttrs>().axis;
  const Value e = unary(Op::Exp, shifted(widened(operands[0]), axis));
  const Value sum = reduce_sum(e, {axis});
  // Divides once per row. The sum is at least 1, so neither 1 / sum nor a result exceeds 1.
  return {cast(e * keep_axis(1.0 / sum, e, axis), operands[0].dtype())};
}

std::vector<Value> expand_log_softmax(const Node& node, std::span<const Value> operands) {
  const std::int64_t axis = node.as<AxisAttrs>().axis;
  const Value z = shifted(widened(operands[0]), axis);
  const Value sum = reduce_sum(unary(Op::Exp, z), {axis});
  return {cast(z - keep_axis(unary(Op::Log, sum), z, axis), operands[0].dtype())};
}

Grads grad_softmax(const Grad& g) {
  const std::int64_t axis = g.node.as<AxisAttrs>().axis;
  const Value y = widened(g.y[0]), dy = widened(g.dy[0]);
  const Value inner = reduce_sum(y * dy, {axis});
  return {cast(y * (dy - keep_axis(inner, y, axis)), g.y[0].dtype())};
}

Grads grad_log_softmax(const Grad& g) {
  const std::int64_t axis = g.node.as<AxisAttrs>().axis;
  const Value y = widened(g.y[0]), dy = widened(g.dy[0]);
  const Value total = keep_axis(reduce_sum(dy, {axis}), dy, axis);
  return {cast(dy - unary(Op::Exp, y) * total, g.y[0].dtype())};
}

}  // namespace kiln::ir
