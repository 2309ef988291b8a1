// print_tensor as a host function, and its sink.
#include <kiln/print.h>

#include "backends/abi/kiln_backend_structs.h"
#include "core/k/base/tensor_impl.h"
#include "core/types/exception_text.h"
#include "core/types/fork.h"
#include "core/types/no_destructor.h"
#include "core/types/text.h"
#include "runtime/array/array_text.h"
#include "runtime/host/host_functions.h"

#include <kiln/error.h>

#include <cxxabi.h>

#include <iostream>
#include <memory>
#include <mutex>

namespace kiln {
namespace {

constinit ForkMutex print_sink_mutex;
KILN_AT_LOAD NoDestructor<std::shared_ptr<const PrintSink>> print_sink;  // null: std::cout
[[maybe_unused]] const bool is_print_sink_held = hold_at_fork<print_sink_mutex>();

/// Returns a shared sink, to be called without the lock: a sink may print or replace the sink.
std::shared_ptr<const PrintSink> current_sink() {
  const std::lock_guard lock(print_sink_mutex);
  return *print_sink;
}

void write(const std::string& line) {
  const std::shared_ptr<const PrintSink> sink = current_sink();
  if (!sink) {
    std::cout << line << std::flush;  // one write, so that lines of threads do not interleave
    return;
  }
  const auto fail = [](const std::string& description) {
    throw IoError("print_tensor", "", text("the print sink threw ", description));
  };
  try {
    (*sink)(line);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("print_tensor", "", "no memory in the print sink");
  } catch (const std::exception& thrown) {
    fail(text("an exception: ", exception_text(thrown)));
  } catch (const ::abi::__forced_unwind&) {  // pthread_exit: must propagate
    throw;
  } catch (...) {
    fail("something that is not a std::exception");
  }
}

}  // namespace

void set_print_sink(PrintSink sink) {
  translate_exceptions("set_print_sink", {}, [&] {
    auto next = sink ? std::make_shared<const PrintSink>(std::move(sink)) : nullptr;
    const std::lock_guard lock(print_sink_mutex);
    print_sink->swap(next);  // the old one is destroyed after the lock is released
  });
}

void runtime::host_print_tensor(const HostCallArguments& arguments) {
  if (arguments.inputs.size() != 1 || arguments.outputs.size() != 1) {
    throw abi::BrokenStruct(text("print_tensor takes one value and gives one but got ",
                                 arguments.inputs.size(), " and ", arguments.outputs.size()));
  }
  const HostView& value = arguments.inputs[0];
  copy_value(value, arguments.outputs[0], "print_tensor");
  const std::string_view message = arguments.payload_text();
  write(text(message, message.empty() ? "" : " ", array_text(value), "\n"));
}

}  // namespace kiln
