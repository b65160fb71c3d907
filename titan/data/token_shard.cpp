#include "titan/data/token_shard.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "titan/base/error.h"
#include "titan/base/rng.h"

namespace titan::data {
namespace {

constexpr const char* kFormat = "titan-tokens-1";

template <class T>
constexpr std::string_view dtype_name() {
  return sizeof(T) == 8 ? "I64" : sizeof(T) == 4 ? "I32" : "U8";
}

template <class T>
Json tensor_entry(size_t begin, size_t count) {
  return {
      {"dtype", dtype_name<T>()},
      {"shape", {count}},
      {"data_offsets", {begin, begin + count * sizeof(T)}}};
}

// The header of a safetensors file and its data.
struct Content {
  Json header;
  std::span<const std::byte> data;
};

Content read_content(const MappedFile& file) {
  const std::string path = file.path().string();
  const std::span<const std::byte> bytes = file.bytes();
  uint64_t length = 0;
  if (bytes.size() >= sizeof length) {
    std::memcpy(&length, bytes.data(), sizeof length);
  }
  if (length == 0 || length > bytes.size() - sizeof length) {
    fail<FormatError>("{}: not a safetensors file", path);
  }
  const std::string_view text(
      reinterpret_cast<const char*>(bytes.data()) + sizeof length, length);
  Json header = parse_json(text, path);
  if (!header.is_object() || !header.contains("__metadata__") ||
      header["__metadata__"].value("format", "") != kFormat) {
    fail<FormatError>(
        "{}: not a file of tokens: its metadata have no format \"{}\"", path, kFormat);
  }
  return {std::move(header), bytes.subspan(sizeof length + length)};
}

// The elements of a one-dimensional tensor.
template <class T>
std::span<const T> elements(
    const Content& content, const char* name, const std::string& path) {
  const std::string where = fmt::format("{}: {}", path, name);
  if (!content.header.contains(name)) {
    fail<FormatError>("{}: missing", where);
  }
  const Json& entry = content.header[name];
  const auto shape = json_get<std::vector<int64_t>>(entry, "shape", where);
  const auto range = json_get<std::vector<int64_t>>(entry, "data_offsets", where);
  const auto size = static_cast<int64_t>(content.data.size());
  const bool fits = json_get<std::string>(entry, "dtype", where) == dtype_name<T>() &&
                    shape.size() == 1 && range.size() == 2 && range[0] >= 0 &&
                    range[0] <= range[1] && range[1] <= size &&
                    (range[1] - range[0]) % static_cast<int64_t>(sizeof(T)) == 0 &&
                    (range[1] - range[0]) / static_cast<int64_t>(sizeof(T)) == shape[0];
  if (!fits) {
    fail<FormatError>(
        "{}: expected one dimension of {} within {} bytes, got {}",
        where,
        dtype_name<T>(),
        size,
        entry.dump());
  }
  const std::byte* data = content.data.data() + range[0];
  if (reinterpret_cast<uintptr_t>(data) % alignof(T) != 0) {
    fail<FormatError>("{}: its data are not aligned to {} bytes", where, alignof(T));
  }
  return {reinterpret_cast<const T*>(data), static_cast<size_t>(shape[0])};
}

}  // namespace

std::string tokenizer_mark(const text::Tokenizer& tokenizer) {
  constexpr std::string_view kProbe =
      "The 1,024 Tokens of a tokenizer's vocabulary:\n\tdon't == \"na\u00efve\" "
      "\u65e5\u672c "
      "\u041f\u0440\u0438\u0432\u0435\u0442   \u20ac3.14 x_i += 0xFF; \U0001F600\r\n";
  std::string text = std::to_string(tokenizer.vocab_size());
  for (const int32_t id : tokenizer.encode(kProbe)) {
    text += fmt::format(" {}", id);
  }
  return fmt::format("{:016x}", stable_hash(text));
}

TokenShard::TokenShard(const std::filesystem::path& path, const std::string& mark)
    : file_(path) {
  const std::string name = path.string();
  const Content content = read_content(file_);
  const auto made_by =
      json_get<std::string>(content.header["__metadata__"], "tokenizer", name);
  if (made_by != mark) {
    fail<InputError>(
        "{}: its tokens were made by the tokenizer {}, but here it is {}",
        name,
        made_by,
        mark);
  }
  offsets_ = elements<int64_t>(content, "offsets", name);
  ids_ = elements<int32_t>(content, "tokens", name);
  if (content.header.contains("targets")) {
    targets_ = elements<uint8_t>(content, "targets", name);
  }
  if (offsets_.empty() || offsets_.front() != 0 || offsets_.back() != std::ssize(ids_) ||
      (!targets_.empty() && targets_.size() != ids_.size())) {
    fail<FormatError>("{}: offsets, tokens and targets disagree in their sizes", name);
  }
  for (size_t i = 0; i + 1 < offsets_.size(); ++i) {
    if (offsets_[i] > offsets_[i + 1]) {
      fail<FormatError>("{}: offsets.{}: larger than the one after it", name, i);
    }
    sizes_.add(static_cast<uint64_t>(offsets_[i + 1] - offsets_[i]));
  }
}

Document TokenShard::read(int64_t index) const {
  const auto begin = static_cast<size_t>(offsets_[static_cast<size_t>(index)]);
  const auto end = static_cast<size_t>(offsets_[static_cast<size_t>(index) + 1]);
  return Tokens{
      ids_.subspan(begin, end - begin),
      targets_.empty() ? targets_ : targets_.subspan(begin, end - begin)};
}

std::string TokenShard::where(int64_t index) const {
  return fmt::format("{}: document {}", file_.path().string(), index);
}

void TokenShardWriter::add(const Example& example) {
  const auto ids = example.ids();
  const auto targets = example.targets();
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  offsets_.push_back(std::ssize(ids_));
  if (targets.empty()) {
    targets_.insert(targets_.end(), ids.size(), 1);
  } else {
    targets_.insert(targets_.end(), targets.begin(), targets.end());
    all_targets_ = false;
  }
}

void TokenShardWriter::write(const std::filesystem::path& path) {
  const auto offsets = std::as_bytes(std::span(offsets_));
  const auto ids = std::as_bytes(std::span(ids_));
  Json header = {
      {"__metadata__", {{"format", kFormat}, {"tokenizer", mark_}}},
      {"offsets", tensor_entry<int64_t>(0, offsets_.size())},
      {"tokens", tensor_entry<int32_t>(offsets.size(), ids_.size())}};
  if (!all_targets_) {
    header["targets"] =
        tensor_entry<uint8_t>(offsets.size() + ids.size(), targets_.size());
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begin aligned
  const uint64_t length = text.size();
  OutputFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(text);
  file.write(offsets);
  file.write(ids);
  if (!all_targets_) {
    file.write(std::as_bytes(std::span(targets_)));
  }
  file.sync_and_close();
  offsets_ = {0};
  ids_.clear();
  targets_.clear();
  all_targets_ = true;
}

}  // namespace titan::data
