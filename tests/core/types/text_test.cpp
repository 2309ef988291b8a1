// Tests that text() and join_text() write each part as a string stream in the classic locale does.
#include "tests/support/catch.h"

#include "core/types/text.h"

#include <kiln/dtype.h>

#include <array>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <list>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

using kiln::join_text;
using kiln::text;

namespace {

/// The text that operator<< writes, which text() is to give.
template <class... Parts>
std::string streamed(const Parts&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  (out << ... << parts);
  return out.str();
}

template <class... Parts>
void check(const Parts&... parts) {
  CHECK(text(parts...) == streamed(parts...));
}

template <class T>
void check_integer() {
  for (const T value : {T(0), T(1), T(-1), T(9), T(10), T(-10), std::numeric_limits<T>::min(),
                        std::numeric_limits<T>::max()}) {
    check(value);
    check("of ", value, " elements");
  }
}

/// Has groups of digits and another decimal point, as German has.
struct Grouping : std::numpunct<char> {
  char do_thousands_sep() const override { return '.'; }
  char do_decimal_point() const override { return ','; }
  std::string do_grouping() const override { return "\3"; }
};

enum Unscoped { kFive = 5 };

struct Streamable {
  int value;
  friend std::ostream& operator<<(std::ostream& out, const Streamable& s) {
    return out << '<' << s.value << '>';
  }
};

/// Converts to a string other than the one that operator<< writes.
struct Convertible {
  operator std::string_view() const { return "converted"; }
  friend std::ostream& operator<<(std::ostream& out, const Convertible&) {
    return out << "written";
  }
};

}  // namespace

TEST_CASE("text: integers of every type, bool included") {
  check_integer<short>();
  check_integer<unsigned short>();
  check_integer<int>();
  check_integer<unsigned>();
  check_integer<long>();
  check_integer<unsigned long>();
  check_integer<long long>();
  check_integer<unsigned long long>();
  check(true, false);
  check(std::int8_t{65}, std::uint8_t{66});  // characters, as for streams
  check(std::size_t{7}, std::ptrdiff_t{-7}, std::int64_t{1} << 62);
}

TEST_CASE("text: strings and characters of every kind") {
  const std::string with_zero("a\0b", 3);
  const char* pointer = "pointer";
  char buffer[8] = "buffer";
  check("literal", std::string("string"), std::string_view("view"), pointer, buffer);
  check('c', static_cast<signed char>('s'), static_cast<unsigned char>('u'), '\0');
  check(with_zero, std::string_view(with_zero));
  check("a\0b");  // ends at the first zero
  check("", std::string(), std::string_view());
  check(std::string(1000, 'x'), 1, std::string(1000, 'y'));
  CHECK(text() == "");
}

TEST_CASE("text: other types are written by their operator<<") {
  check(Streamable{3}, " of ", 4);
  CHECK(text("is ", Convertible()) == "is written");
  CHECK(join_text(std::vector<Convertible>(2)) == "written, written");
  check(kiln::DType::Float32);
  check(1.5, -0.0, 1e300, 0.1f, std::numeric_limits<double>::infinity());
  check(kFive, nullptr);
  check(std::hex, 255, ' ', std::setw(4), 7, std::dec);
  const int value = 0;
  check(static_cast<const void*>(&value));
}

TEST_CASE("text: the global locale does not matter") {
  const std::locale before = std::locale::global(std::locale(std::locale(), new Grouping));
  const std::string integer = text(1234567), mixed = text(1234567, ' ', 2.5);
  const std::string joined = join_text(std::vector<int>{1000, 2000});
  std::locale::global(before);
  CHECK(integer == "1234567");
  CHECK(mixed == "1234567 2.5");
  CHECK(joined == "1000, 2000");
}

TEST_CASE("join_text: items of every kind") {
  CHECK(join_text(std::vector<int>{}) == "");
  CHECK(join_text(std::vector<int>{-1}) == "-1");
  CHECK(join_text(std::vector<std::int64_t>{1, 2, 3}, "x") == "1x2x3");
  CHECK(join_text(std::vector<bool>{true, false}) == "1, 0");
  CHECK(join_text(std::list<std::string>{"a", "", "c"}, "|") == "a||c");
  CHECK(join_text(std::array<const char*, 2>{"a", "b"}) == "a, b");
  CHECK(join_text(std::string("abc"), "-") == "a-b-c");
  CHECK(join_text(std::vector<Streamable>{{1}, {2}}) == "<1>, <2>");
  const int plain[] = {4, 5};
  CHECK(join_text(plain) == "4, 5");
}
