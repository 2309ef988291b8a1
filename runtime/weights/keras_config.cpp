// Follows keras/src/saving/saving_lib.py, _save_container_state, and keras/src/utils/naming.py.
#include "runtime/weights/keras_config.h"

#include "core/types/text.h"
#include "runtime/files/json.h"

#include <kiln/error.h>

#include <cctype>
#include <utility>

namespace kiln::runtime {
namespace {

constexpr std::string_view kForward = "forward_", kBackward = "backward_";
constexpr std::pair<const char*, const char*> kAttention[] = {
    {"query", "query"}, {"key", "key"}, {"value", "value"}, {"output", "attention_output"}};

bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool is_lower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }

/// Puts "_" between a character and a capital with small letters after it: "Batch_Normalization".
std::string with_words_apart(std::string_view name) {
  std::string apart;
  std::size_t i = 0;
  while (i < name.size()) {
    apart += name[i++];
    if (i + 1 >= name.size() || !is_upper(name[i]) || !is_lower(name[i + 1])) continue;
    apart += '_';
    apart += name[i++];
    while (i < name.size() && is_lower(name[i])) apart += name[i++];
  }
  return apart;
}

/// "batch_normalization" of "BatchNormalization", "p_re_lu" of "PReLU".
std::string snake_case(std::string_view class_name) {
  std::string word;
  for (const char c : class_name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') word += c;
  }
  const std::string apart = with_words_apart(word);
  std::string snake;
  for (std::size_t i = 0; i < apart.size(); ++i) {
    if (i > 0 && is_lower(apart[i - 1]) && is_upper(apart[i])) snake += '_';
    snake += static_cast<char>(std::tolower(static_cast<unsigned char>(apart[i])));
  }
  return snake;
}

/// The member of an object; null without one.
const JsonValue* member(const JsonValue& object, const char* name) {
  if (!object.IsObject()) return nullptr;
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

std::string text_member(const JsonValue& object, const char* name) {
  const JsonValue* const value = member(object, name);
  return value != nullptr && value->IsString()
             ? std::string(value->GetString(), value->GetStringLength())
             : std::string();
}

class Groups {
 public:
  /// Adds the layers of a model's config.
  void add_model(const JsonValue& config, const std::string& path) {
    const JsonValue* const layers = member(config, "layers");
    if (layers == nullptr || !layers->IsArray()) return;
    std::map<std::string, std::size_t> counts;
    for (const JsonValue& layer : layers->GetArray()) {
      const std::string word = snake_case(text_member(layer, "class_name"));
      const std::size_t count = counts[word]++;
      const std::string group = count == 0 ? word : text(word, "_", count);
      add_layer(layer, text(path, path.empty() ? "" : "/", "layers/", group), "");
    }
  }

  KerasConfig take() { return std::move(config_); }

 private:
  /// Adds a layer and those within it. `name`: that of the layer; empty: that of its config.
  void add_layer(const JsonValue& layer, const std::string& path, std::string name) {
    const JsonValue* const config = member(layer, "config");
    if (config == nullptr) return;
    if (name.empty()) name = text_member(*config, "name");
    if (name.empty()) return;
    const std::string class_name = text_member(layer, "class_name");
    add(path, name);
    add_model(*config, path);
    if (class_name == "MultiHeadAttention") return add_attention(path);
    if (class_name == "LSTM" || class_name == "GRU" || class_name == "SimpleRNN") {
      add(path + "/cell", snake_case(class_name) + "_cell");
    }
    const JsonValue* const inner = member(*config, "layer");
    if (inner == nullptr) return;
    if (class_name == "Bidirectional") return add_directions(*inner, path);
    add_layer(*inner, path + "/layer", "");
  }

  void add_directions(const JsonValue& layer, const std::string& path) {
    const JsonValue* const config = member(layer, "config");
    if (config == nullptr) return;
    std::string name = text_member(*config, "name");
    if (name.starts_with(kForward)) name.erase(0, kForward.size());
    add_layer(layer, path + "/forward_layer", text(kForward, name));
    add_layer(layer, path + "/backward_layer", text(kBackward, name));
  }

  void add_attention(const std::string& path) {
    for (const auto& [group, name] : kAttention) {
      for (const char* begin : {"/_", "/"}) add(text(path, begin, group, "_dense"), name);
    }
  }

  void add(const std::string& path, const std::string& name) {
    const std::size_t position = config_.size();
    config_.try_emplace(path, KerasConfigLayer{name, position});
  }

  KerasConfig config_;
};

}  // namespace

KerasConfig read_keras_config(std::string_view config) {
  try {
    const JsonDocument json = parse_json(config, "config.json");
    Groups groups;
    if (const JsonValue* const model = member(json, "config")) groups.add_model(*model, "");
    return groups.take();
  } catch (const IoError&) {  // as for Python's NaN and Infinity
    return {};
  }
}

}  // namespace kiln::runtime
