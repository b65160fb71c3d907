#include "cli/model_argument.h"

#include <cerrno>
#include <cstdlib>

#include "titan/base/error.h"
#include "titan/base/files.h"
#include "titan/text/gguf_tokenizer.h"

namespace titan::cli {
namespace {

// A GGUF file's tokenizer becomes the files of a folder, as at import, for as long as
// they are being read.
text::Tokenizer tokenizer_of_gguf(const checkpoint::GgufTokenizer& gguf) {
  std::string folder = (fs::temp_directory_path() / "titan-tokenizer-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    fail<EnvironmentError>("{}: cannot create folder: {}", folder, errno_text(errno));
  }
  for (const checkpoint::TextFile& file : tokenizer_files(gguf)) {
    write_file_atomic(fs::path(folder) / file.name, file.text);
  }
  text::Tokenizer tokenizer = text::Tokenizer::from_folder(folder);
  fs::remove_all(folder);
  return tokenizer;
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

}  // namespace

at::ScalarType dtype_argument(const std::string& name) {
  if (name == "fp32") {
    return at::kFloat;
  }
  if (name == "bf16") {
    return at::kBFloat16;
  }
  fail<InputError>("--dtype: expected fp32 or bf16, got {}", name);
}

std::vector<checkpoint::TextFile> tokenizer_files(const checkpoint::GgufTokenizer& gguf) {
  const text::GgufTokenizerMetadata metadata = tokenizer_metadata(gguf);
  return {
      {"tokenizer.json", text::tokenizer_json_from_gguf(metadata).dump() + "\n"},
      {"tokenizer_config.json",
       text::tokenizer_config_from_gguf(metadata).dump(2) + "\n"}};
}

text::Tokenizer tokenizer_of(const models::OpenedModel& opened) {
  text::Tokenizer tokenizer = opened.gguf_tokenizer
                                  ? tokenizer_of_gguf(*opened.gguf_tokenizer)
                                  : text::Tokenizer::from_folder(opened.files);
  tokenizer.check_fits(opened.model->facts().vocab);
  return tokenizer;
}

}  // namespace titan::cli
