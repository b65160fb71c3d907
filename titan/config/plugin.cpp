#include "titan/config/plugin.h"

#include <dlfcn.h>
#include <string>
#include <string_view>
#include <vector>

#include "titan/base/error.h"
#include "titan/config/registration.h"

namespace titan::config {
namespace {

// The loader's message without the path that it starts with.
std::string loader_error(const std::string& path) {
  const char* raw = ::dlerror();
  std::string_view text = raw == nullptr ? "unknown reason" : raw;
  if (text.starts_with(path + ": ")) {
    text.remove_prefix(path.size() + 2);
  }
  return std::string(text);
}

}  // namespace

void load_plugin(const fs::path& path) {
  // With a folder in front, or the loader would search its own folders for the name.
  const std::string file = (fs::current_path() / path).string();
  // Runs the static initialisers. Never closed: what they registered points into it.
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fail<InputError>("{}: cannot load plug-in: {}", file, loader_error(file));
  }
  const auto version =
      reinterpret_cast<const char* (*)()>(::dlsym(library, "titan_plugin_version"));
  if (version == nullptr) {
    fail<InputError>("{}: not a titan plug-in: it has no TITAN_PLUGIN line", file);
  }
  const std::string_view expected = TITAN_PLUGIN_VERSION;
  if (version() != expected) {
    fail<InputError>(
        "{}: expected a plug-in for \"{}\", got \"{}\"", file, expected, version());
  }
  const std::vector<std::string> problems = take_registration_problems();
  if (!problems.empty()) {
    fail<ConfigError>("{}: {}", file, fmt::join(problems, "; "));
  }
}

}  // namespace titan::config
