#pragma once
// What a source of training documents is: files, their format, and what a document is.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace titan::data {

enum class DocumentFormat {
  kAuto,     // by the file's ending, see source_files.cpp
  kJsonl,    // one JSON object a line; plain, .gz or .zst
  kText,     // the whole file is one document
  kParquet,  // one document a row
  kTokens    // token ids that `titan data tokenize` wrote
};

constexpr auto enum_names(DocumentFormat) {
  using Name = std::pair<DocumentFormat, std::string_view>;
  return std::array{
      Name{DocumentFormat::kAuto, "auto"},
      Name{DocumentFormat::kJsonl, "jsonl"},
      Name{DocumentFormat::kText, "text"},
      Name{DocumentFormat::kParquet, "parquet"},
      Name{DocumentFormat::kTokens, "tokens"}};
}

enum class DocumentKind {
  kText,  // a string, every token of which is learnt
  kChat   // messages, of which what the assistant says is learnt
};

constexpr auto enum_names(DocumentKind) {
  using Name = std::pair<DocumentKind, std::string_view>;
  return std::array{Name{DocumentKind::kText, "text"}, Name{DocumentKind::kChat, "chat"}};
}

struct SourceConfig {
  std::string path = "";
  DocumentFormat format = DocumentFormat::kAuto;
  DocumentKind kind = DocumentKind::kText;
  std::string text_field = "text";
  std::string messages_field = "messages";
  std::string tools_field = "tools";
  double weight = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("path", self.path, "a file, a glob, or a folder (its files, by name)");
    visit("format", self.format, "of the files; auto: by a file's ending");
    visit(
        "kind", self.kind, "a document is a text, or a chat of which the answers count");
    visit("text_field", self.text_field, "JSONL member or column that holds the text");
    visit("messages_field", self.messages_field, "the same for a chat's messages");
    visit("tools_field", self.tools_field, "the same for a chat's tools; may be missing");
    visit(
        "weight",
        self.weight,
        "share of the documents; for all sources, or 0 for all: as many as each has");
  }

  template <class Problems>
  static void check(const SourceConfig& self, Problems& problems) {
    problems.expect(!self.path.empty(), "path", "a file, a glob or a folder", self.path);
    problems.expect(!self.text_field.empty(), "text_field", "a name", self.text_field);
    problems.expect(
        !self.messages_field.empty(), "messages_field", "a name", self.messages_field);
    problems.expect(!self.tools_field.empty(), "tools_field", "a name", self.tools_field);
    problems.expect(
        self.weight >= 0 && self.weight <= 1e9, "weight", "0 .. 1e9", self.weight);
    if (self.kind == DocumentKind::kChat && self.format == DocumentFormat::kText) {
      problems.add("kind", "a text file holds no chat");
    }
  }
};

enum class BadRecords {
  kRefuse,  // the run does not start
  kSkip     // they are left out and counted
};

constexpr auto enum_names(BadRecords) {
  using Name = std::pair<BadRecords, std::string_view>;
  return std::array{Name{BadRecords::kRefuse, "refuse"}, Name{BadRecords::kSkip, "skip"}};
}

}  // namespace titan::data
