// Only types whose bytes are those of a NumPy dtype have a name: elements are read as they are.
#include "runtime/hdf5/element_type.h"

#include <cstring>
#include <string_view>

namespace kiln::hdf5 {
namespace {

/// Sizes in bits and the bias of the exponent.
struct FloatFormat {
  std::size_t bytes, exponent, mantissa, bias;
  const char* kind;
};
constexpr FloatFormat kFloats[] = {
    {2, 5, 10, 15, "f2"}, {2, 8, 7, 127, "V2"}, {4, 8, 23, 127, "f4"}, {8, 11, 52, 1023, "f8"}};

std::string sized(const char* noun, hid_t type) {
  return std::string(noun) + " of " + std::to_string(H5Tget_size(type)) + " bytes";
}

/// Whether the elements have no padding, and their bytes are in order or reversed.
bool is_plain(hid_t type) {
  const H5T_order_t order = H5Tget_order(type);
  return H5Tget_offset(type) == 0 && H5Tget_precision(type) == 8 * H5Tget_size(type) &&
         (order == H5T_ORDER_LE || order == H5T_ORDER_BE);
}

std::string with_order(hid_t type, std::string_view kind) {
  const char order = kind[1] == '1' ? '|' : H5Tget_order(type) == H5T_ORDER_BE ? '>' : '<';
  return order + std::string(kind);
}

ElementType integer_type(hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  if (!is_plain(type) || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)) {
    return {"", sized("an integer", type)};
  }
  const char* const kind = H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "i";
  return {with_order(type, kind + std::to_string(bytes)), ""};
}

ElementType float_type(hid_t type) {
  std::size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
  checked(H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits));
  const std::size_t bytes = H5Tget_size(type);
  for (const FloatFormat& format : kFloats) {
    const bool is_equal = bytes == format.bytes && exponent_bits == format.exponent &&
                          mantissa_bits == format.mantissa && mantissa == 0 &&
                          exponent == mantissa_bits && sign == 8 * bytes - 1 &&
                          H5Tget_ebias(type) == format.bias &&
                          H5Tget_norm(type) == H5T_NORM_IMPLIED;
    if (is_equal && is_plain(type)) return {with_order(type, format.kind), ""};
  }
  return {"", sized("a floating-point number", type)};
}

bool has_member(hid_t type, const char* name, char expected) {
  const int number = H5Tget_member_index(type, name);
  char value = 0;
  return number >= 0 && H5Tget_member_value(type, static_cast<unsigned>(number), &value) >= 0 &&
         value == expected;
}

ElementType enumeration_type(hid_t type) {
  const bool is_bool = H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2 &&
                       has_member(type, "FALSE", 0) && has_member(type, "TRUE", 1);
  return is_bool ? ElementType{"|b1", ""} : ElementType{"", "an enumeration"};
}

hid_t float16_type() {
  const FloatFormat& format = kFloats[0];
  Handle type(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  checked(H5Tset_fields(type, 15, format.mantissa, format.exponent, 0, format.mantissa));
  checked(H5Tset_size(type, format.bytes));
  checked(H5Tset_ebias(type, format.bias));
  return type.release();
}

hid_t bool_type() {
  Handle type(H5Tenum_create(H5T_STD_I8LE), H5Tclose);
  const char no = 0, yes = 1;
  checked(H5Tenum_insert(type, "FALSE", &no));
  checked(H5Tenum_insert(type, "TRUE", &yes));
  return type.release();
}

hid_t bfloat16_type() {
  Handle type(H5Tcreate(H5T_OPAQUE, 2), H5Tclose);
  checked(H5Tset_tag(type, ""));
  return type.release();
}

}  // namespace

ElementType element_type(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: return integer_type(type);
    case H5T_FLOAT: return float_type(type);
    case H5T_ENUM: return enumeration_type(type);
    case H5T_OPAQUE:
      if (H5Tget_size(type) == 2) return {"<V2", ""};
      return {"", sized("an opaque element", type)};
    case H5T_STRING: return {"", "a text"};
    case H5T_COMPOUND: return {"", "a structure"};
    default: return {"", "another type"};
  }
}

hid_t type_of(const std::string& dtype) {
  if (dtype == "|b1") return bool_type();
  if (dtype == "<f2") return float16_type();
  if (dtype == "<V2") return bfloat16_type();
  const struct {
    std::string_view dtype;
    hid_t type;
  } types[] = {{"|i1", H5T_STD_I8LE},  {"<i2", H5T_STD_I16LE}, {"<i4", H5T_STD_I32LE},
               {"<i8", H5T_STD_I64LE}, {"|u1", H5T_STD_U8LE},  {"<u2", H5T_STD_U16LE},
               {"<u4", H5T_STD_U32LE}, {"<u8", H5T_STD_U64LE}, {"<f4", H5T_IEEE_F32LE},
               {"<f8", H5T_IEEE_F64LE}};
  for (const auto& row : types) {
    if (row.dtype == dtype) return checked(H5Tcopy(row.type));
  }
  throw Rejection("has no elements of dtype " + dtype);
}

}  // namespace kiln::hdf5
