#include "cli/model_argument.h"

#include "titan/base/error.h"

namespace titan::cli {

at::ScalarType dtype_argument(const std::string& name) {
  if (name == "fp32") {
    return at::kFloat;
  }
  if (name == "bf16") {
    return at::kBFloat16;
  }
  fail<InputError>("--dtype: expected fp32 or bf16, got {}", name);
}

text::GgufTokenizerMetadata tokenizer_metadata(
    const checkpoint::GgufTokenizer& tokenizer) {
  const auto id = [](const std::optional<int64_t>& value) {
    return value ? std::optional<int32_t>(static_cast<int32_t>(*value)) : std::nullopt;
  };
  return {
      .model = tokenizer.model,
      .pre = tokenizer.pre,
      .tokens = tokenizer.tokens,
      .token_types = {tokenizer.token_types.begin(), tokenizer.token_types.end()},
      .merges = tokenizer.merges,
      .bos_id = id(tokenizer.bos_id),
      .eos_id = id(tokenizer.eos_id),
      .unk_id = id(tokenizer.unknown_id),
      .pad_id = id(tokenizer.padding_id),
      .add_bos = tokenizer.add_bos.value_or(false),
      .add_space_prefix = tokenizer.add_space_prefix.value_or(false),
      .chat_template = tokenizer.chat_template};
}

text::Tokenizer tokenizer_of(const models::OpenedModel& opened) {
  if (opened.gguf_tokenizer) {
    throw InputError(
        "a GGUF file's tokenizer is read at import; run `titan import FILE FOLDER` and "
        "use the "
        "folder");
  }
  text::Tokenizer tokenizer = text::Tokenizer::from_folder(opened.files);
  tokenizer.check_fits(opened.model->facts().vocab);
  return tokenizer;
}

}  // namespace titan::cli
