// Steps of random programs. A step returns false where no value of the program fits.
#pragma once

#include "tests/backends/random_programs/program.h"

namespace kiln::testing {

using Dims = std::vector<std::int64_t>;

/// x, moved off any jump or kink that a computation could meet by design.
Tensor off_the_jump(Growing& growing, const Value& x);

bool product(Growing& growing);
bool product_with_itself(Growing& growing);
bool attention(Growing& growing);
bool recurrence(Growing& growing);
bool gated_recurrence(Growing& growing);
bool element_by_element(Growing& growing);
bool image(Growing& growing);
bool other_convolution(Growing& growing);
bool normalization(Growing& growing);
bool branch(Growing& growing);

bool casts(Growing& growing);
bool matmul_with_epilogue(Growing& growing);
bool convolution_with_epilogue(Growing& growing);

bool branch_with_own_values(Growing& growing);
bool dropout_in_training(Growing& growing);
bool branch_beside_a_failure(Growing& growing);
bool branch_of_nothing(Growing& growing);
bool loop_beside_a_failure(Growing& growing);
bool loop_that_ends(Growing& growing);

}  // namespace kiln::testing
