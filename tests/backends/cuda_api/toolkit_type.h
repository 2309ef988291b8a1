// Maps each type of Kiln's own to the toolkit's type, to compare declarations.
#pragma once

#include <type_traits>

namespace cuda_api_test {

template <class Own>
struct Toolkit {
  using type = Own;
};
template <class Own>
struct Toolkit<const Own> {
  using type = const typename Toolkit<Own>::type;
};
template <class Own>
struct Toolkit<Own*> {
  using type = typename Toolkit<Own>::type*;
};
template <class Result, class... Arguments>
struct Toolkit<Result(Arguments...)> {
  using type = typename Toolkit<Result>::type(typename Toolkit<Arguments>::type...);
};

template <class Own, class Theirs>
constexpr bool kSameType = std::is_same_v<typename Toolkit<Own>::type, Theirs>;

template <class Member>
struct MemberType;
template <class Struct, class Type>
struct MemberType<Type Struct::*> {
  using type = Type;
};

}  // namespace cuda_api_test

/// Maps `own` to `theirs`, which must have its size. REQUIRES: outside of any namespace.
#define TOOLKIT_TYPE(own, theirs)                   \
  template <>                                       \
  struct cuda_api_test::Toolkit<own> {              \
    using type = theirs;                            \
    static_assert(sizeof(own) == sizeof(theirs));   \
    static_assert(alignof(own) == alignof(theirs)); \
  };
#define TOOLKIT_ENUMERATION(own, theirs, enumerators) TOOLKIT_TYPE(own, theirs)

/// Checks that the fields have equal offset, size and type.
#define SAME_FIELD(own, field, theirs, their_field)                     \
  static_assert(offsetof(own, field) == offsetof(theirs, their_field)); \
  static_assert(sizeof(own::field) == sizeof(theirs::their_field));     \
  static_assert(kSameType<MemberType<decltype(&own::field)>::type, decltype(theirs::their_field)>)
