#include <set>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/checkpoint/checkpoint_reader.h"
#include "titan/checkpoint/checkpoint_writer.h"
#include "titan/checkpoint/region.h"
#include "titan/checkpoint/test_files.h"

namespace titan::checkpoint {
namespace {

std::vector<TensorRegion> filled(float value) {
  return {
      whole_tensor("w", at::full({4, 3}, value)),
      whole_tensor("optimizer.m.w", at::full({4, 3}, value)),
      whole_tensor(
          "optimizer.step", at::full({}, static_cast<int64_t>(value), at::kLong))};
}

void save(CheckpointWriter& writer, int64_t step) {
  writer.begin(step, {{"tokens", step * 100}}, filled(static_cast<float>(step)));
  writer.wait();
}

std::set<std::string> entries(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

at::Tensor read_whole(const CheckpointReader& reader, const std::string& name) {
  at::Tensor tensor = at::empty(reader.shape(name), reader.dtype(name));
  reader.read(name, tensor);
  return tensor;
}

TEST(Checkpoint, StateAndTensorsComeBack) {
  const fs::path folder = scratch_folder() / "checkpoint";
  CheckpointWriter writer(folder, {});
  save(writer, 7);
  EXPECT_EQ(
      entries(folder / "step-00000007"),
      (std::set<std::string>{
          "index.json",
          "model-00001.safetensors",
          "optimizer-00001.safetensors",
          "state.json"}));
  const LatestCheckpoint latest = find_latest(folder);
  EXPECT_EQ(latest.step, 7);
  EXPECT_TRUE(latest.skipped.empty());
  const CheckpointReader reader(*latest.path);
  EXPECT_EQ(reader.step(), 7);
  EXPECT_EQ(reader.state()["tokens"], 700);
  EXPECT_EQ(
      reader.names(), (std::vector<std::string>{"optimizer.m.w", "optimizer.step", "w"}));
  EXPECT_TRUE(read_whole(reader, "w").equal(at::full({4, 3}, 7.0F)));
  EXPECT_EQ(read_whole(reader, "optimizer.step").item<int64_t>(), 7);
}

// The floats of the state (learning rates, loss scales) must come back to the bit.
TEST(Checkpoint, StateKeepsEveryDouble) {
  const fs::path folder = scratch_folder();
  CheckpointWriter writer(folder, {});
  const Json state = {{"x", 0.1}, {"y", 1e-310}, {"seed", UINT64_MAX}};
  writer.begin(1, state, {});
  writer.wait();
  EXPECT_EQ(CheckpointReader(folder / "step-00000001").state(), state);
}

// R11: uneven shards, an empty one among them, saved by four and read by any other split.
TEST(Checkpoint, RegionsAreReadAcrossAnySplit) {
  const fs::path folder = scratch_folder();
  const at::Tensor whole = at::arange(15, at::kFloat).view({3, 5});
  std::vector<TensorRegion> regions;
  const int64_t rows[] = {0, 1, 2, 3, 3};  // the fourth part has no row
  for (int part = 0; part < 4; ++part) {
    regions.push_back(
        {"w", {3, 5}, {rows[part], 0}, whole.slice(0, rows[part], rows[part + 1])});
  }
  regions.push_back({"v", {3, 5}, {0, 0}, whole.slice(1, 0, 2)});  // not contiguous
  regions.push_back({"v", {3, 5}, {0, 2}, whole.slice(1, 2, 5)});
  CheckpointWriter writer(folder, {});
  writer.begin(1, nullptr, regions);
  writer.wait();
  const CheckpointReader reader(folder / "step-00000001");
  for (const char* name : {"w", "v"}) {
    EXPECT_TRUE(read_whole(reader, name).equal(whole)) << name;
    for (int64_t row = 0; row < 3; ++row) {
      for (int64_t column = 0; column < 5; ++column) {
        for (int64_t height = 0; height <= 3 - row; ++height) {
          const int64_t width = 5 - column;
          at::Tensor part = at::full({height, width}, -1.0F);
          reader.read(name, part, {row, column});
          EXPECT_TRUE(part.equal(whole.narrow(0, row, height).narrow(1, column, width)));
        }
      }
    }
  }
  at::Tensor strided = at::zeros({5, 3}).t();
  reader.read("w", strided);
  EXPECT_TRUE(strided.equal(whole));
}

TEST(Checkpoint, LargeStatesAreSplitIntoFiles) {
  const fs::path folder = scratch_folder();
  CheckpointWriter writer(folder, {.max_file_bytes = 100});
  std::vector<TensorRegion> regions;
  for (int i = 0; i < 5; ++i) {
    regions.push_back(
        whole_tensor(fmt::format("w{}", i), at::full({10}, static_cast<float>(i))));
  }
  writer.begin(1, nullptr, regions);  // two tensors of 40 bytes a file
  writer.wait();
  const fs::path step = folder / "step-00000001";
  EXPECT_TRUE(fs::exists(step / "model-00003.safetensors"));
  EXPECT_FALSE(fs::exists(step / "model-00004.safetensors"));
  const CheckpointReader reader(step);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(read_whole(reader, fmt::format("w{}", i))
                    .equal(at::full({10}, static_cast<float>(i))));
  }
}

TEST(Checkpoint, LiveTensorsMayChangeAfterStaging) {
  const fs::path folder = scratch_folder();
  const at::Tensor live = at::full({1 << 20}, 1.0F);
  CheckpointWriter writer(folder, {});
  writer.begin(1, nullptr, {whole_tensor("w", live)});
  writer.wait_staged();
  live.fill_(2.0F);
  writer.wait();
  const CheckpointReader reader(folder / "step-00000001");
  EXPECT_TRUE(read_whole(reader, "w").equal(at::full({1 << 20}, 1.0F)));
}

TEST(Checkpoint, WaitingWithoutASaveReturns) {
  CheckpointWriter writer(scratch_folder(), {});
  writer.wait_staged();
  writer.wait();
}

TEST(CheckpointPurge, KeepsTheNewestAndTheOneJustCommitted) {
  const fs::path folder = scratch_folder();
  CheckpointWriter writer(folder, {.keep_latest = 2, .async = false});
  for (const int64_t step : {1, 2, 3, 9}) {
    save(writer, step);
  }
  EXPECT_EQ(entries(folder), (std::set<std::string>{"step-00000003", "step-00000009"}));
  CheckpointWriter only(folder, {.keep_latest = 1});
  save(only, 4);  // the run was taken back from step 9
  EXPECT_EQ(entries(folder), (std::set<std::string>{"step-00000004"}));
}

TEST(CheckpointPurge, TornFoldersDoNotCount) {
  const fs::path folder = scratch_folder();
  CheckpointWriter writer(folder, {.keep_latest = 2});
  save(writer, 1);
  fs::create_directories(folder / "step-00000005");
  fs::create_directories(folder / "step-00000003.partial");
  fs::create_directories(folder / "step-00000000.trash");
  fs::create_directories(folder / "mine.partial");
  save(writer, 2);
  EXPECT_EQ(
      entries(folder),
      (std::set<std::string>{
          "mine.partial", "step-00000001", "step-00000002", "step-00000005"}));
}

// R01: only content decides.
TEST(FindLatest, SkipsTornFoldersAndSaysWhy) {
  const fs::path folder = scratch_folder();
  EXPECT_EQ(find_latest(folder / "absent").path, std::nullopt);
  CheckpointWriter writer(folder, {});
  for (const int64_t step : {1, 2, 3, 4}) {
    save(writer, step);
  }
  const fs::path cut = folder / "step-00000004" / "model-00001.safetensors";
  const auto size = fs::file_size(cut);
  fs::resize_file(cut, size - 1);
  fs::remove(folder / "step-00000003" / "state.json");
  write_bytes(folder / "step-00000002" / "index.json", "{\"format_version\":");
  fs::create_directories(folder / "step-00000009.partial");
  const LatestCheckpoint latest = find_latest(folder);
  EXPECT_EQ(latest.step, 1);
  ASSERT_EQ(latest.skipped.size(), 4U);
  EXPECT_EQ(latest.skipped[0].reason, "the save was not finished");
  EXPECT_EQ(
      latest.skipped[1].reason,
      fmt::format("{}: expected {} bytes, got {}", cut.string(), size, size - 1));
  EXPECT_EQ(
      latest.skipped[2].reason,
      (folder / "step-00000003").string() + ": state.json is missing");
  EXPECT_TRUE(latest.skipped[3].reason.find("not valid JSON") != std::string::npos);
  fs::remove_all(folder / "step-00000001");
  EXPECT_EQ(find_latest(folder).path, std::nullopt);
}

// R03: what an interrupted save of the same step left is replaced.
TEST(Checkpoint, LeftoversOfTheSameStepAreReplaced) {
  const fs::path folder = scratch_folder();
  const fs::path step = folder / "step-00000006";
  fs::create_directories(step);
  write_bytes(step / "model-00001.safetensors", "half");
  write_bytes(step / "old.safetensors", "half");
  fs::create_directories(folder / "step-00000006.partial");
  write_bytes(folder / "step-00000006.partial" / "x", "half");
  CheckpointWriter writer(folder, {});
  save(writer, 6);
  EXPECT_EQ(entries(folder), (std::set<std::string>{"step-00000006"}));
  EXPECT_FALSE(fs::exists(step / "old.safetensors"));
  EXPECT_EQ(find_latest(folder).step, 6);
}

TEST(CheckpointErrors, AreRethrownOnceAndLeaveNothing) {
  const fs::path blocked = scratch_folder() / "file";
  write_bytes(blocked, "x");
  CheckpointWriter writer(blocked, {});
  writer.begin(1, nullptr, filled(1));
  EXPECT_THROW(writer.wait_staged(), EnvironmentError);
  writer.wait();
  writer.begin(2, nullptr, filled(2));
  EXPECT_THROW(writer.begin(3, nullptr, filled(3)), EnvironmentError);
  EXPECT_EQ(read_file(blocked), "x");
}

TEST(CheckpointErrors, RegionsThatDoNotFitAreRefusedBeforeWriting) {
  const fs::path folder = scratch_folder() / "checkpoint";
  CheckpointWriter writer(folder, {});
  const at::Tensor half = at::zeros({2});
  const auto refusal = [&](std::vector<TensorRegion> regions) {
    return message_of<FormatError>([&] { writer.begin(1, nullptr, regions); });
  };
  EXPECT_EQ(
      refusal({{"w", {4}, {0}, half}}),
      "checkpoint: w: its regions hold 2 of 4 elements");
  EXPECT_EQ(
      refusal({{"w", {4}, {0}, half}, {"w", {4}, {1}, half}}),
      "checkpoint: w: the regions at [0] and [1] overlap");
  EXPECT_EQ(
      refusal({{"w", {4}, {3}, half}}),
      "checkpoint: w: region [2] at [3] is not inside shape [4]");
  EXPECT_EQ(
      refusal({{"w", {4}, {0}, half}, {"w", {4}, {2}, half.to(at::kBFloat16)}}),
      "checkpoint: w: one region is Float [4], another BFloat16 [4]");
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_THROW(CheckpointWriter(folder, {.keep_latest = -1}), ConfigError);
  EXPECT_THROW(CheckpointWriter(folder, {.max_file_bytes = 0}), ConfigError);
}

TEST(CheckpointErrors, ReadsThatDoNotFitAreRefused) {
  const fs::path folder = scratch_folder();
  CheckpointWriter writer(folder, {});
  save(writer, 1);
  const fs::path step = folder / "step-00000001";
  const CheckpointReader reader(step);
  const auto refusal = [&](const at::Tensor& destination, std::vector<int64_t> offset) {
    return message_of<InputError>([&] { reader.read("w", destination, offset); });
  };
  const std::string start = step.string() + ": w: expected a part of Float [4, 3], got ";
  EXPECT_EQ(
      refusal(at::zeros({4, 3}, at::kDouble), {}), start + "Double [4, 3] at [0, 0]");
  EXPECT_EQ(refusal(at::zeros({4, 3}), {1, 0}), start + "Float [4, 3] at [1, 0]");
  EXPECT_EQ(refusal(at::zeros({12}), {}), start + "Float [12] at [0, 0]");
  EXPECT_EQ(
      message_of<InputError>([&] { (void)reader.shape("W"); }),
      step.string() + ": no tensor \"W\"; did you mean \"w\"?");
}

TEST(CheckpointErrors, AnIndexThatContradictsTheFilesIsRefused) {
  const fs::path folder = scratch_folder();
  CheckpointWriter writer(folder, {});
  save(writer, 1);
  const fs::path step = folder / "step-00000001";
  const fs::path index = step / "index.json";
  const Json good = read_json_file(index);
  const auto refusal = [&](const Json& changed) {
    write_bytes(index, changed.dump());
    return message_of<FormatError>([&] { CheckpointReader reader(step); });
  };
  Json changed = good;
  changed["format_version"] = 2;
  EXPECT_EQ(refusal(changed), index.string() + ": format_version: expected 1, got 2");
  changed = good;
  changed["tensors"]["w"]["dtype"] = "I32";
  EXPECT_EQ(
      refusal(changed),
      (step / "model-00001.safetensors").string() +
          ": w: index.json says I32 [4, 3], the file F32 [4, 3]");
  changed = good;
  changed["tensors"]["w"]["shape"] = {5, 3};
  EXPECT_EQ(refusal(changed), index.string() + ": w: its regions hold 12 of 15 elements");
  changed = good;
  changed["tensors"]["w"]["shape"] = {INT64_MAX, 3};
  EXPECT_EQ(refusal(changed), "shape [9223372036854775807, 3] is too large to address");
  changed = good;
  changed["tensors"]["w"]["regions"][0]["file"] = "other";
  EXPECT_EQ(
      refusal(changed), index.string() + ": w: file \"other\" is not listed under files");
  changed = good;
  changed["files"]["../secret"] = 1;
  EXPECT_EQ(
      refusal(changed),
      index.string() +
          ": files: expected file names in this folder and their sizes, got "
          "\"../secret\": 1");
}

TEST(StepFolder, NamesParseBackAndOthersDoNot) {
  EXPECT_EQ(step_folder_name(10), "step-00000010");
  EXPECT_EQ(step_folder_name(1234567890), "step-1234567890");
  EXPECT_EQ(parse_step_folder("step-00000010"), 10);
  EXPECT_EQ(parse_step_folder("step-1234567890"), 1234567890);
  for (const char* name : {"step-10", "step-", "step--0000001", "step-00000010x", "x"}) {
    EXPECT_EQ(parse_step_folder(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace titan::checkpoint
