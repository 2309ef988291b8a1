// The intern table: sharded by hash, one mutex per shard. It holds weak pointers: a node with a
// count of zero is about to be freed, and find() never revives it. Nodes are freed without
// recursion. fork() holds all shards.
#include "core/ir/intern.h"

#include "core/ir/attrs_hash.h"
#include "core/ir/lambda.h"
#include "core/ir/scope.h"
#include "core/types/fork.h"
#include "core/types/no_destructor.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>

namespace kiln::ir {
namespace {

std::size_t hash_node(Op op, const Attrs& attrs, std::span<const Value> operands) {
  std::size_t hash = ir::hash(attrs) * 31 + static_cast<std::size_t>(op);
  for (const Value& operand : operands) hash = hash * 1000003 + ValueHash()(operand);
  return hash;
}

}  // namespace

class InternTable {
 public:
  static InternTable& global();

  NodeRef find(Op op, const Attrs& attrs, std::span<const Value> operands, Origin origin);
  NodeRef intern(Op op, Attrs attrs, std::vector<Value> operands, std::vector<Type> types,
                 Origin origin);
  /// Frees a node whose count fell to zero and, iteratively, the operands that only it referred to.
  void release(const Node* node);
  std::size_t size();
  std::vector<Origin> origins_of(const Node& node);
  void lock();
  void unlock();

 private:
  struct Shard {
    ForkMutex mutex;
    std::unordered_multimap<std::size_t, const Node*> nodes;
  };
  struct Delete {
    void operator()(const Node* node) const { delete node; }
  };
  struct Key {
    Op op;
    const Attrs* attrs;
    std::span<const Value> operands;
    std::size_t hash;
  };

  static bool equal(const Node& node, const Key& key);
  NodeRef find(Shard& shard, const Key& key, Origin origin);
  static void note_origin(const Node& node, Origin origin);
  Shard& shard_of(std::size_t hash) { return shards_[(hash ^ (hash >> 17)) % shards_.size()]; }

  std::array<Shard, 64> shards_;
};

namespace {

KILN_AT_LOAD NoDestructor<InternTable> process_table;

void unlock_table() { process_table->unlock(); }
[[maybe_unused]] const bool is_table_held =
    ::pthread_atfork([] { process_table->lock(); }, unlock_table, unlock_table) == 0;

}  // namespace

InternTable& InternTable::global() { return *process_table; }

void InternTable::lock() {
  for (Shard& shard : shards_) shard.mutex.lock();
}

void InternTable::unlock() {
  for (Shard& shard : shards_) shard.mutex.unlock();
}

bool InternTable::equal(const Node& node, const Key& key) {
  return node.op == key.op && node.operands.size() == key.operands.size() &&
         std::equal(key.operands.begin(), key.operands.end(), node.operands.begin()) &&
         node.attrs == *key.attrs;
}

NodeRef InternTable::find(Shard& shard, const Key& key, Origin origin) {
  const auto [begin, end] = shard.nodes.equal_range(key.hash);
  for (auto it = begin; it != end; ++it) {
    const Node& node = *it->second;
    if (!equal(node, key)) continue;
    // A count of zero: another thread is in release() and needs this shard's mutex to remove it.
    std::uint32_t count = node.references_.load(std::memory_order_relaxed);
    while (count != 0 && !node.references_.compare_exchange_weak(count, count + 1)) {
    }
    if (count == 0) continue;
    note_origin(node, origin);
    return NodeRef(&node);
  }
  return {};
}

void InternTable::note_origin(const Node& node, Origin origin) {
  if (!origin.where.known() || same_scoped_origin(node.origin, origin)) return;
  for (const Origin& known : node.more_origins_) {
    if (same_scoped_origin(known, origin)) return;
  }
  if (node.more_origins_.size() + 1 >= kMaxOrigins) return;
  try {
    node.more_origins_.push_back(origin);
  } catch (const std::bad_alloc&) {  // messages then name one line fewer
  }
}

NodeRef InternTable::find(Op op, const Attrs& attrs, std::span<const Value> operands,
                          Origin origin) {
  const Key key{
      .op = op, .attrs = &attrs, .operands = operands, .hash = hash_node(op, attrs, operands)};
  Shard& shard = shard_of(key.hash);
  const std::lock_guard lock(shard.mutex);
  return find(shard, key, origin);
}

NodeRef InternTable::intern(Op op, Attrs attrs, std::vector<Value> operands,
                            std::vector<Type> types, Origin origin) {
  const std::size_t hash = hash_node(op, attrs, operands);
  Shard& shard = shard_of(hash);
  {
    const Key key{.op = op, .attrs = &attrs, .operands = operands, .hash = hash};
    const std::lock_guard lock(shard.mutex);
    if (NodeRef found = find(shard, key, origin)) return found;
  }
  // Constructed and, after a failure, freed without the lock: what a node holds may be freed with
  // it, for which release() takes the lock.
  std::unique_ptr<const Node, Delete> node(
      new Node(op, std::move(attrs), std::move(operands), std::move(types), origin, hash));
  const std::lock_guard lock(shard.mutex);
  const Key key{.op = op, .attrs = &node->attrs, .operands = node->operands, .hash = hash};
  if (NodeRef found = find(shard, key, origin)) return found;
  shard.nodes.emplace(hash, node.get());
  return NodeRef(node.release());
}

void InternTable::release(const Node* node) {
  // The worklist is linked through the nodes themselves: a destructor must not allocate.
  thread_local const Node** t_pending = nullptr;
  if (t_pending) {  // called by the destructor of a user below: the loop there frees this node
    node->next_released_ = *t_pending;
    *t_pending = node;
    return;
  }
  const Node* pending = node;
  t_pending = &pending;
  while (pending) {
    const Node* next = pending;
    pending = next->next_released_;
    Shard& shard = shard_of(next->hash_);
    {
      const std::lock_guard lock(shard.mutex);
      const auto [begin, end] = shard.nodes.equal_range(next->hash_);
      const auto entry = std::find_if(begin, end, [&](const auto& e) { return e.second == next; });
      if (entry != end) shard.nodes.erase(entry);
    }
    delete next;
  }
  t_pending = nullptr;
}

std::size_t InternTable::size() {
  std::size_t count = 0;
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    count += shard.nodes.size();
  }
  return count;
}

std::vector<Origin> InternTable::origins_of(const Node& node) {
  std::vector<Origin> all{node.origin};
  const std::lock_guard lock(shard_of(node.hash_).mutex);
  all.insert(all.end(), node.more_origins_.begin(), node.more_origins_.end());
  return all;
}

std::vector<Origin> origins(const Node& node) { return InternTable::global().origins_of(node); }

NodeRef find_interned(Op op, const Attrs& attrs, std::span<const Value> operands, Origin origin) {
  return InternTable::global().find(op, attrs, operands, origin);
}

NodeRef intern(Op op, Attrs attrs, std::vector<Value> operands, std::vector<Type> types,
               Origin origin) {
  return InternTable::global().intern(op, std::move(attrs), std::move(operands), std::move(types),
                                      origin);
}

std::size_t live_node_count() { return InternTable::global().size(); }

void NodeRef::release(const Node* node) { InternTable::global().release(node); }

}  // namespace kiln::ir
