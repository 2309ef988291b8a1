// The weak table behind node interning: it finds live nodes by structure and does not keep them
// alive. Sharded by hash, one mutex a shard.
#pragma once

#include "core/ir/node.h"

#include <array>
#include <mutex>
#include <unordered_map>

namespace kiln::ir {

class InternTable {
 public:
  static InternTable& global();

  NodeRef find(Op op, const Attrs& attrs, std::span<const Value> operands, Origin origin);
  NodeRef intern(Op op, Attrs attrs, std::vector<Value> operands, std::vector<Type> types,
                 Origin origin);
  /// Frees a node whose count fell to zero, and iteratively what only it kept alive.
  void release(const Node* node);
  std::size_t size();
  std::vector<Origin> origins_of(const Node& node);

 private:
  struct Shard {
    std::mutex mutex;
    std::unordered_multimap<std::size_t, const Node*> nodes;
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

}  // namespace kiln::ir
