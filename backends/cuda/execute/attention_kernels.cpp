// Depths are static in every attention that the backend claims.
#include "backends/cuda/execute/attention_kernels.h"

#include "backends/cuda/execute/compile_kernels.h"
#include "backends/cuda/execute/dump_sass.h"
#include "core/ops/op.h"
#include "core/ops/halves.h"
#include "core/types/text.h"

#include <algorithm>
#include <set>

namespace kiln::cuda {
namespace {

void add_forms(const codegen::Plan& plan, std::set<AttentionForm>& forms) {
  for (const codegen::Step& step : plan.steps) {
    const auto* attention = std::get_if<codegen::AttentionStep>(&step);
    if (attention != nullptr && !ir::is_half(attention->node->operands[0].dtype())) {
      const ir::Node& node = *attention->node;
      forms.insert(attention_form(node.op == ir::Op::AttentionGradient,
                                  node.operands[0].dims().back().value(),
                                  node.operands[2].dims().back().value()));
    }
    if (const auto* loop = std::get_if<codegen::LoopStep>(&step)) add_forms(*loop->body, forms);
    if (const auto* branch = std::get_if<codegen::BranchStep>(&step)) {
      for (const auto& body : branch->branches) add_forms(*body, forms);
    }
  }
}

}  // namespace

const AttentionKernels::Functions& AttentionKernels::of(const AttentionForm& form) const {
  const std::lock_guard lock(mutex_);
  const auto found = loaded_.find(form);
  if (found != loaded_.end()) return found->second.functions;
  const int architecture = code_architecture(*compiler_, device_->identity().compute_capability);
  const api::CompiledText compiled =
      compiler_->compile(attention_text(form), architecture, "attention.cu");
  Loaded loaded{std::make_unique<const LoadedCode>(device_, compiled.cubin), {}};
  for (AttentionFunction& function : attention_functions(form)) {
    const api::FunctionHandle handle = loaded.code->function(function.name);
    loaded.functions.push_back({std::move(function), handle});
  }
  return loaded_.emplace(form, std::move(loaded)).first->second.functions;
}

std::vector<AttentionForm> attention_forms(const codegen::Plan& plan) {
  std::set<AttentionForm> forms;
  add_forms(plan, forms);
  return {forms.begin(), forms.end()};
}

void dump_attention(const codegen::Plan& plan, const api::Compiler& compiler, int architecture,
                    const codegen::Dumps& dumps, const sdk::Host& host) {
  for (const AttentionForm& form : attention_forms(plan)) {
    const std::string name = text("attention", form.is_gradient ? "_gradient_" : "_", form.width);
    const std::string source = attention_text(form);
    dumps.hand_over("cuda_c", name, [&] { return source; });
    if (!dumps.wanted("ptx") && !dumps.wanted("sass")) continue;
    const api::CompiledText compiled = compiler.compile(source, architecture, name + ".cu");
    dumps.hand_over("ptx", name, [&] { return compiled.ptx; });
    dump_sass({{compiled.cubin, {}}}, compiler, dumps, host, name);
  }
}

}  // namespace kiln::cuda
