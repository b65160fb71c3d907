#pragma once
// Where training documents come from: JSONL and plain-text files, opened once, read by
// index.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace titan::data {

enum class DocumentFormat {
  kAuto,   // by the file's ending: .jsonl, .ndjson, .json or .txt, .text
  kJsonl,  // one JSON object a line, the document in one of its members
  kText    // the whole file is one document
};

constexpr auto enum_names(DocumentFormat) {
  using Name = std::pair<DocumentFormat, std::string_view>;
  return std::array{
      Name{DocumentFormat::kAuto, "auto"},
      Name{DocumentFormat::kJsonl, "jsonl"},
      Name{DocumentFormat::kText, "text"}};
}

struct SourceConfig {
  std::string path = "";
  DocumentFormat format = DocumentFormat::kAuto;
  std::string text_field = "text";

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("path", self.path, "a file, a glob, or a folder (its files, by name)");
    visit("format", self.format, "jsonl, text, or auto: by the file's ending");
    visit("text_field", self.text_field, "JSONL member that holds the document");
  }

  template <class Problems>
  static void check(const SourceConfig& self, Problems& problems) {
    problems.expect(!self.path.empty(), "path", "a file, a glob or a folder", self.path);
    problems.expect(!self.text_field.empty(), "text_field", "a name", self.text_field);
  }
};

// The documents of a list of sources, numbered in the order of the list and, within one
// source, of the sorted file names and of the lines. The files are memory-mapped and must
// not change meanwhile. Immutable; may be read from several threads at once.
class Documents {
 public:
  // Reads and checks every document once, so that a bad line is found before training.
  // InputError: nothing matches a path, or there is no document at all. FormatError
  // names file:line:column: invalid JSON or UTF-8, a missing, null or non-string field.
  // A byte order mark, CRLF and blank lines are accepted.
  explicit Documents(const std::vector<SourceConfig>& sources);
  ~Documents();
  Documents(Documents&&) noexcept;
  Documents& operator=(Documents&&) noexcept;

  [[nodiscard]] int64_t size() const;
  // REQUIRES: 0 <= index < size(), here and below.
  [[nodiscard]] std::string text(int64_t index) const;
  // "file:line" or "file", for messages.
  [[nodiscard]] std::string where(int64_t index) const;
  // A hash of the number of documents and their sizes in bytes: equal for equal datasets.
  [[nodiscard]] uint64_t fingerprint() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace titan::data
