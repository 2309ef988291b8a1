// Parses lines of fields that tabs separate.
#include "runtime/profile/backend_profile.h"

#include "backends/abi/kiln_backend_profile.h"
#include "core/types/escaped_text.h"
#include "core/types/text.h"
#include "runtime/dump/dump_target.h"

#include <kiln/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <mutex>

namespace kiln::runtime {
namespace {

using sdk::ProfileText;

constexpr std::string_view kFirstLine = "kiln-profile\t1";

/// Receives one profile.
class ProfileTarget final : public DumpTarget {
 public:
  explicit ProfileTarget(Measuring measuring) : measuring_(measuring) {}

  bool wants_stage(std::string_view stage) const override {
    return stage == ProfileText::kStage ||
           (measuring_ == Measuring::Begin && stage == ProfileText::kBegin) ||
           (measuring_ == Measuring::End && stage == ProfileText::kEnd);
  }
  void receive(const BackendDump& dump) noexcept override {
    if (dump.stage != ProfileText::kStage) return;
    try {
      text.emplace(reinterpret_cast<const char*>(dump.bytes.data()), dump.bytes.size());
    } catch (const std::bad_alloc&) {
      is_out_of_memory = true;
    }
  }

  std::optional<std::string> text;
  bool is_out_of_memory = false;

 private:
  Measuring measuring_;
};

class ProfileParser {
 public:
  explicit ProfileParser(const std::string& backend) : backend_(backend) {}

  BackendProfile run(std::string_view text) {
    for (number_ = 1; !text.empty(); ++number_) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      line_ = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (number_ == 1) {
        if (line_ != kFirstLine) fail("the first line is not \"kiln-profile 1\"");
      } else {
        read_record();
      }
    }
    if (number_ == 1) fail("it is empty");
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw BackendError(
        "profile", "",
        text("the profile of backend ", backend_, " is malformed at line ", number_, ": ", why));
  }

  std::string_view field() {
    if (is_at_end_) fail("it has too few fields");
    const std::size_t end = line_.find('\t');
    const std::string_view found = line_.substr(0, end);
    is_at_end_ = end == line_.npos;
    if (!is_at_end_) line_.remove_prefix(end + 1);
    return found;
  }
  std::string text_field() { return utf8_text(field()); }
  template <class Number>
  Number number() {
    const std::string_view digits = field();
    Number value{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool is_whole = error == std::errc() && end == digits.data() + digits.size();
    if (!is_whole || !(value >= 0) || !std::isfinite(static_cast<double>(value))) {
      fail(text("'", escaped_text(std::string(digits)), "' is no number of at least 0"));
    }
    return value;
  }
  std::int64_t count() { return number<std::int64_t>(); }
  double seconds() { return number<double>(); }

  void read_record() {
    is_at_end_ = false;
    const std::string_view kind = field();
    if (kind == "call") {
      out_.calls = count();
      out_.seconds = seconds();
      is_step_last_ = false;
    } else if (kind == "step") {
      read_step();
    } else if (kind == "first") {
      read_first();
    } else if (kind == "shortest") {
      (is_step_last_ ? out_.steps.back().shortest : out_.shortest) = seconds();
    } else if (kind == "from") {
      read_place();
    } else if (kind == "tensor") {
      const std::int64_t bytes = count();
      std::string of_kind = text_field();
      out_.tensors.push_back({text_field(), std::move(of_kind), bytes, {}});
      places_ = nullptr;
    } else if (kind == "binding") {
      const std::int64_t number = count();
      const double taken = seconds();
      out_.bindings.push_back({number, taken, text_field()});
    } else if (kind == "note") {
      out_.notes.push_back(text_field());
    }
  }

  static constexpr std::int64_t kMaxDepth = 64;  // of loops and branches in a module, too

  void read_step() {
    BackendStep step;
    step.depth = count();
    const std::int64_t deepest = out_.steps.empty() ? 0 : out_.steps.back().depth + 1;
    if (step.depth > std::min(deepest, kMaxDepth))
      fail("a step is deeper than its position allows");
    step.calls = count();
    step.seconds = seconds();
    step.bytes = number<double>();
    step.operations = number<double>();
    step.step = text_field();
    out_.steps.push_back(std::move(step));
    places_ = &out_.steps.back().places;
    is_step_last_ = true;
  }

  void read_first() {
    const double taken = seconds();
    const double bytes = number<double>(), operations = number<double>();
    if (!is_step_last_) {
      out_.first_seconds = taken;
      return;
    }
    ProfileRow& row = out_.steps.back();
    row.first_seconds = taken;
    row.first_bytes = bytes;
    row.first_operations = operations;
  }

  void read_place() {
    ProfileOrigin place;
    place.share = number<double>();
    place.scope = text_field();
    place.function = text_field();
    place.file = text_field();
    place.line = count();
    if (places_ != nullptr) {
      places_->push_back(std::move(place));
    } else if (!out_.tensors.empty()) {
      out_.tensors.back().place = std::move(place);
    }
  }

  const std::string& backend_;
  std::size_t number_ = 1;  // of the line
  std::string_view line_;   // the fields that are left
  bool is_at_end_ = false;
  BackendProfile out_;
  bool is_step_last_ = false;  // of the last call and the last step
  std::vector<ProfileOrigin>* places_ = nullptr;  // of the last step; null: the record was a tensor
};

}  // namespace

BackendProfile parse_profile(std::string_view text, const std::string& backend) {
  return ProfileParser(backend).run(text);
}

std::optional<BackendProfile> query_profile(const Executable& executable, Measuring measuring) {
  ProfileTarget target(measuring);
  {
    const ScopedDumpTarget scope(&target);
    executable.dump();
  }
  if (target.is_out_of_memory) throw std::bad_alloc();
  if (!target.text) return std::nullopt;
  return parse_profile(*target.text, executable.instance()->name());
}

void subtract(BackendProfile& profile, const BackendProfile& before) {
  profile.calls -= before.calls;
  profile.seconds -= before.seconds;
  if (before.first_seconds > 0) profile.first_seconds = 0;  // the first call was before
  for (std::size_t i = 0; i < std::min(profile.steps.size(), before.steps.size()); ++i) {
    BackendStep& step = profile.steps[i];
    const BackendStep& old = before.steps[i];
    step.calls -= old.calls;
    step.seconds -= old.seconds;
    step.bytes -= old.bytes;
    step.operations -= old.operations;
    if (old.first_seconds > 0) step.first_seconds = step.first_bytes = step.first_operations = 0;
  }
  const std::int64_t last = before.bindings.empty() ? 0 : before.bindings.back().number;
  std::erase_if(profile.bindings, [&](const BackendBinding& one) { return one.number <= last; });
}

}  // namespace kiln::runtime
