// The stack is recorded while a request fails: nothing here may allocate then.
#include "tests/process/fault_injection/injector.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace fault_injection {

struct Injection {
  std::atomic<bool> armed{false};
  std::atomic<std::int64_t> count{0};
  Requests requests = Requests::Memory;
  Repeat repeat = Repeat::Once;
  FileFault fault = FileFault::Eio;
  std::int64_t nth = -1;
  InjectionLog* log = nullptr;
};

Injection injection;
thread_local bool t_recording = false;

namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view own_name() {
  static char path[4096];
  static const std::string_view name = [] {
    Dl_info info{};
    ::dladdr(reinterpret_cast<const void*>(&own_name), &info);
    std::snprintf(path, sizeof(path), "%s", info.dli_fname == nullptr ? "" : info.dli_fname);
    return file_name(path);
  }();
  return name;
}

bool is_of_the_system(std::string_view module) {
  for (const std::string_view name : {"libc.so", "libstdc++.so", "libgcc_s.so", "ld-linux"}) {
    if (module.starts_with(name)) return true;
  }
  return false;
}

void record(FailedRequest& request, const char* operation, const char* path) {
  std::snprintf(request.operation, sizeof(request.operation), "%s", operation);
  std::snprintf(request.path, sizeof(request.path), "%s", path);
  void* frames[FailedRequest::kDepth];
  request.depth = ::backtrace(frames, FailedRequest::kDepth);
  for (int i = 0; i < request.depth; ++i) {
    Dl_info info{};
    const bool known = ::dladdr(frames[i], &info) != 0 && info.dli_fname != nullptr;
    const std::string_view name = known ? file_name(info.dli_fname) : "?";
    std::snprintf(request.modules[i], sizeof(request.modules[i]), "%.*s",
                  static_cast<int>(name.size()), name.data());
    request.offsets[i] = reinterpret_cast<std::uintptr_t>(frames[i]) -
                         reinterpret_cast<std::uintptr_t>(known ? info.dli_fbase : nullptr);
  }
}

}  // namespace

/// Whether this request is to fail.
bool fails(Requests requests, const char* operation, const char* path) {
  if (!injection.armed.load(std::memory_order_relaxed) || injection.requests != requests ||
      t_recording) {
    return false;
  }
  const std::int64_t number = injection.count.fetch_add(1, std::memory_order_relaxed);
  if (injection.nth < 0 || number < injection.nth) return false;
  if (number > injection.nth && injection.repeat == Repeat::Once) return false;
  t_recording = true;
  InjectionLog& log = *injection.log;
  record(log.last, operation, path);
  if (log.failed++ == 0) log.first = log.last;
  t_recording = false;
  return true;
}

FileFault file_fault() { return injection.fault; }

void arm(Requests requests, std::int64_t nth, Repeat repeat, InjectionLog& log, FileFault fault) {
  void* frames[4];
  ::backtrace(frames, 4);  // loads the unwinder before a request fails
  own_name();
  injection.requests = requests;
  injection.repeat = repeat;
  injection.fault = fault;
  injection.nth = nth;
  injection.count = 0;
  injection.log = &log;
  log = {};
  injection.armed = true;
}

void disarm() {
  injection.armed = false;
  injection.log->requests = injection.count;
}

bool is_of_the_loader(const FailedRequest& request) {
  int i = 0;
  while (i < request.depth && own_name() == request.modules[i]) ++i;
  for (; i < request.depth && is_of_the_system(request.modules[i]); ++i) {
    if (std::string_view(request.modules[i]).starts_with("ld-linux")) return true;
  }
  return false;
}

const char* owner_of(const FailedRequest& request) {
  int i = 0;
  while (i < request.depth && own_name() == request.modules[i]) ++i;  // this file's functions
  while (i < request.depth && is_of_the_system(request.modules[i])) ++i;
  return i == request.depth || own_name() == request.modules[i] ? "" : request.modules[i];
}

}  // namespace fault_injection
