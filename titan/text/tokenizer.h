#pragma once
// Text to token ids and back, as a tokenizer file describes it (Hugging Face
// tokenizer.json, tiktoken ranks, Mistral's tekken.json, SentencePiece models): added
// tokens are cut out first, then normalizer, pre-tokenizer, model, post-processor; the
// decoder leads back. A component that titan does not know is refused by name.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "titan/base/json.h"

namespace titan::text {

struct Range;  // titan/text/range.h
struct TokenizerState;

struct EncodeOptions {
  // Let the post-processor add what it adds (BOS, EOS).
  bool add_special_tokens = false;
  // Text that spells an added token becomes that token. Off for content that others
  // wrote: then no added token is matched, special or not, and content can never turn
  // into a control token.
  bool parse_special = true;
  // Ids at most, special tokens included; what is too long loses its end. 0: no limit.
  size_t max_tokens = 0;
};

struct DecodeOptions {
  bool skip_special_tokens = false;
};

// Immutable after loading; all methods may be called from several threads at once.
class Tokenizer {
 public:
  // Reads one file: a tokenizer.json, a tekken.json, a tiktoken rank file or a
  // SentencePiece model, told apart by their content. InputError: cannot be read;
  // FormatError: names file and field.
  [[nodiscard]] static Tokenizer from_file(const std::filesystem::path& path);

  // Reads a model folder: tokenizer.json, else tekken.json, tokenizer.model,
  // tiktoken.model or the only *.tiktoken; and where present tokenizer_config.json,
  // special_tokens_map.json, generation_config.json and chat_template.jinja.
  [[nodiscard]] static Tokenizer from_folder(const std::filesystem::path& folder);

  // The folder where `path` is one, else the file.
  [[nodiscard]] static Tokenizer load(const std::filesystem::path& path);

  // From parsed JSON; `name` stands for the file in errors.
  [[nodiscard]] static Tokenizer from_json(const Json& json, const std::string& name);

  // REQUIRES: `text` is UTF-8; InputError names the offset of the first byte that is not.
  // A character that the vocabulary lacks gives the unknown token; where the file names
  // none it is left out, as in the reference, and a warning is logged once. InputError:
  // max_tokens is less than the special tokens that are added.
  [[nodiscard]] std::vector<int32_t> encode(
      std::string_view text, const EncodeOptions& options = {}) const;

  // encode() of each text, on `num_threads` threads at once (0: one a processor). The
  // result does not depend on their number. An error is that of the first text that has
  // one.
  [[nodiscard]] std::vector<std::vector<int32_t>> encode_batch(
      std::span<const std::string_view> texts,
      const EncodeOptions& options = {},
      size_t num_threads = 0) const;

  // As encode() with neither option, except that an added token is matched where its
  // spelling lies within one of the ranges `marked`: the parts of a text that may hold
  // control tokens. With all of the text marked it is encode() with parse_special.
  // A token that is looked for in normalized text is found where normalizing the ranges
  // one by one gives the same text as normalizing all of it.
  // REQUIRES: `marked` is in order, disjoint, in `text`, and cuts no character.
  [[nodiscard]] std::vector<int32_t> encode_marked(
      std::string_view text, std::span<const Range> marked) const;

  // Always UTF-8: bytes that form no character become U+FFFD, one for each maximal
  // ill-formed run (Unicode 15, section 3.9). InputError names an id that is not a token.
  [[nodiscard]] std::string decode(
      std::span<const int32_t> ids, const DecodeOptions& options = {}) const;

  // The bytes that the token stands for, not necessarily whole characters. Added tokens
  // stand for their own text. InputError as in decode().
  [[nodiscard]] const std::string& piece(int32_t id) const;

  // Largest id + 1; ids below it may be unused.
  [[nodiscard]] int64_t vocab_size() const;

  // The id of a token as tokenizer.json spells it ("\u0120the", "<|im_end|>").
  [[nodiscard]] std::optional<int32_t> token_id(std::string_view token) const;

  // The token as tokenizer.json spells it. InputError as in decode().
  [[nodiscard]] const std::string& token(int32_t id) const;

  [[nodiscard]] bool is_special(int32_t id) const;

  // Known after from_folder() only, where the folder's files name them.
  [[nodiscard]] std::optional<int32_t> bos_id() const;
  [[nodiscard]] std::optional<int32_t> pad_id() const;
  // Ids that end a generation: the tokenizer's EOS first, then generation_config.json's.
  [[nodiscard]] const std::vector<int32_t>& eos_ids() const;
  // The Jinja source; empty where the folder has none.
  [[nodiscard]] const std::string& chat_template() const;

  // The file that it was read from.
  [[nodiscard]] const std::string& name() const;

  // InputError naming token, id and vocabulary where a token has no row in a model of
  // `model_vocab_size` rows.
  void check_fits(int64_t model_vocab_size) const;

 private:
  friend class StreamDecoder;

  explicit Tokenizer(std::shared_ptr<const TokenizerState> state);

  std::shared_ptr<const TokenizerState> state_;
};

}  // namespace titan::text
