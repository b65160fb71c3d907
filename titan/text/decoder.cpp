#include "titan/text/decoder.h"

#include <utility>
#include <vector>

#include "titan/text/byte_alphabet.h"
#include "titan/text/component.h"

namespace titan::text {
namespace {

class ByteLevel : public Decoder {
 public:
  // A token with a character outside the byte alphabet stands for its own text.
  std::string decode(std::string token) const override {
    return bytes_of_symbols(token).value_or(token);
  }
};

class Sequence : public Decoder {
 public:
  explicit Sequence(std::vector<std::unique_ptr<Decoder>> parts)
      : parts_(std::move(parts)) {}

  std::string decode(std::string token) const override {
    for (const auto& part : parts_) {
      token = part->decode(std::move(token));
    }
    return token;
  }

 private:
  std::vector<std::unique_ptr<Decoder>> parts_;
};

std::unique_ptr<Decoder> make_byte_level(const Json&, const std::string&) {
  return std::make_unique<ByteLevel>();
}

std::unique_ptr<Decoder> make_decoder_sequence(
    const Json& node, const std::string& where) {
  return std::make_unique<Sequence>(
      make_sequence<Decoder>(node, "decoders", where, make_decoder));
}

constexpr Component<Decoder> kDecoders[] = {
    {"ByteLevel", make_byte_level}, {"Sequence", make_decoder_sequence}};

}  // namespace

std::unique_ptr<Decoder> make_decoder(const Json& node, const std::string& where) {
  return make_component<Decoder>(node, where, kDecoders);
}

}  // namespace titan::text
