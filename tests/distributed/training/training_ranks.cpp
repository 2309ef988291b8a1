// Forks the ranks; texts are all that they tell the test.
#include "tests/distributed/training/training_ranks.h"

#include "tests/distributed/group/group_ranks.h"

#include <kiln/k.h>

#include <cstddef>
#include <cstdio>
#include <regex>

namespace kiln::testing {

std::vector<std::string> texts_of_ranks(
    std::uint32_t ranks, const std::string& backend,
    const std::function<std::string(const distributed::Session& world)>& function) {
  fake::Ranks world({.ranks = ranks == kAlone ? 1 : ranks, .seed = 1});
  std::vector<std::string> texts;
  for (const fake::RankEnd& end : world.run([&](std::uint32_t rank) {
         distributed::InitOptions options;
         if (ranks != kAlone) {
           options.communicator = fake_communicator();
           for (const auto& [key, value] : world.options(rank)) options.options[key] = value;
         }
         const distributed::Session session = distributed::init(options);
         set_backend(backend);
         return function(session);
       })) {
    const bool has_ended = end.status == 0;
    texts.push_back((has_ended ? "" : "exit status " + std::to_string(end.status) + ": ") +
                    end.text);
  }
  return texts;
}

std::string error_of(const std::function<void()>& call) {
  const std::string text = text_or_error([&]() -> std::string {
    call();
    return "accepted";
  });
  return std::regex_replace(text, std::regex("[^ '([]*/([a-z_]+\\.(cpp|h)):[0-9]+"), "$1:N");
}

std::string bits_of(const std::vector<Tensor>& variables) {
  std::string lines;
  for (const Tensor& variable : variables) {
    const Array value = get_value(variable);
    std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
    const auto* bytes = static_cast<const unsigned char*>(value.data());
    for (std::size_t i = 0; i < value.bytes(); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
    char hex[17];
    std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(hash));
    lines += variable.name() + " " + hex + "\n";
  }
  return lines;
}

Array rows_of_step(std::int64_t step, std::int64_t begin, std::int64_t end,
                   std::vector<std::int64_t> sample) {
  std::int64_t size = 1;
  for (const std::int64_t dim : sample) size *= dim;
  std::vector<float> values;
  for (std::int64_t i = begin * size; i < end * size; ++i) {
    values.push_back(static_cast<float>((step * 31 + i * 17 + i * i) % 23 - 11) / 8);
  }
  sample.insert(sample.begin(), end - begin);
  return {values, sample};
}

}  // namespace kiln::testing
