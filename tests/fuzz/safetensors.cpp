// The header of a safetensors file from any bytes: accepted or refused, never more.

#include <cstdint>
#include <cstdlib>
#include <span>

#include "titan/base/error.h"
#include "titan/checkpoint/safetensors_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    const auto header = titan::checkpoint::parse_safetensors_header(bytes, "fuzz");
    for (const auto& [name, entry] : header.entries) {
      // What the reader promises: every tensor lies in the file.
      if (entry.offset > size || entry.nbytes > size - entry.offset) {
        std::abort();
      }
    }
  } catch (const titan::Error&) {
  }
  return 0;
}
