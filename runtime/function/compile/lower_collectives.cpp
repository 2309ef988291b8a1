// Each start takes the result of the one before as its position, which keeps the order.
#include "runtime/function/compile/lower_collectives.h"

#include "core/ir/location.h"
#include "core/ir/traverse.h"
#include "core/k/base/call.h"
#include "core/ops/build.h"
#include "core/ops/collective_payload.h"
#include "core/ops/lambda_builder.h"
#include "core/ops/new_collective.h"
#include "core/types/escaped_text.h"
#include "core/types/text.h"
#include "runtime/distributed/session.h"

#include <kiln/error.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace kiln::runtime {
namespace {

using ir::CollectiveAttrs;
using ir::CollectiveKind;
using ir::CollectiveReduction;
using ir::Node;
using ir::Op;
using ir::Value;

/// "rnn (model.cpp:30)".
std::string named(const Node& node) {
  const char* const function = node.origin.function;
  return text(*function == '\0' ? def(node).name : function, ir::location_suffix(node.origin));
}

[[noreturn]] void reject(const Node& node, const std::string& reason) {
  Call::not_implemented("", text(named(node), " ", reason));
}

/// The collective in a lambda of the node; null if there is none.
const Node* find_inside(const Node& node) {
  const Node* found = nullptr;
  ir::for_each_lambda(node, [&](const ir::Lambda& lambda) {
    for (const Node* inner : ir::topological_order(lambda.results)) {
      if (found == nullptr) found = inner->op == Op::Collective ? inner : find_inside(*inner);
    }
  });
  return found;
}

/// NotImplementedError for a collective inside of a loop or a branch.
void require_none_inside(const ir::Graph& graph) {
  for (const Node* node : ir::topological_order(graph.roots())) {
    const Node* inner = find_inside(*node);
    if (inner == nullptr) continue;
    reject(*inner, text("is inside a step or a branch of ", named(*node),
                        "; ranks could run it a different number of times"));
  }
}

std::shared_ptr<distributed::Group> group_of(const CollectiveAttrs& attrs) {
  const std::shared_ptr<distributed::Group> world = distributed::current_world();
  if (!world) {
    Call::value_error("", text("the graph has collectives of ", attrs.ranks,
                               " ranks, but this process is in no group; call "
                               "K::distributed::init() first"));
  }
  const bool is_of_all = attrs.group == 0 || world->place().size == 1;
  std::shared_ptr<distributed::Group> group = is_of_all ? world : world->numbered(attrs.group);
  if (!group) {
    Call::value_error("", text("the graph has collectives of group ", attrs.group,
                               ", which this process has not split"));
  }
  const auto size = static_cast<std::int64_t>(group->place().size);
  if (size != attrs.ranks) {
    Call::value_error(
        "", text("the graph has collectives of ", attrs.ranks, " ranks, this group has ", size));
  }
  return group;
}

CollectiveMember member_of(const Node& node, std::span<const ir::Symbol> symbols) {
  CollectiveMember member{.type = node.operands[0].type(), .place = ir::location_of(node.origin)};
  for (const ir::Dim& dim : member.type.dims) {
    if (!member.sizes.emplace_back(dim, symbols).is_bound()) {
      reject(node, text("takes ", member.type, ", of which a size is known only at run time"));
    }
  }
  return member;
}

std::unordered_set<const Node*> nodes_of(std::span<const Value> values) {
  const std::vector<const Node*> order = ir::topological_order(values);
  return {order.begin(), order.end()};
}

bool is_of_ranks(const Node& node) {
  return node.op == Op::Collective && !ir::is_of_one_process(node.as<CollectiveAttrs>());
}

std::int64_t id_of(const Node& collective) { return collective.as<CollectiveAttrs>().id; }

CollectiveAttrs without_id(const Node& collective) {
  CollectiveAttrs attrs = collective.as<CollectiveAttrs>();
  attrs.id = 0;
  return attrs;
}

/// The collectives of several ranks that the node depends on.
std::vector<const Node*> collectives_before(const Node& node) {
  std::vector<const Node*> found;
  for (const Node* one : ir::topological_order(node.operands)) {
    if (is_of_ranks(*one)) found.push_back(one);
  }
  return found;
}

/// Collectives that run as one.
class Bucket {
 public:
  explicit Bucket(const Node& first) : members_{&first} {
    const ir::Type& type = first.operands[0].type();
    bytes_ = first.as<CollectiveAttrs>().kind == CollectiveKind::AllReduce ? static_bytes(type)
                                                                           : std::nullopt;
  }

  const std::vector<const Node*>& members() const { return members_; }
  const CollectiveAttrs& attrs() const { return members_[0]->as<CollectiveAttrs>(); }

  /// Adds the collective if it may run with the others, in at most `limit` bytes.
  bool add(const Node& node, std::size_t limit) {
    const ir::Type& type = node.operands[0].type();
    const std::optional<std::size_t> bytes = static_bytes(type);
    const bool fits = bytes && bytes_ && *bytes + *bytes_ <= limit &&
                      without_id(node) == without_id(*members_[0]) &&
                      type.dtype == members_[0]->operands[0].dtype() &&
                      !is_in(nodes_of(node.operands));
    if (!fits) return false;
    members_.push_back(&node);
    *bytes_ += *bytes;
    return true;
  }

  /// Whether one of the members is among the nodes.
  bool is_in(const std::unordered_set<const Node*>& nodes) const {
    return std::any_of(members_.begin(), members_.end(),
                       [&](const Node* member) { return nodes.count(member) != 0; });
  }

 private:
  std::vector<const Node*> members_;
  std::optional<std::size_t> bytes_;  // none: takes no other
};

std::vector<Bucket> buckets_of(const ir::Graph& graph, std::size_t limit) {
  std::vector<Bucket> buckets;
  for (const Node* node : collectives_in_order(graph)) {
    if (buckets.empty() || !buckets.back().add(*node, limit)) buckets.emplace_back(*node);
  }
  return buckets;
}

/// Replaces buckets by their starts and waits, in their order.
class Lowering {
 public:
  explicit Lowering(const std::vector<Bucket>& buckets) : buckets_(buckets) {}

  ir::Graph run(const ir::Graph& graph) {
    for (std::size_t i = 0; i < buckets_.size(); ++i) start(i);
    for (const std::size_t i : std::exchange(under_way_, {})) wait(i);
    return ir::replace_values(graph, results_);
  }

 private:
  static Value call_host(const Node& node, const char* function, std::size_t number,
                         std::vector<Value> operands, std::vector<ir::Type> results) {
    const ir::OriginScope origin(node.origin, /*replace=*/true);
    return ir::make(Op::HostCall,
                    ir::HostCallAttrs{.function = function,
                                      .payload = ir::encode({static_cast<std::int64_t>(number),
                                                             node.as<CollectiveAttrs>()}),
                                      .results = std::move(results)},
                    std::move(operands));
  }

  void start(std::size_t i) {
    const Bucket& bucket = buckets_[i];
    std::vector<Value> operands;
    for (const Node* member : bucket.members()) operands.push_back(member->operands[0]);
    const std::unordered_set<const Node*> nodes = nodes_of(operands);
    std::erase_if(under_way_, [&](std::size_t earlier) {
      const bool is_needed = buckets_[earlier].is_in(nodes);
      if (is_needed) wait(earlier);
      return is_needed;
    });
    operands = ir::replace_values(operands, results_);
    operands.insert(operands.begin(), position_);
    position_ = call_host(*bucket.members()[0], "collective_start", i, std::move(operands),
                          {position_.type()});
    under_way_.push_back(i);
  }

  void wait(std::size_t i) {
    std::vector<ir::Type> types;
    for (const Node* member : buckets_[i].members()) types.push_back(member->types[0]);
    const Value first =
        call_host(*buckets_[i].members()[0], "collective_wait", i, {position_}, std::move(types));
    for (std::uint32_t k = 0; k < buckets_[i].members().size(); ++k) {
      results_.emplace(buckets_[i].members()[k]->result(), Value{first.node, k});
    }
  }

  const std::vector<Bucket>& buckets_;
  Value position_ = ir::scalar_constant_int(DType::Int64, 0);  // result of the last start
  std::vector<std::size_t> under_way_;
  ir::Replacements results_;
};

const char* name_of(const CollectiveAttrs& attrs) {
  switch (attrs.kind) {
    case CollectiveKind::AllReduce:
      switch (attrs.reduction) {
        case CollectiveReduction::Sum: return "all_reduce sum";
        case CollectiveReduction::Max: return "all_reduce max";
        case CollectiveReduction::Min: return "all_reduce min";
      }
      break;
    case CollectiveKind::AllGather: return "all_gather";
    case CollectiveKind::ReduceScatter: return "reduce_scatter";
    case CollectiveKind::Broadcast: return "broadcast";
    case CollectiveKind::Reduce: return "reduce";
  }
  return "collective";
}

constexpr std::size_t kBucket = std::size_t{4} << 20;

}  // namespace

std::optional<std::size_t> static_bytes(const ir::Type& type) {
  std::size_t bytes = dtype_bytes(type.dtype);
  for (const ir::Dim& dim : type.dims) {
    if (!dim.is_static()) return std::nullopt;
    bytes *= static_cast<std::size_t>(dim.value());
  }
  return bytes;
}

std::string ProgramCollective::kind_text() const {
  std::string name = name_of(attrs);
  if (attrs.group != 0) name += text(" in group ", attrs.group);  // its parts may differ in size
  switch (attrs.kind) {
    case CollectiveKind::AllReduce: return name;
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter: return text(name, " axis ", attrs.axis);
    case CollectiveKind::Broadcast:
    case CollectiveKind::Reduce: return text(name, " of rank ", attrs.root);
  }
  return name;
}

std::size_t bucket_bytes() {
  const char* given = std::getenv("KILN_DISTRIBUTED_BUCKET");
  if (given == nullptr || *given == '\0') return kBucket;
  std::size_t bytes = 0;
  const char* end = given + std::strlen(given);
  const auto [parsed, error] = std::from_chars(given, end, bytes);
  if (error == std::errc() && parsed == end) return bytes;
  throw ConfigError(
      "function", "KILN_DISTRIBUTED_BUCKET",
      text("KILN_DISTRIBUTED_BUCKET is '", escaped_text(given), "' but must be a number of bytes"));
}

std::vector<const Node*> collectives_in_order(const ir::Graph& graph) {
  std::vector<const Node*> left;
  for (const Node* node : ir::topological_order(graph.roots())) {
    if (is_of_ranks(*node)) left.push_back(node);
  }
  std::stable_sort(left.begin(), left.end(),
                   [](const Node* a, const Node* b) { return id_of(*a) < id_of(*b); });
  std::unordered_map<const Node*, std::vector<const Node*>> needed;
  for (const Node* node : left) needed.emplace(node, collectives_before(*node));
  std::vector<const Node*> nodes;
  std::unordered_set<const Node*> done;
  while (!left.empty()) {
    const auto next = std::find_if(left.begin(), left.end(), [&](const Node* node) {
      const std::vector<const Node*>& before = needed.at(node);
      return std::all_of(before.begin(), before.end(),
                         [&](const Node* one) { return done.count(one) != 0; });
    });
    nodes.push_back(*next);
    done.insert(*next);
    left.erase(next);
  }
  return nodes;
}

std::vector<std::int64_t> collective_ids(const ir::Graph& graph) {
  std::vector<std::int64_t> ids;
  for (const Node* node : collectives_in_order(graph)) ids.push_back(id_of(*node));
  return ids;
}

ir::Graph lower_collectives(const ir::Graph& graph, std::span<const std::int64_t> written,
                            std::span<const ir::Symbol> symbols, std::size_t bucket,
                            ProgramCollectives& collectives) {
  require_none_inside(graph);
  const std::vector<Bucket> buckets = buckets_of(graph, bucket);
  if (buckets.empty()) return graph;
  bool is_of_one_group = true;
  for (const Bucket& one : buckets) {
    const std::shared_ptr<distributed::Group> group = group_of(one.attrs());
    ProgramCollective& added = collectives.list.emplace_back(
        ProgramCollective{one.attrs(), {}, std::make_shared<distributed::CollectiveRunner>(group)});
    for (const Node* node : one.members()) {
      added.members.push_back(member_of(*node, symbols));
      const auto found = std::find(written.begin(), written.end(), id_of(*node));
      added.members.back().number = static_cast<std::size_t>(found - written.begin());
    }
    is_of_one_group = is_of_one_group && one.attrs().group == buckets[0].attrs().group;
    collectives.group = is_of_one_group ? group : distributed::current_world();
  }
  return Lowering(buckets).run(graph);
}

}  // namespace kiln::runtime
