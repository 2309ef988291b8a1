// All of K: #include <kiln/k.h> and namespace K = kiln.
#pragma once

#include <kiln/activation.h>
#include <kiln/array.h>
#include <kiln/backend.h>
#include <kiln/config.h>
#include <kiln/context.h>
#include <kiln/control.h>
#include <kiln/create.h>
#include <kiln/elementwise.h>
#include <kiln/function.h>
#include <kiln/gradients.h>
#include <kiln/higher_order.h>
#include <kiln/linalg.h>
#include <kiln/loss.h>
#include <kiln/normalization.h>
#include <kiln/optional_operand.h>
#include <kiln/padding.h>
#include <kiln/random.h>
#include <kiln/recurrent.h>
#include <kiln/reduce.h>
#include <kiln/resize.h>
#include <kiln/shape_ops.h>
#include <kiln/tensor.h>
#include <kiln/update.h>
#include <kiln/variable.h>
#include <kiln/weights.h>
