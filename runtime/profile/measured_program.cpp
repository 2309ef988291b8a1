// Takes the time of a loop's steps from the loop, and names the sizes that changed.
#include "runtime/profile/measured_program.h"

#include "core/types/fp_environment.h"
#include "core/types/text.h"
#include "runtime/host/log.h"
#include "runtime/plugin/plugin.h"
#include "runtime/profile/later_calls.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace kiln::runtime {
namespace {

// ---- rows ----

/// Moves rows to the profile, without the time of the rows within them.
class RowCollector {
 public:
  RowCollector(std::vector<BackendStep>& steps, std::vector<ProfileRow>& rows)
      : steps_(steps), rows_(rows) {}

  struct Seconds {
    double all = 0, first = 0;  // of all calls, and of the first one
  };

  /// Adds all rows; returns the seconds that they take in all.
  Seconds run() {
    Seconds sum;
    for (std::size_t i = 0; i < steps_.size(); i = end_of(i)) {
      sum.all += steps_[i].seconds;
      sum.first += steps_[i].first_seconds;
      add(i, {1, 1});
    }
    return sum;
  }

 private:
  /// The first row behind row i and those within it.
  std::size_t end_of(std::size_t i) const {
    std::size_t end = i + 1;
    while (end < steps_.size() && steps_[end].depth > steps_[i].depth) ++end;
    return end;
  }

  /// `scale`: of the row's seconds. Seconds of a loop on several threads are sums over the threads.
  void add(std::size_t i, const Seconds& scale) {
    Seconds within;
    for (std::size_t j = i + 1; j < end_of(i); j = end_of(j)) {
      within.all += steps_[j].seconds;
      within.first += steps_[j].first_seconds;
    }
    BackendStep& step = steps_[i];
    const auto scale_within = [](double whole, double of_steps) {
      return of_steps > whole ? whole / of_steps : 1;
    };
    const Seconds inner{scale_within(step.seconds, within.all),
                        scale_within(step.first_seconds, within.first)};
    for (std::size_t j = i + 1; j < end_of(i); j = end_of(j)) {
      add(j, {scale.all * inner.all, scale.first * inner.first});
    }
    if (step.calls == 0) return;
    step.seconds = scale.all * (step.seconds - inner.all * within.all);
    step.first_seconds = scale.first * (step.first_seconds - inner.first * within.first);
    step.shortest = end_of(i) > i + 1 ? 0 : scale.all * step.shortest;
    std::stable_sort(
        step.places.begin(), step.places.end(),
        [](const ProfileOrigin& a, const ProfileOrigin& b) { return a.share > b.share; });
    rows_.push_back(std::move(static_cast<ProfileRow&>(step)));
  }

  std::vector<BackendStep>& steps_;
  std::vector<ProfileRow>& rows_;
};

// ---- events ----

/// The sizes of each input.
using Sizes = std::vector<std::vector<std::string>>;

Sizes sizes_of(const std::string& text) {
  Sizes sizes(1);
  std::string size;
  for (const char c : text + ";") {
    if (c != ',' && c != ';') {
      size += c;
      continue;
    }
    if (!size.empty()) sizes.back().push_back(std::exchange(size, {}));
    if (c == ';') sizes.emplace_back();
  }
  sizes.pop_back();
  return sizes;
}

std::string name_of(const CompiledProgram& program, std::size_t input) {
  const bool is_known = input < program.binding.count();
  const std::string name = is_known ? program.binding.name(input) : "";
  return name.empty() ? text("input ", input) : name;
}

std::string sizes_text(const CompiledProgram& program, const Sizes& sizes) {
  std::string all;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].empty()) continue;
    all += text(all.empty() ? "" : ", ", name_of(program, i), " [", join_text(sizes[i], ","), "]");
  }
  return all.empty() ? "no sizes" : all;
}

/// "x.0 was 32 and is 48".
std::string changes_text(const CompiledProgram& program, const Sizes& before, const Sizes& now) {
  std::string all;
  for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
    for (std::size_t axis = 0; axis < std::min(before[i].size(), now[i].size()); ++axis) {
      if (before[i][axis] == now[i][axis]) continue;
      all += text(all.empty() ? "" : ", ", name_of(program, i), ".", axis, " was ", before[i][axis],
                  " and is ", now[i][axis]);
    }
  }
  return all;
}

void add_bindings(const CompiledProgram& program, const BackendProfile& before,
                  const BackendProfile& measured, Profile& profile) {
  std::vector<std::string> seen;
  for (const BackendBinding& one : before.bindings) seen.push_back(one.sizes);
  for (const BackendBinding& one : measured.bindings) {
    ProfileEvent event{.what = text("prepared for ", sizes_text(program, sizes_of(one.sizes))),
                       .reason = "the first sizes",
                       .seconds = one.seconds};
    if (std::find(seen.begin(), seen.end(), one.sizes) != seen.end()) {
      event.reason = "prepared before, and dropped since to make room for other sizes";
    } else if (!seen.empty()) {
      event.reason = changes_text(program, sizes_of(seen.back()), sizes_of(one.sizes));
    } else if (one.number > 1) {
      event.reason = "other sizes than before the measurement";
    }
    seen.push_back(one.sizes);
    profile.events.push_back(std::move(event));
  }
}

/// Ends measuring again if the profile cannot be read.
std::optional<BackendProfile> begin_measuring(const Executable& executable) {
  try {
    return query_profile(executable, Measuring::Begin);
  } catch (...) {
    try {
      query_profile(executable, Measuring::End);
    } catch (const std::exception&) {  // the first error says more
    }
    throw;
  }
}

}  // namespace

MeasuredProgram::MeasuredProgram(const CompiledProgram& program)
    : program_(program), before_(begin_measuring(*program.executable)) {}

/// A child of fork leaves the measurement to its parent.
MeasuredProgram::~MeasuredProgram() {
  if (fork_count() != forks_) return;
  try {
    stop();
  } catch (const std::exception& error) {
    log_line(LogLevel::Warning, "profile", error.what());
  }
}

void MeasuredProgram::stop() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(is_measuring_, false) || !before_) return;
  last_ = query_profile(*program_.executable, Measuring::End);
}

std::optional<BackendProfile> MeasuredProgram::measured() const {
  const std::lock_guard lock(mutex_);
  if (!is_measuring_) return last_;
  return query_profile(*program_.executable, Measuring::Continue);
}

void MeasuredProgram::add_to(Profile& profile) const {
  const ScopedFpEnvironment usual;
  const std::string& backend = program_.instance->plugin().id;
  profile.events.push_back({.what = text("compiled for ", backend),
                            .reason = std::string(program_.code_reason),
                            .seconds = program_.compile_seconds});
  std::optional<BackendProfile> measured = before_ ? this->measured() : std::nullopt;
  if (!measured) {
    profile.without_times = text("backend ", backend, " gives no times");
    return;
  }
  subtract(*measured, *before_);
  profile.calls = measured->calls;
  profile.seconds += measured->seconds;
  profile.first_seconds += measured->first_seconds;
  profile.shortest += measured->shortest;
  const RowCollector::Seconds in_steps = RowCollector(measured->steps, profile.rows).run();
  if (measured->seconds > in_steps.all) {
    ProfileRow& rest = profile.rows.emplace_back();
    rest.step = "outside of the steps: arguments, results, measuring";
    rest.calls = measured->calls;
    rest.seconds = measured->seconds - in_steps.all;
    rest.first_seconds = std::clamp(measured->first_seconds - in_steps.first, 0.0, rest.seconds);
  }
  for (ProfileTensor& one : measured->tensors) profile.tensors.push_back(std::move(one));
  for (std::string& note : measured->notes) profile.notes.push_back(std::move(note));
  add_bindings(program_, *before_, *measured, profile);
}

namespace {

void add_sum(std::vector<ProfileSum>& sums, const std::string& name, const ProfileSum& of_row) {
  const auto known = std::find_if(sums.begin(), sums.end(),
                                  [&](const ProfileSum& one) { return one.name == name; });
  if (known != sums.end()) {
    known->seconds += of_row.seconds;
    known->first_seconds += of_row.first_seconds;
  } else {
    sums.push_back({name, of_row.seconds, of_row.first_seconds});
  }
}

/// Adds the time to the scope and those around it.
void add_scopes(std::vector<ProfileSum>& sums, const std::string& scope, const ProfileSum& of_row) {
  for (std::size_t end = 0; end < scope.size();) {
    end = std::min(scope.find('/', end + 1), scope.size());
    add_sum(sums, scope.substr(0, end), of_row);
  }
}

}  // namespace

void finish_profile(Profile& profile) {
  const ScopedFpEnvironment usual;
  const auto slower = [&](const auto& a, const auto& b) {
    return later_seconds(profile, a) > later_seconds(profile, b);
  };
  std::stable_sort(profile.rows.begin(), profile.rows.end(), slower);
  for (const ProfileRow& row : profile.rows) {
    for (const ProfileOrigin& place : row.places) {
      const ProfileSum part{"", row.seconds * place.share, row.first_seconds * place.share};
      add_scopes(profile.scopes, place.scope, part);
      if (!place.file.empty()) add_sum(profile.lines, text(place.file, ":", place.line), part);
      if (!place.function.empty()) add_sum(profile.functions, place.function, part);
    }
  }
  for (auto* sums : {&profile.scopes, &profile.lines, &profile.functions}) {
    std::stable_sort(sums->begin(), sums->end(), slower);
  }
  std::stable_sort(
      profile.tensors.begin(), profile.tensors.end(),
      [](const ProfileTensor& a, const ProfileTensor& b) { return a.bytes > b.bytes; });
}

}  // namespace kiln::runtime
