// The smallest program against an installed Kiln, which the installation test builds and runs.
// Given the path of a backend that doubles its input, it also runs there.
#include <kiln/k.h>

int main(int count, char** arguments) {
  const auto x = kiln::placeholder({.shape = {kiln::None}});
  const auto runs = [&] {
    return kiln::function({x}, {x * 2})({kiln::Array{1.f, 2.f}})[0].at<float>(1) == 4;
  };
  if (!runs()) return 1;
  if (count < 2) return 0;
  kiln::set_backend(arguments[1]);
  return runs() && kiln::backend() == arguments[1] ? 0 : 2;
}
