// All of K: #include <kiln/k.h> and namespace K = kiln.
// X11's macros None and Bool may be defined before or after this header: they are set aside while
// it is read. Where they are defined, write K::NoneType(0) for K::None and "bool" for
// K::DType::Bool. A single header of this folder is included before X11's.
#pragma once

#pragma push_macro("None")
#pragma push_macro("Bool")
#undef None
#undef Bool

#include <kiln/activation.h>
#include <kiln/array.h>
#include <kiln/attention.h>
#include <kiln/backend.h>
#include <kiln/call_scope.h>
#include <kiln/config.h>
#include <kiln/constraint.h>
#include <kiln/context.h>
#include <kiln/control.h>
#include <kiln/convolution.h>
#include <kiln/create.h>
#include <kiln/ctc.h>
#include <kiln/elementwise.h>
#include <kiln/files.h>
#include <kiln/function.h>
#include <kiln/gradients.h>
#include <kiln/higher_order.h>
#include <kiln/linalg.h>
#include <kiln/loss.h>
#include <kiln/memory.h>
#include <kiln/model.h>
#include <kiln/module.h>
#include <kiln/named_call.h>
#include <kiln/normalization.h>
#include <kiln/onnx.h>
#include <kiln/optional_operand.h>
#include <kiln/padding.h>
#include <kiln/pooling.h>
#include <kiln/print.h>
#include <kiln/profile.h>
#include <kiln/random.h>
#include <kiln/random_state.h>
#include <kiln/recurrent.h>
#include <kiln/reduce.h>
#include <kiln/resize.h>
#include <kiln/results.h>
#include <kiln/shape_ops.h>
#include <kiln/sparse.h>
#include <kiln/sparse_array.h>
#include <kiln/stage.h>
#include <kiln/string_argument.h>
#include <kiln/tensor.h>
#include <kiln/tensor_spec.h>
#include <kiln/trace.h>
#include <kiln/update.h>
#include <kiln/variable.h>
#include <kiln/weights.h>
#include <kiln/whole_number.h>

#pragma pop_macro("Bool")
#pragma pop_macro("None")
