// Compares references to lambdas by content.
#include "core/ir/lambda.h"

namespace kiln::ir {

bool LambdaRef::operator==(const LambdaRef& other) const {
  if (lambda == other.lambda) return true;
  return lambda && other.lambda && *lambda == *other.lambda;
}

}  // namespace kiln::ir
