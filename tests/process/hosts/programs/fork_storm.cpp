// A host that forks while its threads use Kiln. Each entry point is what the threads are in, and
// each child calls all of them: on `reference` they work, on `cpu`, which the parent uses, they
// throw a BackendError. First, children of processes whose threads use Kiln for the first time.
#include "tests/process/hosts/programs/program.h"
#include "tests/process/hosts/sample.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace {

using namespace kiln;

constexpr unsigned kSecondsUntilHang = 60;
constexpr int kThreads = 3;

enum class InChild { Works, Throws, MayThrow };

struct EntryPoint {
  const char* name;
  InChild in_child;
  std::function<void(int thread)> call;
};

/// A dense layer on a backend, whose weight every call changes, and a variable that none changes.
struct Layer {
  explicit Layer(const std::string& backend)
      : w(variable(Array::full({8, 8}, 0.125), {.name = "w"})),
        b(variable(Array::full({8}, 0.5), {.name = "b"})) {
    step =
        function({x}, {y}, {.updates = {update(w, w * 0.5)}, .name = "step", .backend = backend});
    read = function({x}, {y}, {.name = "read", .backend = backend});
    print = function({x}, {print_tensor(sum(y), {.message = "sum"})}, {.backend = backend});
  }

  Variable w, b;
  Tensor x = placeholder({.shape = {None, 8}, .name = "x"});
  Tensor y = tanh(dot(x, w) + b);
  Function step, read, print;
};

/// The number of a variable of a graph that no other call builds.
double fresh_number() {
  static std::atomic<int> next{0};
  return ++next;
}

Tensor fresh_graph() {
  const Tensor x = placeholder({.shape = {None, 4}});
  const Variable v = variable(Array::full({4, 4}, 1.0), {.name = "v" + std::to_string(::getpid())});
  const Tensor y = in_train_phase(relu(dot(x, v) * fresh_number()), x + fresh_number());
  return gradients(sum(y), {v})[0];
}

std::vector<EntryPoint> settings_and_graphs() {
  return {
      {"settings", InChild::Works,
       [](int) {
         set_floatx(floatx());
         set_epsilon(epsilon());
         set_image_data_format(image_data_format());
         std::ignore = get_uid("layer");
         reset_uids();
         set_random_seed(7);
       }},
      {"a graph", InChild::Works, [](int) { std::ignore = fresh_graph(); }},
      {"variables", InChild::Works,
       [](int) {
         const NameScope scope = name_scope("scope");
         std::ignore = random_uniform_variable({3, 3}, 0, 1);
         std::ignore = zeros({300, 300});
       }},
      {"memory", InChild::Works,
       [](int thread) {
         const Array array = Array::full({100 + thread, 100}, 1);
         if (thread == 0) release_idle_memory();
       }},
      {"backends", InChild::Works,
       [](int) {
         std::ignore = list_backends();
         load_backend("reference");
         set_backend("reference");
         std::ignore = backend();
       }},
      {"set_threads", InChild::MayThrow, [](int thread) { set_threads(2 + thread); }},
      {"eval", InChild::Works, [](int) { eval(random_uniform({3}) + fresh_number()); }},
  };
}

std::vector<EntryPoint> uses_of(Layer& layer, const std::string& backend) {
  const bool is_safe = backend == "reference";
  const InChild in_child = is_safe ? InChild::Works : InChild::Throws;
  const InChild of_value = is_safe ? InChild::Works : InChild::MayThrow;
  const Array rows = Array::full({2, 8}, 1);
  const auto file = [backend](int thread) {
    return backend + std::to_string(::getpid()) + "-" + std::to_string(thread) + ".safetensors";
  };
  const auto saved = [&layer, file](int thread) {
    save_weights(file(thread), {layer.w, layer.b});
    load_weights(file(thread), {layer.b}, {.strict = false});
    std::filesystem::remove(file(thread));
  };
  return {
      {"a call with updates", in_child, [&layer, rows](int) { layer.step({rows}); }},
      {"a call", in_child, [&layer, rows](int) { layer.read({rows}); }},
      {"print_tensor", in_child,
       [&layer, rows](int) {
         set_print_sink([](std::string_view) {});
         layer.print({rows});
       }},
      {"function", in_child,
       [backend](int) {
         std::ignore = function({}, {random_uniform({2}) + fresh_number()}, {.backend = backend});
       }},
      {"get_value", of_value, [&layer](int) { std::ignore = batch_get_value({layer.w, layer.b}); }},
      {"save_weights", of_value, saved},
      {"stats", in_child, [&layer](int) { std::ignore = layer.read.stats(); }},
      {"dump", in_child,
       [&layer, backend](int thread) {
         const std::string folder = backend + "-dump-" + std::to_string(thread);
         layer.read.dump(folder + std::to_string(::getpid()), Stage::Plan | Stage::Timings);
         std::filesystem::remove_all(folder + std::to_string(::getpid()));
       }},
      {"set_value", InChild::Works,
       [&layer](int) {
         set_value(layer.b, Array::full({8}, 0.25));
         batch_set_value({{layer.w, Array(0.125f)}, {layer.b, Array(0.5f)}});
         std::ignore = get_value(layer.w);
       }},
  };
}

/// Calls the entry point; returns whether it did what it promises to a child.
bool keeps_promise(const EntryPoint& entry) {
  try {
    entry.call(kThreads);
    return entry.in_child != InChild::Throws;
  } catch (const BackendError& error) {
    const bool names_fork = std::string(error.what()).find("fork") != std::string::npos;
    if (names_fork && entry.in_child != InChild::Works) return true;
    std::fprintf(stderr, "%s threw %s\n", entry.name, error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s threw %s\n", entry.name, error.what());
  }
  return false;
}

/// Runs `action` on threads, again and again, during `work`.
void during(const std::function<void(int)>& action, const std::function<void()>& work) {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      while (!is_over) action(thread);
    });
  }
  work();
  is_over = true;
  for (std::thread& thread : threads) thread.join();
}

void pause_for(int microseconds) {
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

/// Waits for a child; ends the program if it fails or hangs. `busy`: what the threads are in.
void require_success(pid_t child, const char* busy, const std::function<const char*()>& position) {
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const bool hangs = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
  std::fprintf(stderr, "a child of fork() %s (status %d) in %s, while threads were in %s\n",
               hangs ? "hangs" : "failed", status, position(), busy);
  std::_Exit(1);
}

/// Forks while threads are in each entry point; the children call all of them.
void storm(const std::vector<EntryPoint>& entries, int repetitions) {
  void* const shared = ::mmap(nullptr, sizeof(std::atomic<std::size_t>), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  expect(shared != MAP_FAILED, "shared memory");
  auto& position = *new (shared) std::atomic<std::size_t>(0);
  const auto run_child = [&] {
    ::alarm(kSecondsUntilHang);
    bool is_right = true;
    for (position = 0; position < entries.size(); ++position) {
      is_right &= keeps_promise(entries[position]);
    }
    std::exit(is_right ? 0 : 1);
  };
  for (const EntryPoint& busy : entries) {
    during(busy.call, [&] {
      for (int i = 0; i < repetitions; ++i) {
        pause_for(200 + 170 * i % 1000);
        const pid_t child = ::fork();
        if (child == 0) run_child();
        require_success(child, busy.name, [&] {
          return position < entries.size() ? entries[position].name : "exit";
        });
      }
    });
  }
}

/// Forks a process whose threads use Kiln for the first time, and which forks after a while.
void fork_during_first_use(int microseconds) {
  const pid_t parent = ::fork();
  static constexpr const char* kName = "the first use of Kiln";
  if (parent != 0) return require_success(parent, kName, [] { return kName; });
  ::alarm(2 * kSecondsUntilHang);
  const auto first_use = [](int) { hosts_test::works_on("reference"); };
  during(first_use, [&] {
    pause_for(microseconds);
    const pid_t child = ::fork();
    if (child != 0) return require_success(child, kName, [] { return kName; });
    ::alarm(kSecondsUntilHang);
    const EntryPoint use{kName, InChild::MayThrow, first_use};
    std::exit(keeps_promise(use) ? 0 : 1);
  });
  std::_Exit(0);
}

}  // namespace

int main(int count, char** arguments) {
  const int repetitions = count > 1 ? std::atoi(arguments[1]) : 2;
  for (int i = 0; i < 10 * repetitions; ++i) fork_during_first_use(250 * (i + 1));
  set_backend("reference");
  Layer safe("reference"), unsafe("cpu");
  std::vector<EntryPoint> entries = settings_and_graphs();
  for (EntryPoint& one : uses_of(safe, "reference")) entries.push_back(std::move(one));
  for (EntryPoint& one : uses_of(unsafe, "cpu")) entries.push_back(std::move(one));
  storm(entries, repetitions);
  return finished();
}
