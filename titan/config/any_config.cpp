#include "titan/config/any_config.h"

#include "titan/base/error.h"

namespace titan::config {
namespace {

Field type_field(std::string_view type, const std::string& path) {
  Field field;
  field.path = join_path(path, "type");
  field.help = "what this is; fixed by the recipe";
  field.type = std::string(type);
  field.get = [type] { return Json(type); };
  return field;
}

}  // namespace

void AnyConfig::append_fields(std::vector<Field>& out, const std::string& path) {
  if (!holder_) {
    return;
  }
  Field field = type_field(type(), path);
  field.set = [type = std::string(type())](const Json& given) {
    (void)choice_from_json(given, {type});
  };
  out.push_back(std::move(field));
  holder_->append_fields(out, path);
}

void AnyConfig::append_fields(std::vector<Field>& out, const std::string& path) const {
  if (holder_) {
    out.push_back(type_field(type(), path));
    std::as_const(*holder_).append_fields(out, path);
  }
}

void AnyConfig::append_problems(
    std::vector<std::string>& lines, const std::string& path) const {
  if (holder_) {
    holder_->append_problems(lines, path);
  }
}

void AnyConfig::fail_type(std::string_view wanted) const {
  fail<ConfigError>(
      "expected a config of type {}, got {}", wanted, holder_ ? type() : "none");
}

}  // namespace titan::config
