// The entry of a fake plugin whose header is valid except for the macros of the including file: it
// defines KILN_FAKE_NAME, and may define KILN_FAKE_API, KILN_FAKE_API_SIZE, KILN_FAKE_MAJOR,
// KILN_FAKE_LOWEST, KILN_FAKE_HIGHEST, KILN_FAKE_MAGIC, KILN_FAKE_SANITIZER and KILN_FAKE_NEXT
// before.
#pragma once

#include "backends/abi/kiln_backend_structs.h"

#ifndef KILN_FAKE_API
#define KILN_FAKE_API nullptr
#endif
#ifndef KILN_FAKE_API_SIZE
#define KILN_FAKE_API_SIZE sizeof(kiln_backend_api)
#endif
#ifndef KILN_FAKE_MAJOR
#define KILN_FAKE_MAJOR KILN_ABI_MAJOR
#endif
#ifndef KILN_FAKE_LOWEST
#define KILN_FAKE_LOWEST KILN_ABI_MINOR
#endif
#ifndef KILN_FAKE_HIGHEST
#define KILN_FAKE_HIGHEST KILN_ABI_MINOR
#endif
#ifndef KILN_FAKE_MAGIC
#define KILN_FAKE_MAGIC KILN_BACKEND_MAGIC
#endif
#ifndef KILN_FAKE_SANITIZER
#define KILN_FAKE_SANITIZER kiln::abi::this_sanitizer()
#endif
#ifndef KILN_FAKE_NEXT
#define KILN_FAKE_NEXT nullptr
#endif

namespace {

constexpr kiln_backend_header make_fake_header() {
  kiln_backend_header header{};
  header.struct_size = sizeof(header);
  header.next = KILN_FAKE_NEXT;
  header.magic = KILN_FAKE_MAGIC;
  header.abi_major = KILN_FAKE_MAJOR;
  header.abi_minor_lowest = KILN_FAKE_LOWEST;
  header.abi_minor_highest = KILN_FAKE_HIGHEST;
  header.sanitizer = KILN_FAKE_SANITIZER;
  constexpr std::string_view kName = KILN_FAKE_NAME;
  header.name = {kName.data(), kName.size()};
  header.required_api_size = KILN_FAKE_API_SIZE;
  header.api = KILN_FAKE_API;
  return header;
}
constexpr kiln_backend_header kFakeHeader = make_fake_header();

}  // namespace

extern "C" uint32_t kiln_backend_query(const kiln_host_info*, const kiln_backend_header** header) {
  *header = &kFakeHeader;
  return KILN_CODE_OK;
}
