// Writes numbers and random states of a checkpoint as texts; reads and checks them.
#include "runtime/train/checkpoint_metadata.h"

#include "core/types/text.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace kiln {
namespace {

constexpr const char* kVersionKey = "kiln.checkpoint";
constexpr const char* kVersion = "1";
constexpr std::string_view kNumberPrefix = "number.";
constexpr const char* kProcessKey = "random.process";

std::vector<RandomState> states_of(const CheckpointOptions& options) {
  if (!options.random.empty()) return options.random;
  return {RandomState::of_process()};
}

std::string random_key(std::size_t i) { return text("random.", i); }
std::string key_of(const CheckpointNumber& number) { return text(kNumberPrefix, number.name()); }

std::string text_of(const RandomPosition& position) {
  return text(position.seed, " ", position.seeds_drawn, " ", position.next_call);
}

/// Parses text_of(); nothing for another text.
std::optional<RandomPosition> parse_position(const std::string& text) {
  RandomPosition position;
  const CheckpointNumber fields[] = {{"seed", &position.seed},
                                     {"seeds_drawn", &position.seeds_drawn},
                                     {"next_call", &position.next_call}};
  std::size_t begin = 0;
  for (const CheckpointNumber& field : fields) {
    if (begin > text.size()) return std::nullopt;
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!field.accepts(word)) return std::nullopt;
    field.set(word);
    begin = end + 1;
  }
  if (begin != text.size() + 1) return std::nullopt;
  const bool is_valid = position.seeds_drawn >= 0 && position.next_call >= 0 &&
                        position.seeds_drawn <= RandomPosition::kMaxSeedsDrawn;
  return is_valid ? std::optional(position) : std::nullopt;
}

bool is_number(const std::string& value) {
  double number = 0;
  return CheckpointNumber("number", &number).accepts(value);
}

std::string joined(const std::set<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += text(all.empty() ? "'" : ", '", name, "'");
  return all;
}

}  // namespace

WeightsMetadata checkpoint_metadata(const CheckpointOptions& options) {
  WeightsMetadata metadata{{kVersionKey, kVersion}};
  for (const CheckpointNumber& number : options.numbers) {
    metadata[key_of(number)] = number.text();
  }
  const std::vector<RandomState> states = states_of(options);
  for (std::size_t i = 0; i < states.size(); ++i) {
    metadata[random_key(i)] = text_of(states[i].position());
  }
  metadata[kProcessKey] = text_of(RandomState::of_process().position());
  return metadata;
}

CheckpointReader::CheckpointReader(const char* function, const std::string& path,
                                   const CheckpointOptions& options)
    : function_(function), path_(path), options_(options), states_(states_of(options)) {}

void CheckpointReader::check(const WeightsMetadata& metadata) {
  metadata_ = metadata;
  require_version();
  require_same_numbers();
  for (const CheckpointNumber& number : options_.numbers) {
    require_accepted(number);
    numbers_.push_back(metadata_.at(key_of(number)));
  }
  positions_ = read_positions();
  process_ = read_position(kProcessKey);
  require_seeds();
}

void CheckpointReader::set() const {
  for (std::size_t i = 0; i < numbers_.size(); ++i) options_.numbers[i].set(numbers_[i]);
  for (std::size_t i = 0; i < states_.size(); ++i) states_[i].set_position(positions_[i]);
  if (!options_.random.empty()) RandomState::of_process().set_position(process_);
}

void CheckpointReader::require_version() const {
  const auto version = metadata_.find(kVersionKey);
  if (version == metadata_.end()) {
    reject(text(path_, " is no checkpoint but a file of weights; load_weights loads it"));
  }
  if (version->second == kVersion) return;
  reject(text(path_, " is a checkpoint of version '", version->second,
              "'; this version of Kiln reads '", kVersion, "'"));
}

void CheckpointReader::require_same_numbers() const {
  std::set<std::string> only_here, only_in_file;
  for (const CheckpointNumber& number : options_.numbers) only_here.insert(number.name());
  for (const auto& [key, value] : metadata_) {
    if (!key.starts_with(kNumberPrefix)) continue;
    const std::string name = key.substr(kNumberPrefix.size());
    if (only_here.erase(name) == 0) only_in_file.insert(name);
  }
  if (only_here.empty() && only_in_file.empty()) return;
  std::string message = text("the numbers of ", path_, " and of this training differ: ");
  if (!only_here.empty()) message += text("the file lacks ", joined(only_here));
  if (!only_here.empty() && !only_in_file.empty()) message += "; ";
  if (!only_in_file.empty()) message += text(".numbers lacks ", joined(only_in_file));
  reject(message);
}

void CheckpointReader::require_accepted(const CheckpointNumber& number) const {
  const std::string& value = metadata_.at(key_of(number));
  if (number.accepts(value)) return;
  if (!is_number(value)) damaged(text("number '", number.name(), "' is '", value, "'"));
  reject(text("number '", number.name(), "' of ", path_, " is ", value,
              ", which is no value of its type here"));
}

std::vector<RandomPosition> CheckpointReader::read_positions() const {
  std::size_t count = 0;
  while (metadata_.count(random_key(count)) != 0) ++count;
  if (count != states_.size()) {
    reject(text(path_, " has random states: ", count, ", and this training: ", states_.size()));
  }
  std::vector<RandomPosition> positions;
  for (std::size_t i = 0; i < count; ++i) positions.push_back(read_position(random_key(i)));
  return positions;
}

RandomPosition CheckpointReader::read_position(const std::string& key) const {
  const auto value = metadata_.find(key);
  if (value == metadata_.end()) damaged(text("its metadata lacks '", key, "'"));
  const auto position = parse_position(value->second);
  if (!position) damaged(text("its metadata '", key, "' is '", value->second, "'"));
  return *position;
}

/// Rejects a file if functions drew and the ops here have seeds of another generator, as far as the
/// states show it. Where no state of the training gave seeds, ops have those of the process's.
void CheckpointReader::require_seeds() const {
  bool draws = false, gave_seeds = false;
  for (const RandomPosition& position : positions_) {
    draws = draws || position.next_call > 0;
    gave_seeds = gave_seeds || position.seeds_drawn > 0;
  }
  if (!draws) return;
  for (std::size_t i = 0; i < options_.random.size(); ++i) {
    require_seed(text("random[", i, "]"), positions_[i], states_[i].position(),
                 "give it this seed before the model is built");
  }
  if (!options_.random.empty() && gave_seeds) return;
  require_seed("the process", process_, RandomState::of_process().position(),
               "call set_random_seed with this seed before the model is built, or build it in a "
               "RandomScope");
}

void CheckpointReader::require_seed(const std::string& name, const RandomPosition& file,
                                    const RandomPosition& here, const std::string& remedy) const {
  if (file.seed == here.seed || here.seeds_drawn == 0) return;
  reject(text("functions of the training of ", path_, " draw, and ops and variables here took ",
              "seeds from ", name, " with the seed ", here.seed, ", not ", file.seed, ": ",
              remedy));
}

void CheckpointReader::reject(const std::string& message) const {
  throw ValueError(function_, "path", message);
}

void CheckpointReader::damaged(const std::string& message) const {
  throw IoError("", "path", text(path_, " is damaged: ", message));
}

}  // namespace kiln
