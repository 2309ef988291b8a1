// broadcast_variables and require_equal: values travel in chunks, so that a variable of any size
// needs little memory besides its new value.
#include <kiln/distributed.h>

#include "core/ir/attrs.h"
#include "core/k/base/tensor_impl.h"
#include "core/types/exception_text.h"
#include "runtime/array/array_memory.h"
#include "runtime/array/array_text.h"
#include "runtime/distributed/group.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

namespace kiln::distributed {
namespace {

using runtime::distributed::Channel;
using runtime::distributed::Finding;
using runtime::distributed::HeadKind;
using runtime::distributed::kTransferChunk;
using runtime::distributed::Operation;

std::span<const std::byte> bytes_of(const Array& array) {
  return {static_cast<const std::byte*>(array.data()), array.bytes()};
}

std::string name_of(const Tensor& variable) {
  const ir::Value value = value_of(variable, "variables");
  if (value.node->op == ir::Op::Variable) {
    return text("'", value.node->as<ir::VariableAttrs>().name, "'");
  }
  Call::type_error("variables", text("variables holds ", variable, ", which is not a variable"));
}

/// An operation on variables, and their values on this rank.
struct VariablesOperation {
  Operation operation;
  std::vector<std::string> names = {};  // quoted
  std::vector<Array> own = {};

  /// A rank that cannot take part says so in the operation.
  VariablesOperation(HeadKind kind, const char* function, const std::vector<Tensor>& variables,
                     Where where)
      : operation(kind, function, where) {
    operation.item = "variable";
    operation.attempt([&] {
      for (const Tensor& variable : variables) {
        names.push_back(name_of(variable));
        operation.items.push_back(text(names.back(), " ", value_of(variable, "variables").type()));
      }
      for (Array& value : batch_get_value(variables, where)) own.push_back(std::move(value));
    });
    for (const Array& value : own) {
      operation.bytes = std::max(operation.bytes, std::min(value.bytes(), kTransferChunk));
    }
  }

  /// Memory for the values of the root; none for an operation that fails.
  std::vector<std::pair<Tensor, Array>> new_values(const std::vector<Tensor>& variables) {
    return operation.attempt([&] {
      std::vector<std::pair<Tensor, Array>> values;
      for (std::size_t i = 0; i < own.size(); ++i) {
        values.emplace_back(variables[i],
                            runtime::uninitialised_array(own[i].dims(), own[i].dtype()));
      }
      return values;
    });
  }
};

/// Calls take(offset, chunk) with the root's bytes of a value.
template <class Take>
void receive(Channel& channel, std::size_t root, const Array& own, const Take& take) {
  const auto bytes = bytes_of(own);
  for (std::size_t at = 0; at < bytes.size(); at += kTransferChunk) {
    take(at,
         channel.broadcast(root, bytes.subspan(at, std::min(kTransferChunk, bytes.size() - at))));
  }
}

std::string element_text(DType dtype, std::span<const std::byte> element) {
  return runtime::array_text({dtype, {}, const_cast<std::byte*>(element.data())});
}

/// Compares chunks of the root with a value, and finds the first element that differs.
class Comparison {
 public:
  explicit Comparison(const Array& own) : own_(own) {}

  void take(std::size_t offset, std::span<const std::byte> chunk) {
    if (!difference_.empty()) return;
    const auto bytes = bytes_of(own_).subspan(offset, chunk.size());
    const auto found = std::mismatch(chunk.begin(), chunk.end(), bytes.begin()).first;
    if (found == chunk.end()) return;
    const std::size_t size = dtype_bytes(own_.dtype());
    const std::size_t in_chunk = static_cast<std::size_t>(found - chunk.begin()) / size;
    const auto element_of = [&](std::span<const std::byte> elements) {
      return element_text(own_.dtype(), elements.subspan(in_chunk * size, size));
    };
    const std::string index = runtime::index_text(own_.dims(), offset / size + in_chunk);
    difference_ = text(index.empty() ? "its value" : "element ", index, " is ", element_of(bytes),
                       " there and ", element_of(chunk), " on rank 0");
  }
  const std::string& difference() const { return difference_; }

 private:
  const Array& own_;
  std::string difference_;  // empty: none so far
};

}  // namespace

void broadcast_variables(const std::vector<Tensor>& variables,
                         const BroadcastVariablesOptions& options, Where where) {
  api_call("broadcast_variables", where, [&] {
    const Group group = world(where);
    const std::int64_t root = options.root;
    VariablesOperation given(HeadKind::BroadcastVariables, "broadcast_variables", variables, where);
    given.operation.attempt([&] {
      if (root >= 0 && root < group.size()) return;
      Call::value_error("root", text("root is ", root, " of ", group.size(), " ranks"));
    });
    given.operation.call += text(" from rank ", root);
    given.operation.detail = static_cast<std::uint64_t>(root);
    std::vector<std::pair<Tensor, Array>> values = given.new_values(variables);
    group.impl().run(given.operation, [&](Channel& channel) {
      for (std::size_t i = 0; i < given.own.size(); ++i) {
        auto* to = static_cast<std::byte*>(runtime::fill_address(values[i].second));
        receive(channel, static_cast<std::size_t>(root), given.own[i],
                [&](std::size_t offset, std::span<const std::byte> chunk) {
                  std::memcpy(to + offset, chunk.data(), chunk.size());
                });
      }
    });
    if (group.size() == 1) return;
    try {
      batch_set_value(values, where);
    } catch (const std::exception& error) {
      group.impl().break_up(given.operation, text("rank ", group.rank(),
                                                  " could not set values that were agreed on, "
                                                  "so that variables may differ: ",
                                                  exception_text(error)));
      throw;
    }
  });
}

void require_equal(const std::vector<Tensor>& variables, Where where) {
  api_call("require_equal", where, [&] {
    const Group group = world(where);
    VariablesOperation given(HeadKind::RequireEqual, "require_equal", variables, where);
    group.impl().run(given.operation, [&](Channel& channel) {
      std::string finding;
      for (std::size_t i = 0; i < given.own.size(); ++i) {
        Comparison comparison(given.own[i]);
        receive(channel, 0, given.own[i], [&](std::size_t offset, auto chunk) {
          if (finding.empty()) comparison.take(offset, chunk);
        });
        if (!finding.empty() || comparison.difference().empty()) continue;
        finding = text(given.names[i], " differs on rank ", channel.place().rank, ": ",
                       comparison.difference());
      }
      if (!finding.empty()) throw Finding(finding);
    });
  });
}

}  // namespace kiln::distributed
