// One line of a JSONL file from any bytes.

#include "titan/data/jsonl.h"

#include <cstdint>
#include <string_view>

#include "titan/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  try {
    (void)titan::data::read_jsonl_line(line, "text", "fuzz:1");
  } catch (const titan::Error&) {
  }
  return 0;
}
