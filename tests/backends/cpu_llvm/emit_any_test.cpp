// Tests kernels drawn at random, many of every form: axes, layouts, lanes, stages, sizes that are
// known or not. All arithmetic is exact, so that the order of additions does not matter.
#include "core/types/at.h"
#include "tests/support/catch.h"
#include "tests/backends/cpu_llvm/emitted.h"

#include <algorithm>
#include <random>

using namespace cpu_llvm_test;
using namespace kiln;
using namespace kiln::codegen;
using namespace kiln::test;
using ir::Dim;
using ir::Op;

namespace {

constexpr std::int64_t kMaxPoints = 400;

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed), guards_(seed), k_("drawn", {}, 0) {
    dtype_ = std::vector<DType>{DType::Float32, DType::Float32, DType::Float64, DType::Int32,
                                DType::Int8}[at(below(5))];
    draw_axes();
  }

  EmitCase run() {
    const bool reduces = k_.kernel.outer < count();
    for (int i = 0; i < 2; ++i) values_.push_back(load());
    for (int i = reduces ? below(3) : 0; i > 0; --i) {
      const ExpressionId value = mix();
      const Combiner combiner =
          std::vector<Combiner>{Combiner::Sum, Combiner::Max, Combiner::Min}[at(below(3))];
      results_.push_back(k_.result(k_.reduce(combiner, value)));
    }
    if (reduces && below(4) == 0) {
      const StageId stage = k_.running(Combiner::Sum, mix(), {});
      const ExpressionId total = k_.result(stage);
      k_.kernel.stages.back().stores.push_back({result_access(count()), total});
    }
    if (!results_.empty() && below(2) == 0) {
      k_.map({{result_access(k_.kernel.outer), pick(results_)}}, false);
    }
    k_.map({{result_access(count()), mix()}});
    return {k_.kernel, {call()}};
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  template <class T>
  T pick(const std::vector<T>& list) {
    return list[at(below(static_cast<int>(list.size())))];
  }
  int count() const { return static_cast<int>(k_.kernel.axes.size()); }

  void draw_axes() {
    const int many = 1 + below(4);
    std::int64_t points = 1;
    for (int axis = 0; axis < many; ++axis) {
      std::int64_t extent = std::vector<int>{1, 2, 3, 5, 7, 16, 17, 33, 70}[at(below(9))];
      extent = std::min(extent, kMaxPoints / points);
      points *= extent;
      extents_.push_back(extent);
      const Dim unknown = Dim::fresh(std::string(1, static_cast<char>('a' + axis)));
      k_.kernel.axes.push_back(below(3) == 0 ? unknown : Dim(extent));
      add_size(k_.kernel, k_.kernel.axes.back());
    }
    k_.kernel.outer = below(many + 1);
    const std::vector<int> lanes{-1, k_.kernel.outer - 1, many - 1, many - 1};
    k_.kernel.vector_axis = pick(lanes);
  }

  /// A dense layout over some of the first axes, in any order, one of them perhaps backwards.
  AccessId layout(OperandId operand, std::vector<int> axes) {
    std::shuffle(axes.begin(), axes.end(), random_);
    std::vector<Dim> strides(at(count()), Dim(0));
    Dim stride = 1, offset = 0;
    std::int64_t elements = 1;
    for (const int axis : axes) {
      strides[at(axis)] = stride;
      if (below(8) == 0) {
        offset = offset + (k_.kernel.axes[at(axis)] + Dim(-1)) * stride;
        strides[at(axis)] = stride * Dim(-1);
      }
      stride = stride * k_.kernel.axes[at(axis)];
      elements *= extents_[at(axis)];
    }
    elements_.push_back(elements);
    return k_.access(operand, strides, offset);
  }

  ExpressionId load() {
    std::vector<int> axes;
    for (int axis = 0; axis < count(); ++axis) {
      if (below(4) != 0) axes.push_back(axis);
    }
    return k_.load(guarded(layout(k_.input(dtype_), axes), count()));
  }

  /// The access to a new result over the first axes.
  AccessId result_access(int many) {
    std::vector<int> axes;
    for (int axis = 0; axis < many; ++axis) axes.push_back(axis);
    return guarded(layout(k_.output(dtype_), axes), many);
  }

  /// Gives the access a guard at random, on the index along one or two of the first axes.
  AccessId guarded(AccessId access, int many) {
    const auto drawn = [this](std::int64_t n) {
      return static_cast<std::int64_t>(guards_() % static_cast<std::uint64_t>(n));
    };
    if (many == 0 || drawn(3) != 0) return access;
    const auto inside = [&] {
      const std::int64_t axis = drawn(many), extent = extents_[at(axis)];
      const ExpressionId shift =
          k_.number(DType::Int64, static_cast<double>(drawn(4) - drawn(extent + 1)));
      const ExpressionId index = k_.apply(Op::Add, {k_.axis(static_cast<int>(axis)), shift});
      const ExpressionId limit = k_.number(DType::Int64, static_cast<double>(drawn(extent + 3)));
      return k_.apply(Op::Less,
                      {k_.convert(DType::UInt64, index), k_.convert(DType::UInt64, limit)});
    };
    const ExpressionId first = inside();
    return k_.guard(access, drawn(2) == 0 ? first : k_.apply(Op::And, {first, inside()}));
  }

  /// A product of at most two operands, then sums and selections.
  ExpressionId mix() {
    values_.push_back(load());
    ExpressionId value = pick(values_);
    if (below(2) == 0) value = k_.apply(Op::Mul, {value, pick(values_)});
    for (int i = below(3); i > 0; --i) {
      const Op op = std::vector<Op>{Op::Add, Op::Sub, Op::Maximum, Op::Minimum}[at(below(4))];
      value = k_.apply(op, {value, pick(values_)});
    }
    if (below(4) == 0) {
      const ExpressionId index = k_.convert(dtype_, k_.axis(below(count())));
      value = k_.apply(Op::Select, {k_.apply(Op::Less, {index, pick(values_)}), value, index});
    }
    for (const ExpressionId result : results_) value = k_.apply(Op::Sub, {value, result});
    return value;
  }

  KernelCall call() {
    KernelCall result;
    for (const OperandId i : k_.kernel.operands.ids()) {
      const auto size = static_cast<std::size_t>(elements_[i] + 5);
      result.operands.push_back(filled(dtype_, whole_numbers(size + at(i.number), -3, 3)));
    }
    for (const Dim& dim : k_.kernel.sizes) {
      result.sizes.push_back(ir::evaluate(dim, [&](const ir::Symbol& symbol) {
        return std::optional<std::int64_t>(extents_[at(symbol.name[0] - 'a')]);
      }));
    }
    if (k_.kernel.outer == 0) return result;
    result.end = extents_[0] - below(2);
    result.begin = std::min<std::int64_t>(below(3), result.end);
    return result;
  }

  std::mt19937 random_, guards_;  // separate, so that guards do not change other draws
  KernelMaker k_;
  DType dtype_ = DType::Float32;
  std::vector<std::int64_t> extents_;
  IdVector<OperandId, std::int64_t> elements_;
  std::vector<ExpressionId> values_, results_;
};

}  // namespace

TEST_CASE("emitted: kernels drawn at random") {
  std::vector<EmitCase> cases;
  for (unsigned seed = 1; seed <= 250; ++seed) cases.push_back(Draw(seed).run());
  check_emitted(cases);
}

TEST_CASE("emitted: many more kernels drawn at random", "[matrix]") {
  for (unsigned part = 1; part <= 8; ++part) {
    std::vector<EmitCase> cases;
    for (unsigned i = 0; i < 200; ++i) cases.push_back(Draw(1000 * part + i).run());
    check_emitted(cases);
  }
}
