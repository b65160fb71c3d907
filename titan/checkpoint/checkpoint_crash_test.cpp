// Saves that are killed or meet a full disk. The saving runs in a process of its own:
// this program again, with one of the DISABLED tests below.

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/base/rng.h"
#include "titan/checkpoint/checkpoint_reader.h"
#include "titan/checkpoint/checkpoint_writer.h"
#include "titan/checkpoint/test_files.h"

namespace titan::checkpoint {
namespace {

constexpr const char* kFolderVariable = "TITAN_CRASH_FOLDER";

std::vector<TensorRegion> filled(int64_t step) {
  std::vector<TensorRegion> regions;
  for (int i = 0; i < 4; ++i) {
    const at::Tensor data = at::full({64, 64 * (i + 1)}, static_cast<float>(step));
    regions.push_back(whole_tensor(fmt::format("w{}", i), data));
    regions.push_back(whole_tensor(fmt::format("optimizer.w{}", i), data));
  }
  return regions;
}

CheckpointOptions crash_options() {
  return {.keep_latest = 2, .max_file_bytes = 100'000};
}

// Returns the microseconds that it took.
int64_t save_step_zero(const fs::path& folder) {
  const auto start = std::chrono::steady_clock::now();
  CheckpointWriter writer(folder, crash_options());
  writer.begin(0, {{"step", 0}}, filled(0));
  writer.wait();
  const auto took = std::chrono::steady_clock::now() - start;
  return std::chrono::duration_cast<std::chrono::microseconds>(took).count();
}

// Starts the DISABLED test `name` on the folder.
pid_t start_child(const std::string& name, const fs::path& folder) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv(kFolderVariable, folder.c_str(), 1);
    const std::string filter = "--gtest_filter=CheckpointCrashChild.DISABLED_" + name;
    ::execl(
        "/proc/self/exe",
        "titan_checkpoint_test",
        filter.c_str(),
        "--gtest_also_run_disabled_tests",
        "--gtest_brief=1",
        nullptr);
    ::_exit(127);
  }
  return child;
}

// Throws or fails unless the newest complete checkpoint holds one step throughout.
int64_t check_newest(const fs::path& folder) {
  const LatestCheckpoint latest = find_latest(folder);
  if (!latest.path) {
    ADD_FAILURE() << "no complete checkpoint";
    return -1;
  }
  const CheckpointReader reader(*latest.path);
  EXPECT_EQ(reader.step(), latest.step);
  EXPECT_EQ(reader.state()["step"], latest.step);
  EXPECT_EQ(reader.names().size(), 8U);
  for (const std::string& name : reader.names()) {
    at::Tensor values = at::empty(reader.shape(name), reader.dtype(name));
    reader.read(name, values);
    EXPECT_TRUE(values.eq(latest.step).all().item<bool>()) << name;
  }
  return latest.step;
}

// Resumes and saves every step without end.
TEST(CheckpointCrashChild, DISABLED_SaveUntilKilled) {
  const fs::path folder = std::getenv(kFolderVariable);
  CheckpointWriter writer(folder, crash_options());
  const std::vector<TensorRegion> live = filled(find_latest(folder).step);
  for (int64_t step = find_latest(folder).step + 1;; ++step) {
    for (const TensorRegion& region : live) {
      region.data.fill_(step);
    }
    writer.begin(step, {{"step", step}}, live);
    write_bytes(folder / "started", "x");
    writer.wait_staged();
  }
}

TEST(CheckpointCrashChild, DISABLED_SaveBeyondTheFileSizeLimit) {
  const fs::path folder = std::getenv(kFolderVariable);
  const rlimit limit{20'000, 20'000};
  std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  CheckpointWriter writer(folder, crash_options());
  writer.begin(1, {{"step", 1}}, filled(1));
  const std::string message = message_of<EnvironmentError>([&] { writer.wait(); });
  EXPECT_TRUE(message.ends_with("cannot write: File too large")) << message;
}

TEST(CheckpointCrash, KilledSavesLeaveACompleteCheckpoint) {
  const fs::path folder = scratch_folder();
  const int64_t save_us = save_step_zero(folder);
  const char* wanted = std::getenv("TITAN_CRASH_TRIES");
  const int tries = wanted == nullptr ? 20 : std::atoi(wanted);
  Rng rng(20260101);
  int64_t newest = 0;
  for (int i = 0; i < tries && !testing::Test::HasFailure(); ++i) {
    fs::remove(folder / "started");
    const pid_t child = start_child("SaveUntilKilled", folder);
    int status = 0;
    while (!fs::exists(folder / "started") && ::waitpid(child, &status, WNOHANG) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    // Anywhere in the first saves, the slower the disk the later.
    const uint64_t delay = rng.next_below(static_cast<uint64_t>(4 * save_us));
    std::this_thread::sleep_for(std::chrono::microseconds(delay));
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the saving process ended by itself";
    const int64_t found = check_newest(folder);
    EXPECT_GE(found, newest) << "a committed checkpoint was lost in try " << i;
    newest = found;
  }
  EXPECT_GT(newest, 0) << "no save was ever committed";
}

TEST(CheckpointCrash, AFullDiskLeavesThePreviousCheckpoint) {
  const fs::path folder = scratch_folder();
  (void)save_step_zero(folder);
  const pid_t child = start_child("SaveBeyondTheFileSizeLimit", folder);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(check_newest(folder), 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace titan::checkpoint
