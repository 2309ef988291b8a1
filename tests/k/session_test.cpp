// Tests functions that inspect handles or change the session; they compute nothing, so no row fits.
#include "tests/support/catch.h"

#include <kiln/k.h>

using namespace kiln;

TEST_CASE("is_placeholder: true of placeholders alone") {
  const Tensor x = placeholder({.shape = {2}});
  CHECK(is_placeholder(x));
  CHECK_FALSE(is_placeholder(x + 1));
  CHECK_FALSE(is_placeholder(variable(Array{1.f})));
  CHECK_FALSE(is_placeholder(Tensor()));
}

TEST_CASE("is_tensor: true of all tensors; is_variable: true of variables alone") {
  const Tensor x = placeholder({.shape = {2}}), w = zeros({2});
  CHECK(is_tensor(x));
  CHECK(is_tensor(w));
  CHECK(is_tensor(x + w));
  CHECK_FALSE(is_tensor(3));
  CHECK_FALSE(is_tensor(0.5));
  CHECK_FALSE(is_tensor(true));
  CHECK_FALSE(is_tensor(Tensor()));
  CHECK(is_variable(w));
  CHECK_FALSE(is_variable(x));
  CHECK_FALSE(is_variable(identity(w)));
  CHECK_FALSE(is_variable(Tensor()));
}

TEST_CASE("same_node: compares the nodes of handles") {
  const Tensor x = placeholder({.shape = {2}}), y = placeholder({.shape = {2}});
  CHECK(same_node(x, x));
  CHECK(same_node(x + 1, x + 1));
  CHECK_FALSE(same_node(x, y));
  CHECK_FALSE(same_node(x, Tensor()));
  CHECK(same_node(Tensor(), Tensor()));
}

TEST_CASE("clear_session: resets uids and the learning phase, and keeps variables") {
  const Tensor v = variable(Array{1.f, 2.f});
  reset_uids();
  get_uid("layer");
  const Tensor before = learning_phase();
  CHECK(same_node(before, learning_phase()));
  set_learning_phase(1);
  CHECK_FALSE(is_placeholder(learning_phase()));

  clear_session();
  CHECK(get_uid("layer") == 1);
  CHECK(is_placeholder(learning_phase()));
  CHECK_FALSE(same_node(before, learning_phase()));
  CHECK(get_value(v).at<float>(1) == 2);
  clear_session();
}

TEST_CASE("manual_variable_initialization: variables keep their values") {
  manual_variable_initialization(true);
  CHECK(get_value(variable(Array{3.f})).at<float>(0) == 3);
  manual_variable_initialization(false);
}
