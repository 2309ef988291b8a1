// Checkpoints: values of variables are tensors of the file, all else is its metadata.
#include <kiln/checkpoint.h>
#include <kiln/distributed.h>
#include <kiln/k.h>

#include "core/types/text.h"
#include "runtime/train/checkpoint_metadata.h"

#include <filesystem>
#include <map>

namespace kiln {
namespace {

/// Rejects options of the constructor; errors name its call at `where`.
class OptionsCheck {
 public:
  explicit OptionsCheck(Where where) : where_(where) {}

  void require_path(const std::string& path) const {
    if (path.empty()) reject("path", "path is empty");
    for (const char* extension : {".npz", ".npy"}) {
      if (!path.ends_with(extension)) continue;
      reject("path", text(path, " ends in '", extension, "', which has no place for the numbers ",
                          "and states of a checkpoint; .safetensors has"));
    }
  }

  void require_variables(const std::vector<Tensor>& variables) const {
    std::map<std::string, std::size_t> names;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      require_variable(variables[i], i);
      const std::string name = variables[i].name();
      const auto [found, is_new] = names.emplace(name, i);
      if (is_new) continue;
      const std::string both = text("variables[", found->second, "] and variables[", i, "] are ");
      if (same_node(variables[found->second], variables[i])) {
        reject("variables", text(both, "the same variable '", name, "': give it once"));
      }
      reject("variables", text(both, "both named '", name, "': give each a .name of its own, ",
                               "or make them in name scopes"));
    }
  }

  void require_numbers(const std::vector<CheckpointNumber>& numbers) const {
    std::map<std::string, std::size_t> names;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::string& name = numbers[i].name();
      if (name.empty()) reject("numbers", text("numbers[", i, "] has no name"));
      if (!numbers[i]) reject("numbers", text("number '", name, "' is a null pointer"));
      const auto [found, is_new] = names.emplace(name, i);
      if (is_new) continue;
      reject("numbers",
             text("numbers[", found->second, "] and numbers[", i, "] are both named '", name, "'"));
    }
  }

  [[noreturn]] void reject(const char* argument, const std::string& message) const {
    throw ValueError("Checkpoint", argument, message, where_);
  }

 private:
  void require_variable(const Tensor& variable, std::size_t i) const {
    if (!is_variable(variable)) {
      throw TypeError("Checkpoint", "variables",
                      text("variables[", i, "] is not a variable (", variable, ")"), where_);
    }
    if (!variable.name().empty()) return;
    reject("variables", text("variables[", i, "] has no name (", variable,
                             "): make it with a .name, by which the file finds it"));
  }

  Where where_;
};

/// Sets all that the options name to the contents of the file, or nothing on an error.
void restore_from(const char* function, const std::string& path, const CheckpointOptions& options,
                  Where where) {
  CheckpointReader reader(function, path, options);
  load_weights(path, options.variables,
               {.check = [&](const WeightsMetadata& metadata) { reader.check(metadata); }}, where);
  reader.set();
}

/// Whether the process is one of several ranks.
bool is_in_group() { return distributed::is_initialized() && distributed::world().size() > 1; }

/// Throws the error with `name` for the path of the file.
template <class OneError>
[[noreturn]] void rethrow_with_name(const OneError& error, const std::string& path,
                                    const std::string& name) {
  std::string message = error.message().substr(error.function().size() + 2);
  for (std::size_t at = 0; (at = message.find(path, at)) != message.npos; at += name.size()) {
    message.replace(at, path.size(), name);
  }
  throw OneError(error.function(), error.argument(), message, error.where());
}

/// restore_from() of the root's file; errors name that file, not the copy of it that is read.
void restore_copy(const char* function, const distributed::RootFile& file, const std::string& path,
                  const CheckpointOptions& options, Where where) {
  const std::string name = distributed::world().is_root() ? path : text("rank 0's ", path);
  try {
    restore_from(function, file.path(), options, where);
  } catch (const IoError& error) {
    rethrow_with_name(error, file.path(), name);
  } catch (const ValueError& error) {
    rethrow_with_name(error, file.path(), name);
  }
}

/// Restores the root's file on all ranks; returns whether there is one. `must_exist`: else reading
/// it fails on the root.
bool restore_together(const char* function, const std::string& path,
                      const CheckpointOptions& options, bool must_exist, Where where) {
  const distributed::RootFile file(path, where);
  if (!file.exists() && !must_exist) return false;
  distributed::run_together(
      [&] {
        if (file.exists()) return restore_copy(function, file, path, options, where);
        if (distributed::world().is_root()) restore_from(function, path, options, where);
      },
      where);
  return true;
}

}  // namespace

Checkpoint::Checkpoint(const StringArgument& path, const CheckpointOptions& options, Where where)
    : path_(path), options_(options) {
  named_call("Checkpoint", where, [&] {
    const OptionsCheck check(where);
    check.require_path(path_);
    check.require_variables(options_.variables);
    check.require_numbers(options_.numbers);
  });
}

void Checkpoint::save(Where where) const {
  const char* const name = "Checkpoint::save";
  named_call(name, where, [&] {
    const auto save = [&] {
      save_weights(path_, options_.variables, {.metadata = checkpoint_metadata(options_)}, where);
    };
    if (!is_in_group()) return save();
    distributed::run_together(
        [&] {
          if (distributed::world().is_root()) save();
        },
        where);
  });
}

void Checkpoint::restore(Where where) const {
  const char* const name = "Checkpoint::restore";
  named_call(name, where, [&] {
    if (!is_in_group()) return restore_from(name, path_, options_, where);
    restore_together(name, path_, options_, /*must_exist=*/true, where);
  });
}

bool Checkpoint::restore_if_exists(Where where) const {
  const char* const name = "Checkpoint::restore_if_exists";
  return named_call(name, where, [&] {
    if (is_in_group()) {
      return restore_together(name, path_, options_, /*must_exist=*/false, where);
    }
    std::error_code error;
    if (!std::filesystem::exists(path_, error) && !error) return false;
    restore_from(name, path_, options_, where);
    return true;
  });
}

}  // namespace kiln
