#include "titan/text/large_json.h"

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "titan/base/error.h"
#include "titan/base/files.h"

namespace titan::text {
namespace {

// Builds the value from the parser's events. Members are appended without a search; a set
// of names for each open object finds repeats.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(std::string_view what) : what_(what) {}

  bool null() override { return add(nullptr); }

  bool boolean(bool value) override { return add(value); }

  bool number_integer(number_integer_t value) override { return add(value); }

  bool number_unsigned(number_unsigned_t value) override { return add(value); }

  bool number_float(number_float_t value, const string_t&) override { return add(value); }

  bool string(string_t& value) override { return add(std::move(value)); }

  bool binary(binary_t&) override { return false; }

  bool start_object(size_t) override { return open({Json::object(), {}, {}}); }

  bool end_object() override { return close(); }

  bool start_array(size_t) override { return open({Json::array(), {}, {}}); }

  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = open_.back();
    if (!level.names.insert(name).second) {
      fail<FormatError>("{}: not valid JSON: member \"{}\" occurs twice", what_, name);
    }
    level.key = std::move(name);
    return true;
  }

  bool parse_error(
      size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

  [[nodiscard]] Json take() { return std::move(root_); }

 private:
  struct Level {
    Json value;
    std::string key;
    std::unordered_set<std::string> names;
  };

  bool open(Level level) {
    open_.push_back(std::move(level));
    return true;
  }

  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }

  bool add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Level& level = open_.back(); level.value.is_object()) {
      level.value.get_ref<Json::object_t&>().emplace_back(
          std::move(level.key), std::move(value));
    } else {
      level.value.push_back(std::move(value));
    }
    return true;
  }

  std::string_view what_;
  std::vector<Level> open_;
  Json root_;
};

}  // namespace

Json read_large_json_file(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  const std::string what = path.string();
  Builder builder(what);
  if (!Json::sax_parse(text, &builder)) {
    return parse_json(text, what);  // throws, with line and column
  }
  return builder.take();
}

}  // namespace titan::text
