#include "titan/config/registration.h"

#include <utility>

#include "titan/base/error.h"

namespace titan::config {
namespace {

std::vector<std::string>& problems() {
  static std::vector<std::string> problems;
  return problems;
}

}  // namespace

void register_static(const std::function<void()>& add) {
  try {
    add();
  } catch (const Error& error) {
    problems().emplace_back(error.what());
  }
}

std::vector<std::string> take_registration_problems() {
  return std::exchange(problems(), {});
}

}  // namespace titan::config
