#include "titan/data/jsonl.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "titan/base/error.h"
#include "titan/base/json.h"

namespace titan::data {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Takes one member out of an object without building the rest.
class FieldReader : public nlohmann::json_sax<Json> {
 public:
  explicit FieldReader(const std::string& field) : field_(field) {}

  bool null() override { return other("null"); }

  bool boolean(bool) override { return other("a boolean"); }

  bool number_integer(number_integer_t) override { return other("a number"); }

  bool number_unsigned(number_unsigned_t) override { return other("a number"); }

  bool number_float(number_float_t, const string_t&) override {
    return other("a number");
  }

  bool binary(binary_t&) override { return other("binary data"); }

  bool string(string_t& value) override {
    if (!wanted_) {
      return other("a string");
    }
    value_ = std::move(value);
    wanted_ = false;
    return true;
  }

  bool start_object(size_t) override {
    if (depth_ > 0 && !other("an object")) {
      return false;
    }
    ++depth_;
    return true;
  }

  bool start_array(size_t) override {
    if (!other("a list")) {
      return false;
    }
    ++depth_;
    return true;
  }

  bool end_object() override { return leave(); }

  bool end_array() override { return leave(); }

  bool key(string_t& name) override {
    wanted_ = depth_ == 1 && name == field_;
    if (wanted_ && value_) {
      problem_ = fmt::format("member \"{}\" occurs twice", field_);
      return false;
    }
    return true;
  }

  bool parse_error(
      size_t position,
      const std::string&,
      const nlohmann::detail::exception& error) override {
    column_ = position;
    // What comes after the position; without the text read so far, which may be huge.
    std::string message = error.what();
    message.erase(0, message.find(": ") + 2);
    problem_ = "not valid JSON: " + message.substr(0, message.find("; last read"));
    return false;
  }

  // Empty: all is well.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  [[nodiscard]] size_t column() const { return column_; }

  [[nodiscard]] std::optional<std::string>& value() { return value_; }

 private:
  // A value that is no string in a place where anything but the wanted one is welcome.
  bool other(std::string_view kind) {
    if (depth_ == 0) {
      problem_ = fmt::format("expected one JSON object a line, got {}", kind);
    } else if (wanted_) {
      problem_ = fmt::format("{}: expected a string, got {}", field_, kind);
    }
    return problem_.empty();
  }

  bool leave() {
    --depth_;
    return true;
  }

  const std::string& field_;
  int depth_ = 0;
  bool wanted_ = false;
  std::optional<std::string> value_;
  std::string problem_;
  size_t column_ = 1;
};

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

std::string read_jsonl_line(
    std::string_view line, const std::string& field, const std::string& where) {
  FieldReader reader(field);
  if (!Json::sax_parse(line, &reader)) {
    fail<FormatError>(
        "{}:{}: {}", where, std::min(reader.column(), line.size() + 1), reader.problem());
  }
  if (!reader.value()) {
    fail<FormatError>("{}:1: {}: missing, expected a string", where, field);
  }
  return std::move(*reader.value());
}

JsonlFile::JsonlFile(const std::filesystem::path& path, std::string field)
    : file_(path), field_(std::move(field)) {
  const std::string_view all = content();
  size_t begin = all.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  for (size_t number = 1; begin < all.size(); ++number) {
    const size_t end = std::min(all.find('\n', begin), all.size());
    const std::string_view line = all.substr(begin, end - begin);
    if (!is_blank(line)) {
      (void)read_jsonl_line(line, field_, fmt::format("{}:{}", path.string(), number));
      offsets_.push_back(begin);
    }
    begin = end + 1;
  }
}

std::string_view JsonlFile::content() const {
  return {reinterpret_cast<const char*>(file_.bytes().data()), file_.bytes().size()};
}

std::string_view JsonlFile::line(int64_t index) const {
  const std::string_view rest = content().substr(offsets_[static_cast<size_t>(index)]);
  return rest.substr(0, rest.find('\n'));
}

std::string JsonlFile::where(int64_t index) const {
  const std::string_view before =
      content().substr(0, offsets_[static_cast<size_t>(index)]);
  return fmt::format(
      "{}:{}", file_.path().string(), 1 + std::ranges::count(before, '\n'));
}

std::string JsonlFile::text(int64_t index) const {
  return read_jsonl_line(line(index), field_, file_.path().string());
}

}  // namespace titan::data
