#include "titan/text/utf8.h"

namespace titan::text {
namespace {

// What may follow a lead byte: how many bytes, and the range of the first of them (Table
// 3-7 of the standard; all later ones are 80..BF).
struct Lead {
  size_t following;
  unsigned char low;
  unsigned char high;
};

std::optional<Lead> classify(unsigned char lead) {
  if (lead >= 0xC2 && lead <= 0xDF) {
    return Lead{1, 0x80, 0xBF};
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned char low = lead == 0xE0 ? 0xA0 : 0x80;
    const unsigned char high = lead == 0xED ? 0x9F : 0xBF;
    return Lead{2, low, high};
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned char low = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = lead == 0xF4 ? 0x8F : 0xBF;
    return Lead{3, low, high};
  }
  return std::nullopt;
}

}  // namespace

Utf8Step next_utf8(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) {
    return {Utf8Kind::kWhole, 1};
  }
  std::optional<Lead> lead = classify(first);
  if (!lead) {
    return {Utf8Kind::kIllFormed, 1};
  }
  for (size_t i = 1; i <= lead->following; ++i) {
    if (i == text.size()) {
      return {Utf8Kind::kCutOff, i};
    }
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < lead->low || byte > lead->high) {
      return {Utf8Kind::kIllFormed, i};
    }
    lead->low = 0x80;
    lead->high = 0xBF;
  }
  return {Utf8Kind::kWhole, lead->following + 1};
}

char32_t code_point(std::string_view text, size_t size) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (size == 1) {
    return first;
  }
  char32_t value = first & (0x7F >> size);
  for (size_t i = 1; i < size; ++i) {
    value = value << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  }
  return value;
}

std::optional<size_t> find_invalid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = next_utf8(text.substr(i));
    if (step.kind != Utf8Kind::kWhole) {
      return i;
    }
    i += step.size;
  }
  return std::nullopt;
}

size_t append_utf8_lossy(std::string& out, std::string_view text) {
  size_t taken = 0;
  while (taken < text.size()) {
    const Utf8Step step = next_utf8(text.substr(taken));
    if (step.kind == Utf8Kind::kCutOff) {
      break;
    }
    if (step.kind == Utf8Kind::kWhole) {
      out += text.substr(taken, step.size);
    } else {
      out += kReplacementCharacter;
    }
    taken += step.size;
  }
  return taken;
}

}  // namespace titan::text
