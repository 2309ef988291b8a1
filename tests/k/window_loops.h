// Convolutions and pooling as plain loops over indices, in double: what the sweeps compare with.
// Everything has three spatial axes, of which the unused ones have one element; channels are last.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace kiln::test::loops {

using Doubles = std::vector<double>;
using Three = std::array<std::int64_t, 3>;

/// Windows along one axis: `out` places, the first of which begins `before` the first element.
struct Axis {
  std::int64_t n = 1, k = 1, stride = 1, dilation = 1, out = 1, before = 0;

  /// The element under tap `tap` of place `place`, or -1 in the padding.
  std::int64_t at(std::int64_t place, std::int64_t tap) const {
    const std::int64_t i = place * stride + tap * dilation - before;
    return i >= 0 && i < n ? i : -1;
  }
};

/// The arithmetic of the specification. `out` is 0 where a kernel does not fit.
inline Axis axis(std::int64_t n, std::int64_t k, std::int64_t stride, std::int64_t dilation,
                 char padding) {
  const std::int64_t ke = (k - 1) * dilation + 1;
  Axis a{n, k, stride, dilation, 0, 0};
  if (padding == 'v') {
    a.out = n < ke ? 0 : (n - ke) / stride + 1;
    return a;
  }
  a.out = (n + stride - 1) / stride;
  a.before = padding == 'c' ? ke - 1 : std::max<std::int64_t>((a.out - 1) * stride + ke - n, 0) / 2;
  return a;
}

struct Windows {
  std::int64_t batch = 1, channels = 1;
  std::array<Axis, 3> axes = {};

  std::int64_t elements() const { return batch * axes[0].n * axes[1].n * axes[2].n * channels; }
  std::int64_t places() const { return axes[0].out * axes[1].out * axes[2].out; }
  std::int64_t taps() const { return axes[0].k * axes[1].k * axes[2].k; }

  /// Calls visit(place, tap, element) for each tap that meets an element: numbers in C order, of a
  /// sample's places, of a window's taps and of a sample's spatial elements.
  template <class Visit>
  void each(const Visit& visit) const {
    const auto& [a, b, c] = axes;
    for (std::int64_t place = 0; place < places(); ++place) {
      const Three p{place / (b.out * c.out), place / c.out % b.out, place % c.out};
      for (std::int64_t tap = 0; tap < taps(); ++tap) {
        const std::int64_t i = a.at(p[0], tap / (b.k * c.k)), j = b.at(p[1], tap / c.k % b.k),
                           l = c.at(p[2], tap % c.k);
        if (i >= 0 && j >= 0 && l >= 0) visit(place, tap, (i * b.n + j) * c.n + l);
      }
    }
  }
};

inline double& at(Doubles& list, std::int64_t i) { return list[static_cast<std::size_t>(i)]; }
inline double at(const Doubles& list, std::int64_t i) { return list[static_cast<std::size_t>(i)]; }
inline Doubles zeros(std::int64_t count) { return Doubles(static_cast<std::size_t>(count), 0.0); }

/// y += x kernel for every tap; or, given y, the transposes of that.
enum class Role { Output, Input, Kernel };

/// Convolution of x (batch, elements, channels), kernel (taps, channels, filters), y (batch,
/// places, filters); the one of that role is computed from the others.
inline void convolve(const Windows& w, std::int64_t filters, Role role, Doubles& x,
                     Doubles& kernel, Doubles& y) {
  const std::int64_t elements = w.elements() / std::max<std::int64_t>(w.batch * w.channels, 1);
  for (std::int64_t s = 0; s < w.batch; ++s) {
    w.each([&](std::int64_t place, std::int64_t tap, std::int64_t element) {
      for (std::int64_t c = 0; c < w.channels; ++c) {
        for (std::int64_t f = 0; f < filters; ++f) {
          double& xi = at(x, (s * elements + element) * w.channels + c);
          double& ki = at(kernel, (tap * w.channels + c) * filters + f);
          double& yi = at(y, (s * w.places() + place) * filters + f);
          if (role == Role::Output) yi += xi * ki;
          if (role == Role::Input) xi += yi * ki;
          if (role == Role::Kernel) ki += xi * yi;
        }
      }
    });
  }
}

/// Pooling and its gradient for the upstream gradient dy; equal maxima share it equally.
struct Pooled {
  Doubles y, dx;
};
inline Pooled pool(const Windows& w, bool is_max, const Doubles& x, const Doubles& dy) {
  const std::int64_t elements = w.elements() / std::max<std::int64_t>(w.batch * w.channels, 1);
  Pooled result{zeros(w.batch * w.places() * w.channels), zeros(w.elements())};
  for (std::int64_t s = 0; s < w.batch; ++s) {
    for (std::int64_t c = 0; c < w.channels; ++c) {
      const auto x_at = [&](std::int64_t e) { return (s * elements + e) * w.channels + c; };
      const auto y_at = [&](std::int64_t p) { return (s * w.places() + p) * w.channels + c; };
      Doubles best(static_cast<std::size_t>(w.places()), -std::numeric_limits<double>::infinity());
      Doubles count = zeros(w.places());
      w.each([&](std::int64_t place, std::int64_t, std::int64_t element) {
        at(best, place) = std::max(at(best, place), at(x, x_at(element)));
        at(result.y, y_at(place)) += at(x, x_at(element));
      });
      w.each([&](std::int64_t place, std::int64_t, std::int64_t element) {
        if (!is_max || at(x, x_at(element)) == at(best, place)) at(count, place) += 1;
      });
      w.each([&](std::int64_t place, std::int64_t, std::int64_t element) {
        if (is_max && at(x, x_at(element)) != at(best, place)) return;
        at(result.dx, x_at(element)) += at(dy, y_at(place)) / at(count, place);
      });
      for (std::int64_t p = 0; p < w.places(); ++p) {
        double& y = at(result.y, y_at(p));
        y = is_max ? at(best, p) : y / at(count, p);
      }
    }
  }
  return result;
}

}  // namespace kiln::test::loops
