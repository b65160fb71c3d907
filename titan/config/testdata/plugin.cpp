// A plug-in that adds the recipe "from_plugin", for the tests of this module.
#include "titan/config/plugin.h"

#include "titan/config/recipe.h"
#include "titan/config/testdata/study.h"

#ifdef WRONG_VERSION
extern "C" const char* titan_plugin_version() {
  return "titan 0.0.0";
}
#elif !defined(NO_VERSION)
TITAN_PLUGIN;
#endif

namespace titan::config {
namespace {

const RegisterRecipe<study::Llama> registered(
    PLUGIN_RECIPE, "registered by a plug-in", [] { return study::Llama{.dim = 77}; });

}  // namespace
}  // namespace titan::config
