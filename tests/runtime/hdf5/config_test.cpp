// Groups of Keras 3's files that the config of a model names.
#include "runtime/weights/keras_config.h"
#include "tests/support/catch.h"

#include <string>
#include <vector>

using kiln::runtime::KerasConfig;
using kiln::runtime::read_keras_config;

namespace {

std::string layer(const std::string& class_name, const std::string& config) {
  return R"({"class_name": ")" + class_name + R"(", "config": {)" + config + "}}";
}

std::string model(const std::string& layers) {
  return layer("Sequential", R"("name": "net", "layers": [)" + layers + "]");
}

/// "group name" in the order of weights.
std::vector<std::string> groups_of(const std::string& config) {
  const KerasConfig groups = read_keras_config(config);
  std::vector<std::string> lines(groups.size());
  for (const auto& [group, layer] : groups) lines.at(layer.position) = group + " " + layer.name;
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("Keras config: groups have the names of classes, numbered in order") {
  // As keras/src/utils/naming.py, to_snake_case, names them.
  const std::pair<const char*, const char*> rows[] = {{"Dense", "dense"},
                                                      {"Conv2D", "conv2d"},
                                                      {"Conv2DTranspose", "conv2d_transpose"},
                                                      {"DepthwiseConv2D", "depthwise_conv2d"},
                                                      {"BatchNormalization", "batch_normalization"},
                                                      {"MultiHeadThing", "multi_head_thing"},
                                                      {"PReLU", "p_re_lu"},
                                                      {"HTTPServer", "http_server"},
                                                      {"My-Layer", "my_layer"},
                                                      {"A", "a"},
                                                      {"", ""}};
  for (const auto& [name, group] : rows) {
    CHECK(groups_of(model(layer(name, R"("name": "x")"))) ==
          Lines{std::string("layers/") + group + " x"});
  }
  const std::string b = layer("Dense", R"("name": "b")"), f = layer("Flatten", R"("name": "f")"),
                    a = layer("Dense", R"("name": "a")");
  CHECK(groups_of(model(b + "," + f + "," + a)) ==
        Lines{"layers/dense b", "layers/flatten f", "layers/dense_1 a"});
}

TEST_CASE("Keras config: layers within layers") {
  const std::string lstm = layer("LSTM", R"("name": "forward_cells")");
  CHECK(groups_of(model(layer("Bidirectional", R"("name": "both", "layer": )" + lstm))) ==
        Lines{"layers/bidirectional both", "layers/bidirectional/forward_layer forward_cells",
              "layers/bidirectional/forward_layer/cell lstm_cell",
              "layers/bidirectional/backward_layer backward_cells",
              "layers/bidirectional/backward_layer/cell lstm_cell"});
  const std::string dense = layer("Dense", R"("name": "last")");
  CHECK(groups_of(model(layer("TimeDistributed", R"("name": "each", "layer": )" + dense))) ==
        Lines{"layers/time_distributed each", "layers/time_distributed/layer last"});
  CHECK(groups_of(model(layer("Functional", R"("name": "inner", "layers": [)" + dense + "]"))) ==
        Lines{"layers/functional inner", "layers/functional/layers/dense last"});
}

TEST_CASE("Keras config: texts that name no layers") {
  for (const char* config :
       {"", "{", "[]", "3", "{}", R"({"config": {"layers": 3}})", R"({"config": {"layers": [3]}})",
        R"({"config": {"layers": [{"class_name": 3, "config": []}]}})",
        R"({"config": {"layers": [{"class_name": "Dense", "config": {"name": 3}}]}})",
        R"({"config": {"layers": [{"class_name": "Dense", "config": {"rate": Infinity}}]}})"}) {
    INFO(config);
    CHECK(groups_of(config).empty());
  }
}
