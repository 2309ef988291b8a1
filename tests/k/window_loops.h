// Convolutions and pooling as plain loops over indices, in double, with which sweeps are compared.
// Everything has three spatial axes, of which unused ones have one element; channels are last.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace kiln::test::loops {

using Doubles = std::vector<double>;
using Three = std::array<std::int64_t, 3>;

/// Windows along one axis: `out` positions, the first of which begins `before` the first element.
struct Axis {
  std::int64_t n = 1, k = 1, stride = 1, dilation = 1, out = 1, before = 0;

  /// The element under tap `tap` of position `position`, or -1 in the padding.
  std::int64_t at(std::int64_t position, std::int64_t tap) const {
    const std::int64_t i = position * stride + tap * dilation - before;
    return i >= 0 && i < n ? i : -1;
  }
};

/// The arithmetic of the specification. `out` is 0 where a filter does not fit.
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
  std::int64_t positions() const { return axes[0].out * axes[1].out * axes[2].out; }
  std::int64_t taps() const { return axes[0].k * axes[1].k * axes[2].k; }

  /// Calls visit(position, tap, element) for each tap that meets an element: numbers in C order, of
  /// a sample's positions, of a window's taps and of a sample's spatial elements.
  template <class Visit>
  void each(const Visit& visit) const {
    const auto& [a, b, c] = axes;
    for (std::int64_t position = 0; position < positions(); ++position) {
      const Three p{position / (b.out * c.out), position / c.out % b.out, position % c.out};
      for (std::int64_t tap = 0; tap < taps(); ++tap) {
        const std::int64_t i = a.at(p[0], tap / (b.k * c.k)), j = b.at(p[1], tap / c.k % b.k),
                           l = c.at(p[2], tap % c.k);
        if (i >= 0 && j >= 0 && l >= 0) visit(position, tap, (i * b.n + j) * c.n + l);
      }
    }
  }
};

inline double& at(Doubles& list, std::int64_t i) { return list[static_cast<std::size_t>(i)]; }
inline double at(const Doubles& list, std::int64_t i) { return list[static_cast<std::size_t>(i)]; }
inline Doubles zeros(std::int64_t count) { return Doubles(static_cast<std::size_t>(count), 0.0); }

/// The operand to which products are added: y += x filter for every tap, or one of the transposes.
enum class Role { Output, Input, Filter };

/// Convolution of x (batch, elements, channels), filter (taps, channels, filters), y (batch,
/// positions, filters); the one of that role is computed from the others.
inline void convolve(const Windows& w, std::int64_t filters, Role role, Doubles& x, Doubles& filter,
                     Doubles& y) {
  const std::int64_t elements = w.elements() / std::max<std::int64_t>(w.batch * w.channels, 1);
  for (std::int64_t s = 0; s < w.batch; ++s) {
    w.each([&](std::int64_t position, std::int64_t tap, std::int64_t element) {
      for (std::int64_t c = 0; c < w.channels; ++c) {
        for (std::int64_t f = 0; f < filters; ++f) {
          double& xi = at(x, (s * elements + element) * w.channels + c);
          double& weight = at(filter, (tap * w.channels + c) * filters + f);
          double& yi = at(y, (s * w.positions() + position) * filters + f);
          if (role == Role::Output) yi += xi * weight;
          if (role == Role::Input) xi += yi * weight;
          if (role == Role::Filter) weight += xi * yi;
        }
      }
    });
  }
}

/// Pooling and its gradient for the upstream gradient dy, which equal maxima share equally.
struct Pooled {
  Doubles y, dx;
};
inline Pooled pool(const Windows& w, bool is_max, const Doubles& x, const Doubles& dy) {
  const std::int64_t elements = w.elements() / std::max<std::int64_t>(w.batch * w.channels, 1);
  Pooled result{zeros(w.batch * w.positions() * w.channels), zeros(w.elements())};
  for (std::int64_t s = 0; s < w.batch; ++s) {
    for (std::int64_t c = 0; c < w.channels; ++c) {
      const auto x_at = [&](std::int64_t e) { return (s * elements + e) * w.channels + c; };
      const auto y_at = [&](std::int64_t p) { return (s * w.positions() + p) * w.channels + c; };
      Doubles best(static_cast<std::size_t>(w.positions()),
                   -std::numeric_limits<double>::infinity());
      Doubles count = zeros(w.positions());
      w.each([&](std::int64_t position, std::int64_t, std::int64_t element) {
        at(best, position) = std::max(at(best, position), at(x, x_at(element)));
        at(result.y, y_at(position)) += at(x, x_at(element));
      });
      w.each([&](std::int64_t position, std::int64_t, std::int64_t element) {
        if (!is_max || at(x, x_at(element)) == at(best, position)) at(count, position) += 1;
      });
      w.each([&](std::int64_t position, std::int64_t, std::int64_t element) {
        if (is_max && at(x, x_at(element)) != at(best, position)) return;
        at(result.dx, x_at(element)) += at(dy, y_at(position)) / at(count, position);
      });
      for (std::int64_t p = 0; p < w.positions(); ++p) {
        double& y = at(result.y, y_at(p));
        y = is_max ? at(best, p) : y / at(count, p);
      }
    }
  }
  return result;
}

}  // namespace kiln::test::loops
