#include "titan/checkpoint/checkpoint_index.h"

#include <charconv>
#include <limits>

#include <fmt/ranges.h>

#include "titan/base/error.h"
#include "titan/checkpoint/large_json.h"
#include "titan/checkpoint/region.h"
#include "titan/checkpoint/safetensors_dtype.h"

namespace titan::checkpoint {
namespace {

// Typed access to the members of one object of index.json.
class Member {
 public:
  Member(const LargeJson& object, const std::string& where)
      : object_(object), where_(where) {
    if (!object.is_object()) {
      fail<FormatError>("{}: expected an object", where);
    }
  }

  [[nodiscard]] const LargeJson& at(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) {
      fail<FormatError>("{}: {} is missing", where_, key);
    }
    return *found;
  }

  [[nodiscard]] const std::string& text(const char* key) const {
    const LargeJson& value = at(key);
    if (!value.is_string()) {
      fail<FormatError>("{}: {}: expected a string, got {}", where_, key, value.dump());
    }
    return value.get_ref<const std::string&>();
  }

  [[nodiscard]] std::vector<int64_t> counts(const char* key) const {
    const LargeJson& value = at(key);
    std::vector<int64_t> result;
    for (const LargeJson& element : list(key)) {
      if (!element.is_number_unsigned() ||
          element.get<uint64_t>() > std::numeric_limits<int64_t>::max()) {
        fail<FormatError>(
            "{}: {}: expected a list of counts, got {}", where_, key, value.dump());
      }
      result.push_back(element.get<int64_t>());
    }
    return result;
  }

  [[nodiscard]] const LargeJson& list(const char* key) const {
    const LargeJson& value = at(key);
    if (!value.is_array()) {
      fail<FormatError>("{}: {}: expected a list, got {}", where_, key, value.dump());
    }
    return value;
  }

  [[nodiscard]] const LargeJson& object(const char* key) const {
    const LargeJson& value = at(key);
    if (!value.is_object()) {
      fail<FormatError>("{}: {}: expected an object, got {}", where_, key, value.dump());
    }
    return value;
  }

 private:
  const LargeJson& object_;
  const std::string& where_;
};

StoredTensor read_tensor(const LargeJson& json, const std::string& where) {
  const Member member(json, where);
  const SafetensorsDtype* dtype = find_safetensors_dtype(member.text("dtype"));
  if (dtype == nullptr || !dtype->scalar) {
    fail<FormatError>("{}: dtype \"{}\" is not known", where, member.text("dtype"));
  }
  StoredTensor tensor{*dtype->scalar, member.counts("shape"), {}};
  for (const LargeJson& region : member.list("regions")) {
    const Member part(region, where);
    tensor.regions.push_back(
        {part.text("file"),
         part.text("key"),
         part.counts("offset"),
         part.counts("shape")});
  }
  return tensor;
}

void check_file(const fs::path& folder, const std::string& name, const LargeJson& bytes) {
  const std::string index = (folder / kCheckpointIndex).string();
  if (fs::path(name).filename() != name || name == ".." || !bytes.is_number_unsigned()) {
    fail<FormatError>(
        "{}: files: expected file names in this folder and their sizes, got \"{}\": {}",
        index,
        name,
        bytes.dump());
  }
  std::error_code error;
  const uint64_t actual = fs::file_size(folder / name, error);
  if (error) {
    fail<FormatError>("{}: {} is missing", folder.string(), name);
  }
  if (actual != bytes.get<uint64_t>()) {
    fail<FormatError>(
        "{}: expected {} bytes, got {}",
        (folder / name).string(),
        bytes.get<uint64_t>(),
        actual);
  }
}

}  // namespace

std::string index_text(const CheckpointIndex& index) {
  LargeJson files = LargeJson::object();
  for (const auto& [name, bytes] : index.files) {
    files[name] = bytes;
  }
  LargeJson tensors = LargeJson::object();
  for (const auto& [name, tensor] : index.tensors) {
    LargeJson regions = LargeJson::array();
    for (const StoredRegion& region : tensor.regions) {
      regions.push_back(
          {{"file", region.file},
           {"key", region.key},
           {"offset", region.offset},
           {"shape", region.shape}});
    }
    tensors[name] = {
        {"dtype", find_safetensors_dtype(tensor.dtype)->name},
        {"shape", tensor.shape},
        {"regions", std::move(regions)}};
  }
  const LargeJson document = {
      {"format_version", kCheckpointFormat},
      {"files", std::move(files)},
      {"tensors", std::move(tensors)}};
  return document.dump(1) + "\n";
}

CheckpointIndex read_checkpoint_index(const fs::path& folder) {
  const fs::path path = folder / kCheckpointIndex;
  const std::string what = path.string();
  const LargeJson document = read_large_json(path);
  const Member top(document, what);
  if (top.at("format_version") != kCheckpointFormat) {
    fail<FormatError>(
        "{}: format_version: expected {}, got {}",
        what,
        kCheckpointFormat,
        top.at("format_version").dump());
  }
  CheckpointIndex index;
  for (const auto& [name, bytes] : top.object("files").items()) {
    check_file(folder, name, bytes);
    index.files.emplace(name, bytes.get<uint64_t>());
  }
  for (const auto& [name, json] : top.object("tensors").items()) {
    StoredTensor tensor = read_tensor(json, fmt::format("{}: {}", what, name));
    check_regions(what, name, tensor);
    for (const StoredRegion& region : tensor.regions) {
      if (!index.files.contains(region.file)) {
        fail<FormatError>(
            "{}: {}: file \"{}\" is not listed under files", what, name, region.file);
      }
    }
    index.tensors.emplace(name, std::move(tensor));
  }
  return index;
}

void check_regions(
    const std::string& what, const std::string& name, const StoredTensor& tensor) {
  int64_t covered = 0;
  for (size_t i = 0; i < tensor.regions.size(); ++i) {
    const StoredRegion& region = tensor.regions[i];
    if (!lies_within({region.offset, region.shape}, tensor.shape)) {
      fail<FormatError>(
          "{}: {}: region [{}] at [{}] is not inside shape [{}]",
          what,
          name,
          fmt::join(region.shape, ", "),
          fmt::join(region.offset, ", "),
          fmt::join(tensor.shape, ", "));
    }
    for (size_t j = 0; j < i; ++j) {
      const StoredRegion& other = tensor.regions[j];
      if (intersection({region.offset, region.shape}, {other.offset, other.shape})) {
        fail<FormatError>(
            "{}: {}: the regions at [{}] and [{}] overlap",
            what,
            name,
            fmt::join(other.offset, ", "),
            fmt::join(region.offset, ", "));
      }
    }
    covered += volume(region.shape);
  }
  if (covered != volume(tensor.shape)) {
    fail<FormatError>(
        "{}: {}: its regions hold {} of {} elements",
        what,
        name,
        covered,
        volume(tensor.shape));
  }
}

std::string step_folder_name(int64_t step) {
  return fmt::format("step-{:08}", step);
}

std::optional<int64_t> parse_step_folder(const std::string& name) {
  constexpr std::string_view kPrefix = "step-";
  if (!name.starts_with(kPrefix)) {
    return std::nullopt;
  }
  int64_t step = -1;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (parsed.ec != std::errc() || parsed.ptr != end || step < 0 ||
      step_folder_name(step) != name) {
    return std::nullopt;
  }
  return step;
}

}  // namespace titan::checkpoint
