// Starts ranks, and words what they find.
#include "tests/distributed/collectives/session_ranks.h"
#include "tests/distributed/group/group_ranks.h"

#include <cmath>
#include <cstring>
#include <regex>
#include <sstream>

namespace kiln::testing {
namespace {

constexpr std::size_t kMaxText = 1500;  // several ranks' texts are printed

bool is_nan(const Array& array, std::int64_t i) {
  switch (array.dtype()) {
    case DType::Float32: return std::isnan(array.as<float>()[static_cast<std::size_t>(i)]);
    case DType::Float64: return std::isnan(array.as<double>()[static_cast<std::size_t>(i)]);
    case DType::Float16:
      return (array.as<float16>()[static_cast<std::size_t>(i)].bits & 0x7fff) > 0x7c00;
    case DType::BFloat16:
      return (array.as<bfloat16>()[static_cast<std::size_t>(i)].bits & 0x7fff) > 0x7f80;
    default: return false;
  }
}

std::string class_of(const Error& error) {
  if (const auto* told = dynamic_cast<const distributed::DistributedError*>(&error)) {
    return "DistributedError of " + std::to_string(told->rank());
  }
  if (dynamic_cast<const ValueError*>(&error)) return "ValueError";
  if (dynamic_cast<const TypeError*>(&error)) return "TypeError";
  if (dynamic_cast<const NotImplementedError*>(&error)) return "NotImplementedError";
  if (dynamic_cast<const BackendError*>(&error)) return "BackendError";
  if (dynamic_cast<const FloatingPointError*>(&error)) return "FloatingPointError";
  if (dynamic_cast<const IoError*>(&error)) return "IoError";
  return "Error";
}

}  // namespace

void Faults::expect(bool holds, std::string_view fault) {
  if (holds || text_.size() > kMaxText) return;
  text_.append(text_.empty() ? "" : "\n").append(fault);
}

void Faults::expect_equal(std::string_view subject, std::string_view found,
                          std::string_view expected) {
  if (found == expected) return;
  std::ostringstream fault;
  fault << subject << ": '" << found << "' is not '" << expected << "'";
  expect(false, fault.str());
}

void Faults::expect_equal(std::string_view subject, const Array& found, const Array& expected) {
  std::ostringstream fault;
  fault << subject << ": ";
  if (found.dtype() != expected.dtype() || !(found.dims() == expected.dims())) {
    fault << "type of " << found << " is not that of " << expected;
    return expect(false, fault.str());
  }
  const std::size_t element = dtype_bytes(found.dtype());
  const auto* a = static_cast<const char*>(found.data());
  const auto* b = static_cast<const char*>(expected.data());
  for (std::int64_t i = 0; i < found.size(); ++i, a += element, b += element) {
    if (is_nan(expected, i) ? is_nan(found, i) : std::memcmp(a, b, element) == 0) continue;
    fault << "element " << i << " differs in bits";
    return expect(false, fault.str());
  }
}

distributed::InitOptions options_of(const fake::Ranks& ranks, std::uint32_t rank) {
  distributed::InitOptions options{.communicator = fake_communicator()};
  for (const auto& [key, value] : ranks.options(rank)) options.options[key] = value;
  return options;
}

std::string run_sessions(fake::Ranks& ranks, const RankBody& body) {
  const auto ends = ranks.run([&](std::uint32_t rank) {
    const auto world = distributed::init(options_of(ranks, rank));
    return body(world);
  });
  std::ostringstream faults;
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    if (ends[rank] != fake::RankEnd{}) faults << "rank " << rank << ": " << ends[rank] << "\n";
  }
  return faults.str();
}

std::string run_sessions(const fake::Settings& settings, const RankBody& body) {
  fake::Ranks ranks(settings);
  return run_sessions(ranks, body);
}

std::string printed(const Array& array) {
  std::ostringstream out;
  out << array;
  return out.str();
}

std::string thrown_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return class_of(error) + ": " + error.message();
  } catch (const std::exception& error) {
    return std::string("another exception: ") + error.what();
  }
  return "no error";
}

std::string without_lines(const std::string& text) {
  return std::regex_replace(text, std::regex(R"(\([^ ()]+:[0-9]+\))"), "(LINE)");
}

}  // namespace kiln::testing
