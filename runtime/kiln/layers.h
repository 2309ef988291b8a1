// Layers with the names, arguments, defaults and variables of Keras 3. Read kiln/layer.h first.
#pragma once

#include <kiln/layers_activation.h>
#include <kiln/layers_attention.h>
#include <kiln/layers_convolution.h>
#include <kiln/layers_core.h>
#include <kiln/layers_normalization.h>
#include <kiln/layers_pooling.h>
#include <kiln/layers_recurrent.h>

// A model is a function of tensors: layers of Keras that are one function of K are not here.
//   Add, Subtract, Multiply, Average, Maximum, Minimum    operators, K::maximum, K::minimum
//   Concatenate, Reshape, Permute, RepeatVector           K::concatenate, reshape,
//                                                         permute_dimensions, repeat
//   ZeroPadding1D, ZeroPadding2D, ZeroPadding3D           K::temporal_padding, spatial_2d_padding,
//                                                         spatial_3d_padding
//   Cropping1D, Cropping2D, Cropping3D                    K::slice
//   UpSampling1D, UpSampling2D "nearest"                  K::repeat_elements, resize_images
//   UpSampling2D "bilinear", Resizing                     K::resize_images_to
//   ReLU, LeakyReLU, ELU, Softmax                         K::relu, elu, softmax
//   Masking                                               K::any(K::not_equal(x, mask_value), ..)
//   SpatialDropout1D, SpatialDropout2D                    Dropout with a noise_shape
//   TimeDistributed                                       K::reshape of time into samples, and back
//
// Nor are these arguments: activity_regularizer (kiln/layer.h), lora_rank, autocast; of recurrent
// layers return_state (states are always returned), use_cudnn and implementation; Bidirectional's
// backward_layer; BatchNormalization's synchronized; MultiHeadAttention's attention_axes
// (kiln/layers_attention.h) and an output_shape of several axes; Embedding's weights.
