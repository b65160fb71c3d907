#pragma once
// Registration from static initialisers, where an exception would end the process:
// neither main() nor the loader of a plug-in can catch it.

#include <functional>
#include <string>
#include <vector>

namespace titan::config {

// Runs `add`; the message of a titan::Error that it throws is kept for
// take_registration_problems. Not thread-safe, as registries are.
void register_static(const std::function<void()>& add);

// The messages kept since the last call. main() calls this first, load_plugin after each
// plug-in.
[[nodiscard]] std::vector<std::string> take_registration_problems();

}  // namespace titan::config
