#pragma once
// Files of token ids, as `titan data tokenize` writes them: safetensors files, described
// in docs/formats.md.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "titan/base/files.h"
#include "titan/data/example.h"
#include "titan/data/indexed_file.h"
#include "titan/data/record_check.h"
#include "titan/text/tokenizer.h"

namespace titan::data {

// 16 hexadecimal digits that tell tokenizers apart: a hash of the vocabulary's size and
// of the ids of a fixed text.
[[nodiscard]] std::string tokenizer_mark(const text::Tokenizer& tokenizer);

// A memory-mapped file of token ids. Opening reads the header and the lengths only.
class TokenShard : public IndexedFile {
 public:
  // FormatError: not such a file, or its sizes disagree. InputError: another tokenizer
  // than the one with `mark` made it.
  TokenShard(const std::filesystem::path& path, const std::string& mark);

  [[nodiscard]] int64_t size() const override { return std::ssize(offsets_) - 1; }

  [[nodiscard]] uint64_t fingerprint() const override { return sizes_.value(); }

  [[nodiscard]] Document read(int64_t index) const override;

  [[nodiscard]] bool holds_tokens() const override { return true; }

  [[nodiscard]] std::string where(int64_t index) const override;

 private:
  MappedFile file_;
  std::span<const int64_t> offsets_;  // of each document and the end
  std::span<const int32_t> ids_;
  std::span<const uint8_t> targets_;  // one an id; empty: all are learnt
  SizesHash sizes_;
};

// Collects examples and writes them as one file. Not thread-safe.
class TokenShardWriter {
 public:
  explicit TokenShardWriter(std::string mark) : mark_(std::move(mark)) {}

  void add(const Example& example);

  // Ids collected since the last write().
  [[nodiscard]] int64_t num_tokens() const { return std::ssize(ids_); }

  // Writes what was collected, durably, and begins anew. REQUIRES: num_tokens() > 0.
  void write(const std::filesystem::path& path);

 private:
  std::string mark_;
  std::vector<int64_t> offsets_ = {0};
  std::vector<int32_t> ids_;
  std::vector<uint8_t> targets_;
  bool all_targets_ = true;
};

}  // namespace titan::data
