// The smallest program against an installed Kiln: built and run by the test of the installation.
#include <kiln/k.h>
int main() {
  const auto x = kiln::placeholder({.shape = {kiln::None}});
  return kiln::function({x}, {x * 2})({kiln::Array{1.f, 2.f}})[0].at<float>(1) == 4 ? 0 : 1;
}
