// Groups of ranks that are threads of a test.
#pragma once

#include "runtime/distributed/group.h"
#include "tests/distributed/fake/world/run_ranks.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace kiln::testing {

/// The path of the fake communicator.
std::string fake_communicator();

/// Joins the fake's world as that rank.
std::unique_ptr<runtime::distributed::Group> open_group(
    const fake::Ranks& ranks, std::uint32_t rank,
    const runtime::distributed::WaitLimits& limits = {},
    const runtime::distributed::Clock& clock = runtime::distributed::steady_time);

/// The body of a rank in its group.
using GroupFunction =
    std::function<std::string(runtime::distributed::Group& group, std::uint32_t rank)>;

/// The result, or the text of the Error that it throws, without its function and line.
std::string text_or_error(const std::function<std::string()>& body);

/// Runs the function in a group of threads, after which each rank leaves. Returns text_or_error()
/// of each.
std::vector<std::string> run_groups(fake::Settings settings, const GroupFunction& function);

}  // namespace kiln::testing
