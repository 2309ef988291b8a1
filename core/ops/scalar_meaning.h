// The scalar functions of elementwise ops, generic over double, int64 and uint64, as op.h specifies
// them. Integers wrap: they are computed unsigned.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace kiln::ir::meaning {

template <class T>
constexpr bool is_floating = std::is_floating_point_v<T>;
template <class T>
auto bits(T x) {
  return static_cast<std::uint64_t>(x);
}

struct Neg {
  template <class T>
  T operator()(T x) const {
    if constexpr (is_floating<T>) return -x;
    else return static_cast<T>(0 - bits(x));
  }
};
struct Abs {
  template <class T>
  T operator()(T x) const {
    if constexpr (is_floating<T>) return std::fabs(x);
    else if constexpr (std::is_signed_v<T>) return x < 0 ? Neg()(x) : x;
    else return x;
  }
};
struct Sign {
  template <class T>
  T operator()(T x) const {
    if constexpr (is_floating<T>) return x > 0 ? 1 : x < 0 ? -1 : x;
    else return static_cast<T>((x > 0) - (x < 0));
  }
};
struct Add {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (is_floating<T>) return x + y;
    else return static_cast<T>(bits(x) + bits(y));
  }
};
struct Sub {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (is_floating<T>) return x - y;
    else return static_cast<T>(bits(x) - bits(y));
  }
};
struct Mul {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (is_floating<T>) return x * y;
    else return static_cast<T>(bits(x) * bits(y));
  }
};
struct Div {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (is_floating<T>) return x / y;
    else if constexpr (std::is_signed_v<T>) return y == 0 ? 0 : y == -1 ? Neg()(x) : x / y;
    else return y == 0 ? 0 : x / y;
  }
};
struct Mod {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (is_floating<T>) return std::fmod(x, y);
    else if constexpr (std::is_signed_v<T>) return y == 0 || y == -1 ? 0 : x % y;
    else return y == 0 ? 0 : x % y;
  }
};
struct Pow {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (is_floating<T>) {
      return std::pow(x, y);
    } else {
      if constexpr (std::is_signed_v<T>) {
        if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
      }
      std::uint64_t result = 1, base = bits(x);
      for (std::uint64_t rest = bits(y); rest != 0; rest >>= 1) {
        if (rest & 1) result *= base;
        base *= base;
      }
      return static_cast<T>(result);
    }
  }
};
struct Maximum {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (is_floating<T>) {
      if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<T>::quiet_NaN();
      if (x == y) return std::signbit(x) ? y : x;
    }
    return x > y ? x : y;
  }
};
struct Minimum {
  template <class T>
  T operator()(T x, T y) const {
    if constexpr (is_floating<T>) {
      if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<T>::quiet_NaN();
      if (x == y) return std::signbit(x) ? x : y;
    }
    return x < y ? x : y;
  }
};
struct Equal {
  template <class T>
  bool operator()(T x, T y) const {
    return x == y;
  }
};
struct Less {
  template <class T>
  bool operator()(T x, T y) const {
    return x < y;
  }
};
struct LessEqual {
  template <class T>
  bool operator()(T x, T y) const {
    return x <= y;
  }
};
struct And {
  template <class T>
  bool operator()(T x, T y) const {
    return x != 0 && y != 0;
  }
};
struct Or {
  template <class T>
  bool operator()(T x, T y) const {
    return x != 0 || y != 0;
  }
};
struct BitAnd {
  template <class T>
  T operator()(T x, T y) const {
    return x & y;
  }
};
struct BitOr {
  template <class T>
  T operator()(T x, T y) const {
    return x | y;
  }
};
struct BitXor {
  template <class T>
  T operator()(T x, T y) const {
    return x ^ y;
  }
};
struct Not {
  template <class T>
  bool operator()(T x) const {
    return x == 0;
  }
};
struct Select {
  template <class T>
  T operator()(T c, T x, T y) const {
    return c != 0 ? x : y;
  }
};

// For floats only.
struct Floor {
  double operator()(double x) const { return std::floor(x); }
};
struct Round {
  double operator()(double x) const { return std::nearbyint(x); }
};
struct Exp {
  double operator()(double x) const { return std::exp(x); }
};
struct Expm1 {
  double operator()(double x) const { return std::expm1(x); }
};
struct Log {
  double operator()(double x) const { return std::log(x); }
};
struct Log1p {
  double operator()(double x) const { return std::log1p(x); }
};
struct Sqrt {
  double operator()(double x) const { return std::sqrt(x); }
};
struct Sin {
  double operator()(double x) const { return std::sin(x); }
};
struct Cos {
  double operator()(double x) const { return std::cos(x); }
};
struct Tanh {
  double operator()(double x) const { return std::tanh(x); }
};
struct Sigmoid {
  /// Only takes exp of numbers <= 0, which cannot overflow.
  double operator()(double x) const {
    if (x >= 0) return 1 / (1 + std::exp(-x));
    const double e = std::exp(x);
    return e / (1 + e);
  }
};
struct Erf {
  double operator()(double x) const { return std::erf(x); }
};
struct Atan {
  double operator()(double x) const { return std::atan(x); }
};

}  // namespace kiln::ir::meaning
