// The public Function: takes feeds (call_inputs.h), then calls (call.h). Every error names the line
// of the user's call.
#include <kiln/function.h>

#include "core/k/base/context_impl.h"
#include "core/k/base/random_state_impl.h"
#include "core/k/base/sparse_impl.h"
#include "core/types/at_line.h"
#include "core/types/escaped_text.h"
#include "core/types/fp_environment.h"
#include "core/types/text.h"
#include "runtime/array/block_pool.h"
#include "runtime/array/small_blocks.h"
#include "runtime/distributed/group.h"
#include "runtime/distributed/session.h"
#include "runtime/dump/dump.h"
#include "runtime/function/call.h"
#include "runtime/function/call_inputs.h"
#include "runtime/function/collective_call.h"
#include "runtime/function/compile/build_graph.h"
#include "runtime/function/compile/replicas.h"
#include "runtime/function/compile/update_expressions.h"
#include "runtime/function/evaluate.h"
#include "runtime/function/function_program.h"
#include "runtime/function/measured_function.h"
#include "runtime/function/tensor_specs.h"

#include <algorithm>
#include <memory>

namespace kiln {

struct Function::Impl : runtime::FunctionProgram {
  std::shared_ptr<runtime::ProfileRecord> profile_record;  // null unless KILN_PROFILE is set
};

namespace {

using runtime::CompiledProgram;

inline const Function::Impl& require_compiled(const std::shared_ptr<const Function::Impl>& impl) {
  if (impl) return *impl;
  throw ValueError("Function", "",
                   "an empty Function is called: it was not created by K::function");
}

/// Keeps a function alive during its call if a print sink may drop the last handle. Other calls run
/// no user code and need no reference count.
inline std::shared_ptr<const Function::Impl> keep_during_call(
    const std::shared_ptr<const Function::Impl>& impl) {
  return require_compiled(impl).prints ? impl : nullptr;
}

/// Whether a partition calls functions of the host.
bool calls_host(const runtime::PartitionedProgram& programs) {
  const auto partition_calls_host = [](const runtime::ProgramPartition& partition) {
    return partition.program->program.calls_host;
  };
  return programs.last->program.calls_host ||
         std::any_of(programs.partitions.begin(), programs.partitions.end(), partition_calls_host);
}

/// Whether there are as many inputs as the program has, each of its dtype, and none of bools, whose
/// bytes are checked through views.
bool can_bind(const CompiledProgram& program, const std::vector<Array>& inputs) {
  if (inputs.size() != program.binding.count()) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const DType dtype = program.binding.type(i).dtype;
    if (inputs[i].dtype() != dtype || dtype == DType::Bool) return false;
  }
  return true;
}

/// Adds the program's inputs for the user's feeds. REQUIRES: the feeds outlive `arrays`.
template <class Input>
void add_feeds(const Function::Impl& impl, std::span<const Input> feeds,
               runtime::CallInputs& arrays) {
  const std::string& name = impl.programs.last->program.name;
  if (feeds.size() != impl.sparse.size()) {
    runtime::reject_input_count(name, impl.sparse.size(), feeds.size());
  }
  for (std::size_t i = 0; i < feeds.size(); ++i) {
    const auto& sparse = feeds[i].sparse();
    if (!impl.sparse[i]) {
      if (sparse) {
        throw TypeError(name, "inputs", text("inputs[", i, "] is dense but was fed a SparseArray"));
      }
      arrays.add(feeds[i].array());
    } else if (sparse) {
      runtime::add_parts(impl.programs.first(), *sparse, arrays);
    } else {
      runtime::add_parts(impl.programs.first(), feeds[i].array(), i, arrays);
    }
  }
}

template <class Input>
[[gnu::noinline]] std::vector<Array> call_with(const Function::Impl& impl,
                                               std::span<const Input> feeds) {
  runtime::CallInputs arrays(impl.programs.first());
  add_feeds(impl, feeds, arrays);
  return runtime::call(impl.programs, arrays.views());
}

/// Calls a function without sparse inputs by views of the inputs or of casts of them. ValueError
/// for a wrong number of inputs.
[[gnu::noinline]] std::vector<Array> call_by_views(const Function::Impl& impl,
                                                   std::span<const Array> inputs) {
  impl.programs.first().binding.check_count(inputs.size());
  runtime::CallInputs arrays(impl.programs.first());
  for (const Array& input : inputs) arrays.add(input);
  return runtime::call(impl.programs, arrays.views());
}

/// Returns work(), a call of the function at `where`, in the group of its collectives.
template <class Work>
std::vector<Array> in_group(const Function::Impl& impl, Where where, const Work& work) {
  const CompiledProgram& last = impl.programs.last->program;
  return runtime::call_in_group(last.collectives, last.name, where, work);
}

runtime::InstancePtr chosen_instance(const FunctionOptions& options) {
  if (options.backend.empty()) return runtime::current_instance(Call::function());
  return runtime::backend_instance(options.backend, Call::function());
}

/// Odd, so that ranks draw different numbers; rank 0 draws those of one process.
constexpr std::uint64_t kSeedOfRank = 0x9e3779b97f4a7c15u;

ArrayMemory array_memory() {
  const runtime::BlockPool::Counts counts = runtime::block_pool().counts();
  return {.used_bytes = static_cast<std::int64_t>(counts.used),
          .idle_bytes = static_cast<std::int64_t>(counts.idle),
          .fresh = counts.fresh,
          .reused = counts.reused,
          .small_idle_bytes = static_cast<std::int64_t>(runtime::SmallBlocks::idle_bytes())};
}

FunctionStats stats_of(const runtime::CallableProgram& callable) {
  const CompiledProgram& program = callable.program;
  const runtime::ExecutableInfo info = program.executable->info();
  const auto count = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  return {.compiles = program.is_cache_hit ? 0 : 1,
          .cache_hits = program.is_cache_hit ? 1 : 0,
          .compile_seconds = program.compile_seconds,
          .calls = callable.calls.calls(),
          .code_generations = count(info.code_generations),
          .bindings = count(info.bindings),
          .peak_bytes = count(info.planned_bytes),
          .live_bytes = count(info.live_bytes),
          .arrays = array_memory()};
}

Array evaluated(const ir::Graph& graph, Where where) {
  return at_line(where,
                 [&] { return runtime::evaluate(graph, runtime::current_instance("function")); });
}

}  // namespace

namespace runtime {
namespace {

/// "train.cpp:12", without the folder, in which machines may differ; "" for an unknown line.
std::string line_of(Where where) {
  const std::string_view file = where.file;
  return where.known() ? text(file.substr(file.rfind('/') + 1), ":", where.line) : "";
}

}  // namespace

Function compile_function(FunctionParts parts, const FunctionOptions& options, Where where) {
  const std::string name = options.name.empty() ? "function" : utf8_text(options.name);
  auto impl = std::make_shared<Function::Impl>();
  impl->sparse = std::move(parts.sparse);
  impl->has_sparse =
      std::find(impl->sparse.begin(), impl->sparse.end(), true) != impl->sparse.end();
  impl->output_names = std::move(parts.output_names);
  const std::shared_ptr<distributed::Group> world = distributed::current_world();
  const std::size_t rank = world ? world->place().rank : 0;
  distributed::UpdateExpressions updates;
  if (world && world->place().size > 1) {
    require_equal_updates(parts.graph);
    updates = update_expressions(parts.graph);
  }
  return at_line(where, [&] {
    const InstancePtr instance = chosen_instance(options);
    impl->backend = instance->plugin().id;
    impl->programs = compile_partitioned(
        parts.graph, name, instance, wanted_dumps(options.dump, options.dump_stages, name),
        {.optimize = options.optimize,
         .check_numerics = options.check_numerics,
         .random = options.random ? options.random : scoped_random_state(),
         .sparse = impl->sparse,
         .seed = rank * kSeedOfRank,
         .guards = std::move(parts.guards),
         .updates = std::move(updates),
         .phase = static_cast<std::uint64_t>(fixed_learning_phase().value_or(0)),
         .made_at = options.name.empty() ? line_of(where) : ""});
    impl->prints = calls_host(impl->programs);
    impl->profile_record = record_profile(impl->programs, impl->backend);
    return Function(std::move(impl));
  });
}

}  // namespace runtime

Function function(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                  const FunctionOptions& options, Where where) {
  return api_call("function", where, [&] {
    runtime::FunctionParts parts{.graph = runtime::build_graph(inputs, outputs, options.updates,
                                                               options.outputs_after_updates)};
    for (const Tensor& input : inputs) parts.sparse.push_back(sparse_of(input) != nullptr);
    for (const Tensor& output : outputs) parts.output_names.push_back(output.name());
    return runtime::compile_function(std::move(parts), options, where);
  });
}

Results<Array> Function::operator()(const std::vector<Array>& inputs, Where where) const {
  return translate_exceptions("Function", where, [&] {
    return at_line(where, [&] {
      const std::shared_ptr<const Impl> kept = keep_during_call(impl_);
      const Impl& impl = *impl_;
      return in_group(impl, where, [&] {
        if (impl.has_sparse) {
          const std::vector<Feed> feeds(inputs.begin(), inputs.end());
          return call_with(impl, std::span<const Feed>(feeds));
        }
        if (!can_bind(impl.programs.first(), inputs)) return call_by_views(impl, inputs);
        return runtime::call(impl.programs, std::span(inputs));
      });
    });
  });
}

Results<Array> Function::operator()(std::initializer_list<FeedRef> inputs, Where where) const {
  return translate_exceptions("Function", where, [&] {
    return at_line(where, [&] {
      const std::shared_ptr<const Impl> kept = keep_during_call(impl_);
      return in_group(*impl_, where, [&] {
        return call_with(*impl_, std::span<const FeedRef>(inputs.begin(), inputs.size()));
      });
    });
  });
}

Results<Array> Function::call_with_feeds(std::span<const Feed> inputs, Where where) const {
  return translate_exceptions("Function", where, [&] {
    return at_line(where, [&] {
      const std::shared_ptr<const Impl> kept = keep_during_call(impl_);
      return in_group(*impl_, where, [&] { return call_with(*impl_, inputs); });
    });
  });
}

Results<Array> Function::call_with_feeds(std::span<const SparseArray> inputs, Where where) const {
  return translate_exceptions("Function", where, [&] {
    const std::vector<Feed> feeds(inputs.begin(), inputs.end());
    return call_with_feeds(std::span<const Feed>(feeds), where);
  });
}

void Function::call_into(std::span<const ArrayView> inputs,
                         std::span<const MutableArrayView> outputs, Where where) const {
  translate_exceptions("call_into", where, [&] {
    at_line(where, [&] {
      const std::shared_ptr<const Impl> kept = keep_during_call(impl_);
      const CompiledProgram& last = impl_->programs.last->program;
      runtime::call_in_group(last.collectives, last.name, where,
                             [&] { runtime::call_into(impl_->programs, inputs, outputs); });
    });
  });
}

void Function::dump(const StringArgument& directory, Stage stages, Where where) const {
  translate_exceptions("dump", where, [&] {
    at_line(where, [&] {
      const ScopedFpEnvironment usual;
      const runtime::PartitionedProgram& programs = require_compiled(impl_).programs;
      for (std::size_t i = 0; i < programs.partitions.size(); ++i) {
        runtime::DumpFolder folder(runtime::partition_directory(directory, i), stages,
                                   {"dump", ""});
        runtime::dump_program(programs.partitions[i].program->program, folder);
      }
      runtime::DumpFolder folder(directory, stages, {"dump", ""});
      runtime::dump_program(programs.last->program, folder);
    });
  });
}

Profiler Function::profile(Where where) const {
  return api_call("profile", where, [&] {
    const Impl& impl = require_compiled(impl_);
    return Profiler(
        std::unique_ptr<Profiler::State>(new Profiler::State{{impl.programs, impl.backend}}));
  });
}

const std::string& Function::name() const& {
  return require_compiled(impl_).programs.last->program.name;
}
const std::string& Function::backend() const& { return require_compiled(impl_).backend; }

FunctionStats Function::stats() const {
  return api_call("stats", {}, [&] {
    const runtime::PartitionedProgram& programs = require_compiled(impl_).programs;
    FunctionStats stats = stats_of(*programs.last);
    for (const runtime::ProgramPartition& partition : programs.partitions) {
      const FunctionStats other = stats_of(*partition.program);
      stats.compiles += other.compiles;
      stats.cache_hits += other.cache_hits;
      stats.compile_seconds += other.compile_seconds;
      stats.code_generations += other.code_generations;
      stats.bindings += other.bindings;
      stats.peak_bytes = std::max(stats.peak_bytes, other.peak_bytes);
      stats.live_bytes = std::max(stats.live_bytes, other.live_bytes);
    }
    return stats;
  });
}

Results<TensorSpec> Function::inputs() const {
  return api_call("inputs", {}, [&] { return runtime::input_specs(require_compiled(impl_)); });
}

Results<TensorSpec> Function::outputs() const {
  return api_call("outputs", {}, [&] { return runtime::output_specs(require_compiled(impl_)); });
}

Results<Tensor> Function::variables() const {
  return api_call("variables", {}, [&] { return runtime::variables_of(require_compiled(impl_)); });
}

Array eval(const Tensor& x, Where where) {
  return api_call("eval", where, [&] {
    type_of(x);
    return evaluated(runtime::build_graph({}, {x}, {}), where);
  });
}

Array eval(const UpdateOp& x, Where where) {
  return api_call("eval", where,
                  [&] { return evaluated(runtime::build_graph({}, {x.value}, {x}), where); });
}

Variable variable(const Tensor& value, const VariableOptions& options, Where where) {
  return api_call("variable", where, [&] {
    value_of(value, "value");
    return variable(eval(value, where), options, where);
  });
}

}  // namespace kiln
