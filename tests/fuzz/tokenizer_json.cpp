// A tokenizer.json from any bytes; one that is accepted must encode and decode.

#include <cstdint>
#include <string_view>

#include "titan/base/error.h"
#include "titan/base/json.h"
#include "titan/text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto tokenizer =
        titan::text::Tokenizer::from_json(titan::parse_json(text, "fuzz"), "fuzz");
    const auto ids = tokenizer.encode(
        "Hello, w\xc3\xb6rld! 1234\n\n  <|im_end|>", {.add_special_tokens = true});
    (void)tokenizer.decode(ids);
  } catch (const titan::Error&) {
  }
  return 0;
}
