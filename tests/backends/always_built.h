// The backends that every build with these tests has.
#pragma once

namespace kiln::test {

inline constexpr const char* kBackends[] = {"reference", "cpu"};

}  // namespace kiln::test
