// Order of the phases: those that remove most per run come first.
#include "tools/kiln/reduce/reduce.h"

#include "core/ops/build.h"
#include "core/ops/op.h"
#include "core/types/counted.h"
#include "core/types/text.h"

#include <algorithm>
#include <numeric>
#include <ostream>
#include <set>

namespace kiln::tool {
namespace {

class Reducer {
 public:
  Reducer(Program program, Observation seen, IsolatedRuns& runs, const ReduceOptions& options,
          std::ostream& out)
      : best_{std::move(program), std::move(seen)},
        first_(best_.seen),
        runs_(runs),
        options_(options),
        out_(out) {}

  Reduction run() && {
    reduce_roots();
    attempt(without_variables(best_.program));
    attempt(with_static_sizes(best_.program));
    report("outputs");
    ProgramSize before;
    do {
      before = size_of(best_.program);
      learn_values();
      cut_nodes();
      report("nodes");
      shrink_sizes();
      replace_values();
      report("sizes and bodies");
    } while (size_of(best_.program) < before);
    return std::move(best_);
  }

 private:
  /// Whether the program shows what the first one showed.
  bool shows(const Observation& seen) const {
    if (seen.endings != first_.endings) return false;
    const bool has_results = seen.endings[0].failure.empty() && seen.endings[1].failure.empty();
    return !has_results || !(seen.difference <= options_.tolerance);
  }

  /// Takes the program if it shows the fault.
  bool attempt(std::optional<Program> candidate) {
    if (!candidate || computing_nodes(candidate->graph, false).empty()) return false;
    Observation seen = runs_.observe(*candidate);
    if (!shows(seen)) return false;
    best_ = {*std::move(candidate), std::move(seen)};
    return true;
  }

  bool attempt_smaller(std::optional<Program> candidate) {
    if (!candidate || !(size_of(*candidate) < size_of(best_.program))) return false;
    return attempt(std::move(candidate));
  }

  void report(const char* phase) {
    const auto [nodes, elements] = size_of(best_.program);
    out_ << phase << ": " << counted(nodes, "node") << ", " << counted(elements, "element")
         << " of inputs, " << counted(static_cast<std::size_t>(runs_.count()), "run") << std::endl;
  }

  std::size_t root_count() const {
    return best_.program.graph.outputs.size() + best_.program.graph.updates.size();
  }

  /// Drops halves, quarters, .. of the outputs and updates.
  void reduce_roots() {
    for (std::size_t chunk = (root_count() + 1) / 2; chunk > 0; chunk /= 2) {
      for (std::size_t begin = 0; begin < root_count() && root_count() > 1;) {
        std::vector<std::size_t> kept;
        for (std::size_t i = 0; i < root_count(); ++i) {
          if (i < begin || i >= begin + chunk) kept.push_back(i);
        }
        if (kept.empty() || !attempt(with_roots(best_.program, kept))) begin += chunk;
      }
    }
  }

  /// Computes the values by which inputs replace nodes, on the first backend that can.
  void learn_values() {
    for (const std::size_t backend : {0, 1}) {
      if (runs_.compute_values(best_.program, backend).empty()) return;
    }
    out_ << "no backend computes all values, so nodes are removed from the end only" << std::endl;
  }

  /// Removes halves, quarters, .. of the nodes, first those near the outputs.
  void cut_nodes() {
    const std::size_t count = computing_nodes(best_.program.graph, false).size();
    for (std::size_t chunk = (count + 1) / 2; chunk > 0; chunk /= 2) {
      std::size_t from_end = 0;
      for (;;) {
        const auto nodes = computing_nodes(best_.program.graph, false);
        if (from_end >= nodes.size()) break;
        const std::size_t end = nodes.size() - from_end;
        const std::size_t begin = end > chunk ? end - chunk : 0;
        NodeSet removed;
        for (std::size_t i = begin; i < end; ++i) removed.insert(nodes[i].get());
        const bool is_removed = attempt_smaller(without_nodes(best_.program, removed, true)) ||
                                attempt_smaller(without_nodes(best_.program, removed, false));
        if (!is_removed) from_end += chunk;
      }
    }
  }

  /// Sizes of all tensors outside of bodies, in ascending order.
  std::set<std::int64_t> sizes() const {
    std::set<std::int64_t> found;
    const auto add = [&](const ir::Type& type) {
      for (const ir::Dim& dim : type.dims) {
        if (dim.is_static() && dim.value() > 1) found.insert(dim.value());
      }
    };
    for (const ir::NodeRef& node : computing_nodes(best_.program.graph, false)) {
      for (const ir::Type& type : node->types) add(type);
      for (const ir::Value& operand : node->operands) add(operand.type());
    }
    return found;
  }

  void shrink_sizes() {
    for (const std::int64_t size : sizes()) {
      std::int64_t now = size;
      bool is_smaller = true;
      while (is_smaller && now > 1) {
        is_smaller = false;
        for (const std::int64_t smaller : {std::int64_t{1}, std::int64_t{2}, now / 2, now - 1}) {
          if (smaller >= now || smaller < 1) continue;
          is_smaller = attempt_smaller(with_size(best_.program, now, smaller));
          if (!is_smaller) continue;
          now = smaller;
          break;
        }
      }
    }
  }

  /// Replaces values by operands of their type, and those in bodies also by zeros, last ones first.
  void replace_values() {
    for (std::size_t from_end = 0;;) {
      const auto nodes = computing_nodes(best_.program.graph, true);
      if (from_end >= nodes.size()) return;
      const ir::NodeRef& node = nodes[nodes.size() - 1 - from_end];
      if (!replace_values_of(*node)) ++from_end;
    }
  }

  bool replace_values_of(const ir::Node& node) {
    for (std::uint32_t i = 0; i < node.types.size(); ++i) {
      const ir::Value value = node.result(i);
      for (const ir::Value& operand : node.operands) {
        if (!(operand.type() == value.type())) continue;
        if (attempt_smaller(with_value(best_.program, value, operand))) return true;
      }
      const ir::Value zeros = ir::full(value.dtype(), value.dims(), 0);
      if (!(zeros == value) && attempt_smaller(with_value(best_.program, value, zeros)))
        return true;
    }
    return false;
  }

  Reduction best_;
  const Observation first_;
  IsolatedRuns& runs_;
  const ReduceOptions& options_;
  std::ostream& out_;
};

}  // namespace

std::string describe(const Observation& seen, const ReduceOptions& options) {
  std::string text_of_failures;
  for (const std::size_t i : {0, 1}) {
    if (seen.endings[i].failure.empty()) continue;
    text_of_failures += text(text_of_failures.empty() ? "" : "\n", options.runs[i].backend,
                             " fails: ", seen.endings[i].message);
  }
  if (!text_of_failures.empty()) return text_of_failures;
  return text("the largest difference is ", seen.difference);
}

std::optional<Reduction> reduce(Program program, const ReduceOptions& options, std::ostream& out) {
  IsolatedRuns runs(options.runs, options.random_call, options.limit);
  runs.require_usable();
  Observation seen = runs.observe(program);
  out << describe(seen, options) << std::endl;
  const bool is_alike = seen.endings[0] == seen.endings[1];
  const bool has_results = seen.endings[0].failure.empty();
  if (is_alike && (!has_results || seen.difference <= options.tolerance)) return std::nullopt;
  return Reducer(std::move(program), std::move(seen), runs, options, out).run();
}

}  // namespace kiln::tool
