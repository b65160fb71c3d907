#include "titan/text/utf8.h"

#include <cstdint>
#include <cstring>

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

// The first byte from `at` on that is not ASCII, or text.size(); eight at a time.
size_t skip_ascii(std::string_view text, size_t at) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  for (uint64_t word; at + sizeof(word) <= text.size(); at += sizeof(word)) {
    std::memcpy(&word, text.data() + at, sizeof(word));
    if ((word & kHighBits) != 0) {
      break;
    }
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) {
    ++at;
  }
  return at;
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

size_t last_utf8(std::string_view text) {
  size_t at = text.size() - 1;
  while ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) {
    --at;
  }
  return at;
}

void append_utf8(std::string& out, char32_t point) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(byte); };
  const auto put_following = [&](int shift) { put(0x80 | (point >> shift & 0x3F)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6);
    put_following(0);
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12);
    put_following(6);
    put_following(0);
  } else {
    put(0xF0 | point >> 18);
    put_following(12);
    put_following(6);
    put_following(0);
  }
}

std::optional<size_t> find_invalid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    i = skip_ascii(text, i);
    if (i == text.size()) {
      break;
    }
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
