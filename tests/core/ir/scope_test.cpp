// Tests name scopes: their table, their texts, and the current one of a thread.
#include "tests/support/catch.h"
#include "tests/support/error_text.h"

#include "core/ir/scope.h"

#include <kiln/error.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace kiln;
using namespace kiln::ir;
using kiln::testing::error_text;

namespace {

constexpr Where kLine{"model.cpp", 10};

/// Scopes inside each other, from the outermost to the innermost, entered at line 1, 2, ..
const Scope* chain(const std::vector<const char*>& names) {
  const Scope* scope = nullptr;
  unsigned line = 0;
  for (const char* name : names) {
    scope = intern_scope({.name = name, .where = {"train.cpp", ++line}, .parent = scope});
  }
  return scope;
}

}  // namespace

TEST_CASE("name scopes: equal members are one scope") {
  const Scope* outer = chain({"encoder"});
  const std::string file = "train.cpp", name = "encoder";  // equal as text, at other addresses
  CHECK(intern_scope({.name = name, .where = {file.c_str(), 1}, .parent = nullptr}) == outer);
  CHECK(intern_scope({.name = "decoder", .where = {"train.cpp", 1}, .parent = nullptr}) != outer);
  CHECK(intern_scope({.name = name, .where = {"train.cpp", 2}, .parent = nullptr}) != outer);
  CHECK(intern_scope({.name = name, .where = {"other.cpp", 1}, .parent = nullptr}) != outer);
  CHECK(intern_scope({.name = name, .where = {"train.cpp", 1}, .parent = outer}) != outer);
}

TEST_CASE("name scopes: a full table records no new ones") {
  ScopeTable table(2);
  const Scope* outer = table.intern({.name = "a", .where = kLine});
  const Scope* inner = table.intern({.name = "b", .where = kLine, .parent = outer});
  CHECK(inner != outer);
  CHECK(table.intern({.name = "c", .where = kLine, .parent = inner}) == inner);
  CHECK(table.intern({.name = "c", .where = kLine}) == nullptr);
  CHECK(table.intern({.name = "b", .where = kLine, .parent = outer}) == inner);
}

TEST_CASE("name scopes: a scope that ends first ends those inside it, and none twice") {
  const auto enter = [](const char* name) {
    const Scope* scope = inner_scope(name, kLine);
    return std::pair(scope, enter_scope(scope));
  };
  const auto leave = [](const auto& entered) { leave_scope(entered.first, entered.second); };
  const auto outer = enter("outer"), middle = enter("middle"), inner = enter("inner");
  leave(middle);
  CHECK(scope_path(current_origin().scope) == "outer");
  const auto other = enter("other");
  leave(inner);
  CHECK(scope_path(current_origin().scope) == "outer/other");
  leave(outer);
  CHECK(current_origin().scope == nullptr);
  leave(other);
  leave(outer);
  CHECK(current_origin().scope == nullptr);
  const auto unrecorded = std::pair(outer.first, outer.first);  // by a full table
  enter_scope(outer.first);
  leave(unrecorded);
  CHECK(current_origin().scope == outer.first);
  leave(outer);
}

TEST_CASE("name scopes: threads that enter the same scopes get the same ones", "[concurrency]") {
  constexpr std::size_t kThreads = 8;
  std::vector<const Scope*> found(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&found, t] {
      for (int round = 0; round < 200; ++round) {
        const Scope* scope = chain({"threads", "layer", "attention"});
        if (round == 0) found[t] = scope;
        if (found[t] != scope) found[t] = nullptr;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Scope* scope : found) CHECK((scope != nullptr && scope == found[0]));
}

TEST_CASE("name scopes: path and depth") {
  CHECK(scope_path(nullptr).empty());
  CHECK(scope_depth(nullptr) == 0);
  CHECK(scope_path(chain({"encoder", "layer_2", "attention"})) == "encoder/layer_2/attention");
  CHECK(scope_depth(chain({"encoder", "layer_2", "attention"})) == 3);
}

TEST_CASE("name scopes: the text of an origin names the last two callers") {
  struct Row {
    std::vector<const char*> scopes;
    Where where;
    const char* text;
  };
  for (const Row& row : std::vector<Row>{
           {{}, kLine, "dot at model.cpp:10"},
           {{}, {}, "dot"},
           {{"a"}, {}, "dot in a (train.cpp:1)"},
           {{"a"}, kLine, "dot at model.cpp:10 in a (train.cpp:1)"},
           {{"a", "b"}, kLine, "dot at model.cpp:10 in a/b (train.cpp:2, train.cpp:1)"},
           {{"a", "b", "c"}, kLine, "dot at model.cpp:10 in a/b/c (train.cpp:3, train.cpp:2)"},
           // A layer enters its scope at the line of its nodes.
           {{"a", "b"}, {"train.cpp", 2}, "dot at train.cpp:2 in a/b (train.cpp:1)"},
           {{"a"}, {"train.cpp", 1}, "dot at train.cpp:1 in a"}}) {
    const Origin origin{.where = row.where, .function = "", .scope = chain(row.scopes)};
    CHECK(source_text(origin, "dot") == row.text);
  }
  const Origin named{.where = kLine, .function = "linear", .scope = nullptr};
  CHECK(source_text(named, "dot") == "linear at model.cpp:10");
}

TEST_CASE("name scopes: a K function keeps the current one, a pass takes that of a node") {
  enter_scope(inner_scope("outer", kLine));
  const Scope* outer = current_origin().scope;
  {
    const OriginScope call({kLine, "dense"});
    CHECK(current_origin().scope == outer);
    const Scope* inner = inner_scope("inner", kLine);
    CHECK(enter_scope(inner) == outer);
    CHECK(scope_path(current_origin().scope) == "outer/inner");
    {
      const OriginScope nested({kLine, "dot"});
      CHECK(std::string(current_origin().function) == "dense");
      CHECK(scope_path(current_origin().scope) == "outer/inner");
      const OriginScope callback(origin_of_callback(), /*replace=*/true);
      CHECK(std::string(current_origin().function).empty());
      CHECK(scope_path(current_origin().scope) == "outer/inner");
      const Scope* other = chain({"decoder"});
      const OriginScope of_node({kLine, "dot", other}, /*replace=*/true);
      CHECK(current_origin().scope == other);
    }
    const Scope* elsewhere = outer;
    std::thread([&] { elsewhere = current_origin().scope; }).join();
    CHECK(elsewhere == nullptr);
    leave_scope(inner, outer);
    CHECK(current_origin().scope == outer);
  }
  leave_scope(outer, nullptr);
  CHECK(current_origin().scope == nullptr);
}

TEST_CASE("name scopes: names are limited") {
  const auto error = [](const std::string& name) {
    return error_text<ValueError>([&] { inner_scope(name, kLine); });
  };
  CHECK(error("") == "name_scope: name is empty");
  CHECK(error("a\nb") == "name_scope: name has a control character");
  CHECK(error("a\xff") == "name_scope: name is not UTF-8");
  CHECK(error(std::string(256, 'a')) == "name_scope: name has 256 bytes, more than 255");
  CHECK(scope_path(inner_scope(std::string(255, 'a'), kLine)) == std::string(255, 'a'));
  CHECK(scope_path(inner_scope("K\xc3\xb6ln/a b", kLine)) == "K\xc3\xb6ln/a b");
  for (std::size_t i = 0; i < kMaxScopeDepth; ++i) enter_scope(inner_scope("deeper", kLine));
  CHECK(error("a") == "name_scope: more than 64 name scopes are inside each other");
  const OriginScope call({kLine, "Dense"});
  CHECK(error("") == "Dense: name is empty");
  enter_scope(nullptr);
}
