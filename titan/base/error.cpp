#include "titan/base/error.h"

#include <system_error>

namespace titan {

int exit_status(const std::exception& error) {
  const bool users = dynamic_cast<const ConfigError*>(&error) != nullptr ||
                     dynamic_cast<const InputError*>(&error) != nullptr ||
                     dynamic_cast<const FormatError*>(&error) != nullptr;
  return users ? 2 : 1;
}

std::string errno_text(int error_number) {
  return std::generic_category().message(error_number);
}

}  // namespace titan
