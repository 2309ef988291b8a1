// Initializers by name, and checks of what an initializer makes.
#include <kiln/initializers.h>
#include <kiln/k.h>

#include "runtime/train/at_call.h"
#include "runtime/train/by_name.h"

namespace kiln {
namespace {

struct NamedInitializer {
  const char* name;
  Initializer (*make)();
};

template <auto Factory, class Options>
Initializer default_of() {
  return Factory(Options{});
}
template <auto Factory, class Options>
Initializer checked_default_of() {
  return Factory(Options{}, Where::here());
}

namespace is = initializers;

constexpr NamedInitializer kInitializers[] = {
    {"zeros", &is::Zeros},
    {"zero", &is::Zeros},
    {"ones", &is::Ones},
    {"one", &is::Ones},
    {"constant", &default_of<&is::Constant, is::ConstantOptions>},
    {"random_normal", &checked_default_of<&is::RandomNormal, is::RandomNormalOptions>},
    {"normal", &checked_default_of<&is::RandomNormal, is::RandomNormalOptions>},
    {"random_uniform", &checked_default_of<&is::RandomUniform, is::RandomUniformOptions>},
    {"uniform", &checked_default_of<&is::RandomUniform, is::RandomUniformOptions>},
    {"truncated_normal", &checked_default_of<&is::TruncatedNormal, is::RandomNormalOptions>},
    {"variance_scaling", &checked_default_of<&is::VarianceScaling, is::VarianceScalingOptions>},
    {"glorot_normal", &default_of<&is::GlorotNormal, is::SeedOptions>},
    {"glorot_uniform", &default_of<&is::GlorotUniform, is::SeedOptions>},
    {"he_normal", &default_of<&is::HeNormal, is::SeedOptions>},
    {"he_uniform", &default_of<&is::HeUniform, is::SeedOptions>},
    {"lecun_normal", &default_of<&is::LecunNormal, is::SeedOptions>},
    {"lecun_uniform", &default_of<&is::LecunUniform, is::SeedOptions>},
    {"orthogonal", &checked_default_of<&is::Orthogonal, is::OrthogonalOptions>},
    {"identity", &default_of<&is::Identity, is::IdentityOptions>}};

Initializer initializer_of(const std::string& name, Where where) {
  return named_call("Initializer", where, [&]() -> Initializer {
    return entry_named(kInitializers, "Initializer", "name", "initializer", name, where).make();
  });
}

}  // namespace

Initializer::Initializer(const char* name, Where where)
    : Initializer(initializer_of(name ? name : "", where)) {}
Initializer::Initializer(const std::string& name, Where where)
    : Initializer(initializer_of(name, where)) {}

Array Initializer::operator()(const std::vector<std::int64_t>& shape, const DTypeArgument& dtype,
                              Where where) const {
  return at_call("Initializer", where, [&] {
    if (!make_) throw ValueError("Initializer", "", "the function is empty");
    for (const std::int64_t size : shape) {
      if (size >= 0) continue;
      throw ValueError("Initializer", "shape",
                       text("shape (", join_text(shape), ") has a negative size"));
    }
    const std::string name = dtype.is_set() ? dtype.name() : floatx(where);
    const std::optional<DType> wanted = dtype_of_name(name);
    if (!wanted) throw TypeError("Initializer", "dtype", text("unknown dtype '", name, "'"));
    Array made = make_(shape, *wanted);
    if (made.dtype() == *wanted && std::vector<std::int64_t>(made.dims()) == shape) return made;
    throw ValueError(
        "Initializer", "",
        text("the function returned ", made.dtype(), " of shape (", join_text(made.dims()),
             "), not ", *wanted, " of shape (", join_text(shape), ")"));
  });
}

}  // namespace kiln
