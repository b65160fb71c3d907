#include "titan/checkpoint/large_json.h"

#include <unordered_set>
#include <vector>

#include "titan/base/error.h"

namespace titan::checkpoint {

LargeJson read_large_json(const fs::path& path) {
  const std::string text = read_file(path);
  std::vector<std::unordered_set<std::string>> open_objects;
  const auto refuse_repeats =
      [&](int, LargeJson::parse_event_t event, LargeJson& parsed) {
        if (event == LargeJson::parse_event_t::object_start) {
          open_objects.emplace_back();
        } else if (event == LargeJson::parse_event_t::object_end) {
          open_objects.pop_back();
        } else if (event == LargeJson::parse_event_t::key) {
          const auto& name = parsed.get_ref<const std::string&>();
          if (!open_objects.back().insert(name).second) {
            fail<FormatError>("{}: member \"{}\" occurs twice", path.string(), name);
          }
        }
        return true;
      };
  try {
    return LargeJson::parse(text, refuse_repeats);
  } catch (const LargeJson::parse_error& error) {
    fail<FormatError>("{}: byte {}: not valid JSON", path.string(), error.byte);
  }
}

}  // namespace titan::checkpoint
