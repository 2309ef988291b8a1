// Opens groups on the fake communicator.
#include "tests/distributed/group/group_ranks.h"

#include <kiln/error.h>

#include "tests/support/build_folder.h"

namespace kiln::testing {

using runtime::distributed::Group;

std::string fake_communicator() { return build_folder() + "/lib/tests/libkilncomm_fake.so"; }

std::unique_ptr<Group> open_group(const fake::Ranks& ranks, std::uint32_t rank,
                                  const runtime::distributed::WaitLimits& limits,
                                  const runtime::distributed::Clock& clock) {
  runtime::distributed::CommunicatorOptions options;
  for (const auto& [key, value] : ranks.options(rank)) options[key] = value;
  const auto& library =
      runtime::distributed::open_communicator_library(fake_communicator(), "open_group");
  return std::make_unique<Group>(library, options, limits, clock);
}

std::string text_or_error(const std::function<std::string()>& body) {
  try {
    return body();
  } catch (const Error& error) {
    return error.message().substr(error.function().size() + 2);
  }
}

std::vector<std::string> run_groups(fake::Settings settings, const GroupFunction& function) {
  settings.threads = true;
  fake::Ranks ranks(settings);
  std::vector<std::string> texts;
  for (const fake::RankEnd& end : ranks.run([&](std::uint32_t rank) {
         const auto group = open_group(ranks, rank);
         const std::string text = text_or_error([&] { return function(*group, rank); });
         group->leave("its part is over");
         return text;
       })) {
    texts.push_back(end.text);
  }
  return texts;
}

}  // namespace kiln::testing
