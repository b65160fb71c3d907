#pragma once
// Shared libraries that add recipes, models, overrides and other registered components. A
// plug-in registers from its static initialisers and has one TITAN_PLUGIN; line.

#include "titan/base/files.h"

// What a plug-in and the binary must have in common: titan's version and the compiler's.
#define TITAN_PLUGIN_VERSION "titan 0.1.0, compiler " __VERSION__

// Stamps the plug-in with the version of the headers that it was built with.
#define TITAN_PLUGIN                                                                     \
  extern "C" __attribute__((visibility("default"))) const char* titan_plugin_version() { \
    return TITAN_PLUGIN_VERSION;                                                         \
  }                                                                                      \
  static_assert(true, "takes the semicolon")

namespace titan::config {

// Loads the plug-in at `path` for the rest of the process. REQUIRES: no thread looks into
// a registry meanwhile. Throws InputError when it cannot be loaded, is no plug-in or was
// built for another version; ConfigError when it registers a name that is taken. The
// binary must export its symbols (CMake: ENABLE_EXPORTS).
void load_plugin(const fs::path& path);

}  // namespace titan::config
