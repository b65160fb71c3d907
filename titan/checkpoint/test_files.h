#pragma once
// Scratch folders and error texts for the tests of this module.

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "titan/base/files.h"

namespace titan::checkpoint {

// An empty folder of this test's own.
inline fs::path scratch_folder() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const fs::path folder = fs::path(testing::TempDir()) / "titan_checkpoint_test" /
                          test->test_suite_name() / test->name();
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

inline void write_bytes(const fs::path& path, std::string_view bytes) {
  OutputFile file(path);
  file.write(bytes);
}

// The message of the Kind that `action` throws.
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

}  // namespace titan::checkpoint
