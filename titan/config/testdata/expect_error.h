#pragma once
#include <string>

#include <gtest/gtest.h>

namespace titan::config {

// The message of the `Kind` that `action` throws.
template <class Kind, class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Kind& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing of the expected kind was thrown";
  return "";
}

}  // namespace titan::config
