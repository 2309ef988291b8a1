// The exceptions of Kiln, sorted by who is at fault. The message starts with the function that
// the user called; what() adds the user's source line.
#pragma once

#include <kiln/export.h>
#include <kiln/where.h>

#include <stdexcept>
#include <string>

namespace kiln {

/// Base of everything that Kiln throws.
class KILN_API Error : public std::runtime_error {
 public:
  /// `function`: the K function the user called ("dot"), empty when none is involved.
  /// `argument`: the user's name of the offending argument, empty when it is not one argument.
  /// `fact`: lower case, no final stop, with both shapes or values.
  Error(std::string function, std::string argument, std::string fact, Where where = {});
  ~Error() override;

  /// "function: fact [file:line]".
  const char* what() const noexcept override { return text_.c_str(); }
  const std::string& function() const noexcept { return function_; }
  const std::string& argument() const noexcept { return argument_; }
  /// "function: fact", without the source line.
  const std::string& message() const noexcept { return message_; }
  Where where() const noexcept { return where_; }
  /// Names the line of the user's call, unless a line is named already.
  void place(Where where);

 private:
  std::string function_, argument_, message_, text_;
  Where where_;
};

/// A value, shape or rank that the function does not accept.
class KILN_API ValueError : public Error {
 public:
  using Error::Error;
  ~ValueError() override;
};

/// A dtype or kind of object that the function does not accept.
class KILN_API TypeError : public Error {
 public:
  using Error::Error;
  ~TypeError() override;
};

/// Legal, but not available here: names the op or function and the backend.
class KILN_API NotImplementedError : public Error {
 public:
  using Error::Error;
  ~NotImplementedError() override;
};

/// A configuration file, environment variable or setting that cannot be used.
class KILN_API ConfigError : public Error {
 public:
  using Error::Error;
  ~ConfigError() override;
};

/// A backend that cannot be found, loaded or used, or that failed.
class KILN_API BackendError : public Error {
 public:
  using Error::Error;
  ~BackendError() override;
};

/// A file that cannot be read or written, or whose contents are damaged.
class KILN_API IoError : public Error {
 public:
  using Error::Error;
  ~IoError() override;
};

/// No memory for a tensor or an arena.
class KILN_API OutOfMemory : public Error {
 public:
  using Error::Error;
  ~OutOfMemory() override;
};

/// A fault of Kiln itself; the text asks for a report.
class KILN_API InternalError : public Error {
 public:
  using Error::Error;
  ~InternalError() override;
};

}  // namespace kiln
