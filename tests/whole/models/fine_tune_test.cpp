// Trains the ONNX model of the page about files of other programs by the example program.
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "test_folders.h"

#include <kiln/k.h>
#include <kiln/model.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace kiln;
using testing::has;
using testing::Outcome;

namespace {

Outcome run(const testing::Scratch& scratch, const std::string& options) {
  return testing::run_shell("cd '" + scratch.folder() +
                            "' && '" KILN_BINARY_DIR "/bin/fine_tune' " + options);
}

double loss_after(const std::string& output, const std::string& step) {
  const std::string line = "step " + step + " loss ";
  const std::size_t at = output.find(line);
  REQUIRE(at != output.npos);
  return std::stod(output.substr(at + line.size()));
}

const std::string kFolder = std::string(KILN_SOURCE_DIR) + "/tests/whole/pages/";

/// The bright and dark images of the page; the wanted output is 1 at the label.
void write_data(const testing::Scratch& scratch) {
  const auto digits = load_arrays(kFolder + "digits.npz");
  std::vector<float> wanted;
  for (const std::int64_t label : digits.at("label").as<std::int64_t>()) {
    for (int i = 0; i < 10; ++i) wanted.push_back(i == label ? 1.f : 0.f);
  }
  const Array classes(wanted, {digits.at("label").dims()[0], 10});
  save_arrays(scratch.path("data.npz"), {{"image", digits.at("image")}, {"classes", classes}});
}

}  // namespace

TEST_CASE("fine_tune: the loss falls, and the model that it saves has the trained weights") {
  const testing::Scratch scratch;
  write_data(scratch);
  const std::string net = kFolder + "net.onnx";
  const Outcome trained =
      run(scratch, net + " --data data.npz --steps 50 --learning-rate 0.01 --save net.kiln");
  REQUIRE(trained.status == 0);
  CHECK(loss_after(trained.text, "50") < 0.5 * loss_after(trained.text, "1"));
  const Model saved = load_model(scratch.path("net.kiln"));
  const Array image = load_arrays(kFolder + "digits.npz").at("image");
  const Array classes = function(saved.inputs, saved.outputs)({image})[0];
  CHECK(classes.at<float>(0, 0) > 0.4f);
  CHECK(classes.at<float>(1, 1) > 0.4f);

  const Outcome lacks = run(scratch, net + " --data '" + kFolder + "digits.npz'");
  CHECK(lacks.status == 1);
  CHECK(has(lacks.text, "fine_tune: --data: "));
  CHECK(has(lacks.text, "has no array named 'classes'"));
}
