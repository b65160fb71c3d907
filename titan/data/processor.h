#pragma once
// From documents to token ids.

#include <optional>
#include <string>

#include "titan/data/config.h"
#include "titan/data/document.h"
#include "titan/data/example.h"
#include "titan/text/chat/renderer.h"
#include "titan/text/tokenizer.h"

namespace titan::data {

// A text is encoded as it stands, so text that spells a special token gives that token,
// with BOS and EOS where the config says so, and is learnt whole. A chat is rendered by
// the chat template, without BOS and EOS of our own; only the assistant's spans are
// learnt. Token ids stay as they are. Immutable and thread-safe.
class Processor {
 public:
  // ConfigError: add_bos or add_eos with a tokenizer that has no such token. InputError
  // and FormatError: there are chats, but no chat template that titan can use.
  Processor(const DataConfig& config, const text::Tokenizer& tokenizer);

  // InputError and FormatError of the tokenizer and the template. Ids that lie in a file
  // are not copied.
  [[nodiscard]] Example operator()(const Document& document) const;

 private:
  [[nodiscard]] Example encode(const std::string& text) const;
  [[nodiscard]] Example render(const Chat& chat) const;

  DataConfig config_;
  text::Tokenizer tokenizer_;
  std::optional<text::chat::Renderer> renderer_;
};

}  // namespace titan::data
