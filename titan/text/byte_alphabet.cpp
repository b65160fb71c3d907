#include "titan/text/byte_alphabet.h"

#include <array>

#include "titan/text/utf8.h"

namespace titan::text {
namespace {

constexpr char32_t kNumSymbols = 0x144;  // U+0000 .. U+0143

struct Alphabet {
  std::array<std::string, 256> symbols;
  std::array<int, kNumSymbols> bytes;
};

bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

Alphabet make_alphabet() {
  Alphabet alphabet;
  alphabet.bytes.fill(-1);
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t point = stands_for_itself(byte) ? static_cast<char32_t>(byte) : next++;
    append_utf8(alphabet.symbols[static_cast<size_t>(byte)], point);
    alphabet.bytes[point] = byte;
  }
  return alphabet;
}

const Alphabet& alphabet() {
  static const Alphabet table = make_alphabet();
  return table;
}

}  // namespace

const std::string& byte_symbol(uint8_t byte) {
  return alphabet().symbols[byte];
}

std::optional<std::string> bytes_of_symbols(std::string_view token) {
  std::string bytes;
  while (!token.empty()) {
    const Utf8Step step = next_utf8(token);
    if (step.kind != Utf8Kind::kWhole) {
      return std::nullopt;
    }
    const char32_t point = code_point(token, step.size);
    if (point >= kNumSymbols || alphabet().bytes[point] < 0) {
      return std::nullopt;
    }
    bytes += static_cast<char>(alphabet().bytes[point]);
    token.remove_prefix(step.size);
  }
  return bytes;
}

}  // namespace titan::text
