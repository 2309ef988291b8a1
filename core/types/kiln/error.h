// The exceptions that Kiln throws, by cause. Every message starts with the K function that the user
// called; what() appends the line of that call in the user's source.
#pragma once

#include <kiln/export.h>
#include <kiln/where.h>

#include <stdexcept>
#include <string>

namespace kiln {

/// Base class of every exception that Kiln throws.
class KILN_API Error : public std::runtime_error {
 public:
  /// `function`: the K function that the user called ("dot"); empty when none is involved.
  /// `argument`: the name of the offending argument; empty when there is no single one.
  /// `message`: lower case, no final full stop, with the shapes or values that conflict.
  Error(std::string function, std::string argument, std::string message, Where where = {});
  ~Error() override;

  /// "function: message [file:line]".
  const char* what() const noexcept override { return text_.c_str(); }
  /// The arguments of the constructor.
  const std::string& function() const noexcept { return function_; }
  const std::string& argument() const noexcept { return argument_; }
  /// "function: message", without the source line.
  const std::string& message() const noexcept { return message_; }
  Where where() const noexcept { return where_; }
  /// Sets the line of the user's call if none is known yet.
  void set_where(Where where);

 private:
  std::string function_, argument_, message_, text_;
  Where where_;
};

/// Thrown for a value, shape or rank that the function does not accept.
class KILN_API ValueError : public Error {
 public:
  using Error::Error;
  ~ValueError() override;
};

/// Thrown for a dtype or kind of object that the function does not accept.
class KILN_API TypeError : public Error {
 public:
  using Error::Error;
  ~TypeError() override;
};

/// Thrown for a NaN or an infinity that a call with FunctionOptions::check_numerics finds.
class KILN_API FloatingPointError : public Error {
 public:
  using Error::Error;
  ~FloatingPointError() override;
};

/// Thrown for a valid request that is not supported; names the op or function and the backend.
class KILN_API NotImplementedError : public Error {
 public:
  using Error::Error;
  ~NotImplementedError() override;
};

/// Thrown for an invalid configuration file, environment variable or setting.
class KILN_API ConfigError : public Error {
 public:
  using Error::Error;
  ~ConfigError() override;
};

/// Thrown when a backend cannot be found, loaded or used, or when it fails.
class KILN_API BackendError : public Error {
 public:
  using Error::Error;
  ~BackendError() override;
};

/// Thrown when a file cannot be read or written, or is corrupt.
class KILN_API IoError : public Error {
 public:
  using Error::Error;
  ~IoError() override;
};

/// Thrown when memory runs out, on the host or on the device.
class KILN_API OutOfMemory : public Error {
 public:
  using Error::Error;
  ~OutOfMemory() override;
};

/// Thrown for a bug in Kiln; the text asks for a report.
class KILN_API InternalError : public Error {
 public:
  using Error::Error;
  ~InternalError() override;
};

}  // namespace kiln
