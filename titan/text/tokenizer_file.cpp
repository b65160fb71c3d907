#include "titan/text/tokenizer_file.h"

#include <string>
#include <string_view>

#include "titan/base/error.h"
#include "titan/base/files.h"
#include "titan/text/sentencepiece.h"
#include "titan/text/tekken.h"
#include "titan/text/tiktoken.h"

namespace titan::text {
namespace {

// A SentencePiece model begins with its first piece: field 1 of the message.
constexpr char kFirstPiece = 0x0A;

}  // namespace

TokenizerState read_tokenizer_file(
    const std::filesystem::path& path, const std::vector<AddedToken>& added) {
  const std::string text = read_file(path);
  const std::string name = path.string();
  if (text.starts_with(kFirstPiece)) {
    return read_sentencepiece(text, name, added);
  }
  if (looks_like_tiktoken(text)) {
    return read_tiktoken(text, name, added);
  }
  const Json json = parse_json(text, name);
  return looks_like_tekken(json) ? read_tekken(json, name, added)
                                 : make_tokenizer_state(json, name, added);
}

std::filesystem::path find_tokenizer_file(const std::filesystem::path& folder) {
  for (const char* name :
       {"tokenizer.json", "tekken.json", "tokenizer.model", "tiktoken.model"}) {
    if (fs::exists(folder / name)) {
      return folder / name;
    }
  }
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".tiktoken") {
      found.push_back(entry.path());
    }
  }
  if (found.size() != 1) {
    fail<InputError>(
        "{}: expected tokenizer.json, tekken.json, tokenizer.model, tiktoken.model or "
        "one "
        "*.tiktoken",
        folder.string());
  }
  return found[0];
}

}  // namespace titan::text
