// Layers without variables that pool sequences (samples, steps, channels) and images (samples,
// rows, columns, channels), with the channels after the samples for channels_first.
#pragma once

#include <kiln/layer.h>
#include <kiln/steps.h>

namespace kiln::layers {

struct PoolingOptions {
  std::optional<Steps> strides = {};  ///< unset: pool_size
  StringArgument padding = "valid";   ///< "valid" or "same", which does not count
  std::optional<StringArgument> data_format = {};  ///< unset: image_data_format()
  StringArgument name = {};
};

/// The common part of layers that take the maximum or mean of each window, as K::pool2d does.
class KILN_API Pooling : public Layer {
 public:
  /// Errors: ValueError for another rank, and those of K::pool2d.
  Tensor operator()(const Tensor& inputs, Where where = Where::here()) const;

 protected:
  /// kind, prefix: static storage. mode: "max" or "avg".
  Pooling(const char* kind, const char* prefix, int axes, const char* mode, const Steps& pool_size,
          const PoolingOptions& options, Where where);
};

/// The maximum of each window of sequences.
class KILN_API MaxPooling1D : public Pooling {
 public:
  MaxPooling1D() : MaxPooling1D(2, {}, Where()) {}
  /// Here and below: ValueError for an unknown padding or data_format.
  explicit MaxPooling1D(const Steps& pool_size, const PoolingOptions& options = {},
                        Where where = Where::here())
      : Pooling("MaxPooling1D", "max_pooling1d", 1, "max", pool_size, options, where) {}
};
/// The maximum of each window of images.
class KILN_API MaxPooling2D : public Pooling {
 public:
  MaxPooling2D() : MaxPooling2D(2, {}, Where()) {}
  explicit MaxPooling2D(const Steps& pool_size, const PoolingOptions& options = {},
                        Where where = Where::here())
      : Pooling("MaxPooling2D", "max_pooling2d", 2, "max", pool_size, options, where) {}
};
/// The mean of each window of sequences.
class KILN_API AveragePooling1D : public Pooling {
 public:
  AveragePooling1D() : AveragePooling1D(2, {}, Where()) {}
  explicit AveragePooling1D(const Steps& pool_size, const PoolingOptions& options = {},
                            Where where = Where::here())
      : Pooling("AveragePooling1D", "average_pooling1d", 1, "avg", pool_size, options, where) {}
};
/// The mean of each window of images.
class KILN_API AveragePooling2D : public Pooling {
 public:
  AveragePooling2D() : AveragePooling2D(2, {}, Where()) {}
  explicit AveragePooling2D(const Steps& pool_size, const PoolingOptions& options = {},
                            Where where = Where::here())
      : Pooling("AveragePooling2D", "average_pooling2d", 2, "avg", pool_size, options, where) {}
};

struct GlobalPoolingOptions {
  std::optional<StringArgument> data_format = {};  ///< unset: image_data_format()
  Flag keepdims = false;  ///< whether to keep the reduced axes with size 1
  StringArgument name = {};
};
struct GlobalPoolingCall {
  /// (samples, steps), any dtype: steps of a mean over sequences that count. At least one counts.
  Tensor mask = {};
};

/// The common part of layers that reduce all spatial axes: to (samples, channels).
class KILN_API GlobalPooling : public Layer {
 public:
  /// Errors: ValueError for another rank, and for a mask where the layer takes none.
  Tensor operator()(const Tensor& inputs, const GlobalPoolingCall& call = {},
                    Where where = Where::here()) const;

 protected:
  /// kind, prefix: static storage.
  GlobalPooling(const char* kind, const char* prefix, int axes, bool is_mean,
                const GlobalPoolingOptions& options, Where where);
};

/// The maximum over the steps of sequences.
class KILN_API GlobalMaxPooling1D : public GlobalPooling {
 public:
  GlobalMaxPooling1D() : GlobalMaxPooling1D({}, Where()) {}
  explicit GlobalMaxPooling1D(const GlobalPoolingOptions& options, Where where = Where::here())
      : GlobalPooling("GlobalMaxPooling1D", "global_max_pooling1d", 1, false, options, where) {}
};
/// The maximum over rows and columns of images.
class KILN_API GlobalMaxPooling2D : public GlobalPooling {
 public:
  GlobalMaxPooling2D() : GlobalMaxPooling2D({}, Where()) {}
  explicit GlobalMaxPooling2D(const GlobalPoolingOptions& options, Where where = Where::here())
      : GlobalPooling("GlobalMaxPooling2D", "global_max_pooling2d", 2, false, options, where) {}
};
/// The mean over the steps of sequences, or over those that a mask has.
class KILN_API GlobalAveragePooling1D : public GlobalPooling {
 public:
  GlobalAveragePooling1D() : GlobalAveragePooling1D({}, Where()) {}
  explicit GlobalAveragePooling1D(const GlobalPoolingOptions& options, Where where = Where::here())
      : GlobalPooling("GlobalAveragePooling1D", "global_average_pooling1d", 1, true, options,
                      where) {}
};
/// The mean over rows and columns of images.
class KILN_API GlobalAveragePooling2D : public GlobalPooling {
 public:
  GlobalAveragePooling2D() : GlobalAveragePooling2D({}, Where()) {}
  explicit GlobalAveragePooling2D(const GlobalPoolingOptions& options, Where where = Where::here())
      : GlobalPooling("GlobalAveragePooling2D", "global_average_pooling2d", 2, true, options,
                      where) {}
};

}  // namespace kiln::layers
