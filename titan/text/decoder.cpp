#include "titan/text/decoder.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "titan/base/error.h"
#include "titan/text/byte_alphabet.h"
#include "titan/text/prepend_scheme.h"
#include "titan/text/string_pattern.h"

namespace titan::text {
namespace {

class ByteLevel : public Decoder::Step {
 public:
  // A token with a character outside the byte alphabet stands for its own text.
  std::string decode(std::string token, bool) const override {
    return bytes_of_symbols(token).value_or(token);
  }
};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'A' && c <= 'F') {
    return c - 'A' + 10;
  }
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// "<0x0A>" stands for one byte.
class ByteFallback : public Decoder::Step {
 public:
  std::string decode(std::string token, bool) const override {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') {
      return token;
    }
    const int high = hex_digit(token[3]);
    const int low = hex_digit(token[4]);
    return high < 0 || low < 0 ? token
                               : std::string(1, static_cast<char>(high * 16 + low));
  }
};

// Marks become spaces; those of the first token vanish where encoding puts one there.
class Metaspace : public Decoder::Step {
 public:
  Metaspace(std::string mark, bool drops_first)
      : mark_(std::move(mark)), drops_first_(drops_first) {}

  std::string decode(std::string token, bool first) const override {
    std::string result;
    size_t done = 0;
    for (size_t at = token.find(mark_); at != std::string::npos;
         at = token.find(mark_, done)) {
      result.append(token, done, at - done);
      result += first && drops_first_ ? "" : " ";
      done = at + mark_.size();
    }
    return result.append(token, done);
  }

 private:
  std::string mark_;
  bool drops_first_;
};

class Replace : public Decoder::Step {
 public:
  Replace(StringPattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  std::string decode(std::string token, bool) const override {
    return pattern_.replace_all(token, content_);
  }

 private:
  StringPattern pattern_;
  std::string content_;
};

// Off the ends of each token.
class StripToken : public Decoder::Step {
 public:
  explicit StripToken(Decoder::Strip strip) : strip_(std::move(strip)) {}

  std::string decode(std::string token, bool) const override {
    std::string_view rest = token;
    const std::string& character = strip_.character;
    for (size_t i = 0; i < strip_.start && rest.starts_with(character); ++i) {
      rest.remove_prefix(character.size());
    }
    for (size_t i = 0; i < strip_.stop && rest.ends_with(character); ++i) {
      rest.remove_suffix(character.size());
    }
    return std::string(rest);
  }

 private:
  Decoder::Strip strip_;
};

// Collects the parts of a decoder in order.
class Builder {
 public:
  void add(const Json& node, const std::string& where) {
    const auto type = json_get<std::string>(node, "type", where);
    if (type == "Sequence") {
      add_sequence(node, where);
    } else if (type == "Strip") {
      add_strip(node, where);
    } else if (type == "Fuse") {
      fused_ = true;
    } else if (std::unique_ptr<Decoder::Step> step = make_step(type, node, where)) {
      if (fused_) {
        fail<FormatError>(
            "{}: {} is not supported behind Fuse or ByteLevel", where, type);
      }
      steps_.push_back(std::move(step));
      fused_ = type == "ByteLevel";
    } else {
      fail<FormatError>(
          "{}: type \"{}\" is not supported (known: ByteFallback, ByteLevel, Fuse, "
          "Metaspace, Replace, Sequence, Strip)",
          where,
          type);
    }
  }

  Decoder finish() { return {std::move(steps_), std::move(strip_)}; }

 private:
  void add_sequence(const Json& node, const std::string& where) {
    const auto list = node.find("decoders");
    if (list == node.end() || !list->is_array()) {
      fail<FormatError>("{}: expected a list \"decoders\"", where);
    }
    for (size_t i = 0; i < list->size(); ++i) {
      add((*list)[i], fmt::format("{}.decoders.{}", where, i));
    }
  }

  void add_strip(const Json& node, const std::string& where) {
    const auto character = json_get<std::string>(node, "content", where);
    const auto start = json_get<int64_t>(node, "start", where);
    const auto stop = json_get<int64_t>(node, "stop", where);
    if (character.empty() || start < 0 || stop < 0) {
      fail<FormatError>(
          "{}: expected a character \"content\" and counts \"start\" and \"stop\"",
          where);
    }
    Decoder::Strip strip{
        character, static_cast<size_t>(start), static_cast<size_t>(stop)};
    if (!fused_) {
      steps_.push_back(std::make_unique<StripToken>(std::move(strip)));
    } else if (strip_) {
      fail<FormatError>("{}: a second Strip behind Fuse is not supported", where);
    } else {
      strip_ = std::move(strip);
    }
  }

  // Null where the type is not known.
  static std::unique_ptr<Decoder::Step> make_step(
      const std::string& type, const Json& node, const std::string& where) {
    if (type == "ByteFallback") {
      return std::make_unique<ByteFallback>();
    }
    if (type == "ByteLevel") {
      return std::make_unique<ByteLevel>();
    }
    if (type == "Metaspace") {
      return std::make_unique<Metaspace>(
          json_get<std::string>(node, "replacement", where),
          read_prepend_scheme(node, where) != PrependScheme::kNever);
    }
    if (type == "Replace") {
      return std::make_unique<Replace>(
          StringPattern(node, where), json_get<std::string>(node, "content", where));
    }
    return nullptr;
  }

  std::vector<std::unique_ptr<Decoder::Step>> steps_;
  std::optional<Decoder::Strip> strip_;
  bool fused_ = false;  // what follows sees the whole text
};

}  // namespace

Decoder::Decoder(std::vector<std::unique_ptr<Step>> steps, std::optional<Strip> strip)
    : steps_(std::move(steps)), strip_(std::move(strip)) {}

std::string Decoder::decode(std::string token, bool first) const {
  for (const auto& step : steps_) {
    token = step->decode(std::move(token), first);
  }
  return token;
}

Decoder make_decoder(const Json& node, const std::string& where) {
  Builder builder;
  builder.add(node, where);
  return builder.finish();
}

}  // namespace titan::text
