// Writes and reads the fields in the order of CollectiveAttrs::fields().
#include "core/ops/collective_payload.h"

#include <charconv>
#include <tuple>
#include <type_traits>

namespace kiln::ir {
namespace {

constexpr std::string_view kOmitted = "id";  // the payload has the number instead

/// Removes a number from the beginning of the text, and a space after it.
bool take(std::string_view& text, std::int64_t& number) {
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || (parsed != end && *parsed != ' ')) return false;
  const bool is_last = parsed == end;
  text.remove_prefix(static_cast<std::size_t>(parsed - text.data()) + (is_last ? 0 : 1));
  return is_last || !text.empty();
}

bool is_valid(const CollectiveAttrs& attrs) {
  return attrs.kind >= CollectiveKind::AllReduce && attrs.kind <= CollectiveKind::Reduce &&
         attrs.reduction >= CollectiveReduction::Sum &&
         attrs.reduction <= CollectiveReduction::Min && attrs.axis >= 0 && attrs.group >= 0 &&
         attrs.ranks >= 1 && attrs.root >= 0 && attrs.root < attrs.ranks;
}

}  // namespace

std::string encode(const CollectivePayload& payload) {
  std::string text = std::to_string(payload.number);
  const auto add = [&](std::string_view name, std::int64_t value) {
    if (name != kOmitted) text += " " + std::to_string(value);
  };
  std::apply(
      [&](const auto&... fields) {
        (add(fields.name, static_cast<std::int64_t>(payload.attrs.*(fields.member))), ...);
      },
      CollectiveAttrs::fields());
  return text;
}

std::optional<CollectivePayload> decode_collective(std::string_view text) {
  CollectivePayload payload;
  bool is_read = take(text, payload.number) && payload.number >= 0;
  const auto read = [&](std::string_view name, auto& member) {
    if (name == kOmitted) return;
    std::int64_t number = 0;
    is_read = is_read && take(text, number);
    member = static_cast<std::remove_reference_t<decltype(member)>>(number);
  };
  std::apply(
      [&](const auto&... fields) { (read(fields.name, payload.attrs.*(fields.member)), ...); },
      CollectiveAttrs::fields());
  if (!is_read || !text.empty() || !is_valid(payload.attrs)) return std::nullopt;
  return payload;
}

}  // namespace kiln::ir
