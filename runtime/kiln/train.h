// Parts of training programs beyond K, written in K alone: #include <kiln/train.h>. Names,
// arguments, defaults and formulas are those of Keras 3 unless a header says otherwise.
#pragma once

#include <kiln/batches.h>
#include <kiln/checkpoint.h>
#include <kiln/clip_gradients.h>
#include <kiln/constraints.h>
#include <kiln/early_stopping.h>
#include <kiln/initializers.h>
#include <kiln/k.h>
#include <kiln/layers.h>
#include <kiln/lbfgs.h>
#include <kiln/metrics.h>
#include <kiln/optimizers.h>
#include <kiln/regularizers.h>
#include <kiln/schedules.h>
