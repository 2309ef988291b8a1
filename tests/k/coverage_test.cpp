// Checks that every function that the headers of these groups declare has a row of values.
#include "tests/support/catch.h"
#include "tests/k/row.h"
#include "test_folders.h"

#include <fstream>
#include <regex>
#include <set>
#include <string>

namespace kiln::test {
namespace {

std::set<std::string> declared(const std::string& header) {
  std::ifstream file(KILN_SOURCE_DIR "/core/kiln/" + header);
  REQUIRE(file.is_open());
  const std::regex declaration(
      "^KILN_API (?:Tensor|NormalizedBatch) ([a-z_0-9]+|operator[^(]+)\\(");
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (std::regex_search(line, match, declaration)) names.insert(match[1]);
  }
  return names;
}

std::set<std::string> tested(const std::vector<Row>& rows) {
  std::set<std::string> names;
  for (const Row& row : rows) {
    const std::string name = row.name;
    names.insert(name.substr(0, name.find(' ')));
  }
  return names;
}

void require_all(const char* header, const std::vector<Row>& rows) {
  const std::set<std::string> names = declared(header), have = tested(rows);
  CHECK_FALSE(names.empty());
  for (const std::string& name : names) {
    INFO(header << " declares " << name);
    CHECK(have.count(name) == 1);
  }
}

std::vector<Row> joined(const std::vector<std::vector<Row>>& tables) {
  std::vector<Row> rows;
  for (const std::vector<Row>& table : tables) rows.insert(rows.end(), table.begin(), table.end());
  return rows;
}

}  // namespace

TEST_CASE("coverage: every K function of these headers has a row", "[k][sources]") {
  require_all("elementwise.h", joined({elementwise_rows(), selection_rows()}));
  require_all("tensor.h", operator_rows());
  require_all("reduce.h", reduce_rows());
  require_all("linalg.h", joined({linalg_rows(), matmul_rows(), bincount_rows()}));
  require_all("attention.h", attention_rows());
  require_all("activation.h", activation_rows());
  require_all("loss.h", loss_rows());
  require_all("normalization.h", normalization_rows());
  require_all("convolution.h", convolution_rows());
  require_all("pooling.h", pooling_rows());
  require_all("higher_order.h", joined({higher_order_rows(), fori_loop_rows()}));
  require_all("ctc.h", ctc_rows());
  require_all("shape_ops.h", joined({shape_rows(), index_rows(), triangle_rows()}));
  require_all("padding.h", image_rows());
  require_all("resize.h", joined({image_rows(), resize_to_rows()}));
}

}  // namespace kiln::test
