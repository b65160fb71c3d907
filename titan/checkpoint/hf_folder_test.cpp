#include "titan/checkpoint/hf_folder.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/checkpoint/hf_export.h"
#include "titan/checkpoint/test_files.h"

namespace titan::checkpoint {
namespace {

HfExport two_tensors(uint64_t max_shard_bytes) {
  return {
      .config = {{"model_type", "toy"}, {"hidden_size", 2}},
      .tensors =
          {tensor_source("model.embed.weight", at::arange(4, at::kFloat)),
           tensor_source("model.norm.weight", at::ones({4}))},
      .files = {{"tokenizer.json", "{}"}},
      .max_shard_bytes = max_shard_bytes};
}

// A folder of two shards with one tensor each.
fs::path sharded_folder() {
  const fs::path folder = scratch_folder() / "model";
  save_hf_folder(folder, two_tensors(16));
  return folder;
}

std::string refusal(const fs::path& folder) {
  try {
    const HfFolder opened(folder);
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "the folder was accepted";
  return "";
}

std::vector<std::string> entries(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(HfFolder, ASingleFileRoundTrips) {
  const fs::path folder = scratch_folder() / "model";
  save_hf_folder(folder / "", two_tensors(1 << 20));  // a trailing slash changes nothing
  EXPECT_EQ(
      entries(folder),
      (std::vector<std::string>{"config.json", "model.safetensors", "tokenizer.json"}));
  const HfFolder model(folder);
  EXPECT_EQ(model.config()["hidden_size"], 2);
  EXPECT_EQ(
      model.names(),
      (std::vector<std::string>{"model.embed.weight", "model.norm.weight"}));
  EXPECT_TRUE(model.tensor("model.embed.weight").equal(at::arange(4, at::kFloat)));
  EXPECT_EQ(
      refusal(folder / "absent"),
      (folder / "absent" / "config.json").string() +
          ": cannot open: No such file or directory");
}

TEST(HfFolder, S12ShardsAlwaysComeWithAnIndex) {
  const fs::path folder = sharded_folder();
  EXPECT_EQ(
      entries(folder),
      (std::vector<std::string>{
          "config.json",
          "model-00001-of-00002.safetensors",
          "model-00002-of-00002.safetensors",
          "model.safetensors.index.json",
          "tokenizer.json"}));
  const Json index = read_json_file(folder / "model.safetensors.index.json");
  EXPECT_EQ(index["metadata"]["total_size"], 32);
  EXPECT_EQ(index["weight_map"]["model.norm.weight"], "model-00002-of-00002.safetensors");
  EXPECT_TRUE(HfFolder(folder).tensor("model.norm.weight").equal(at::ones({4})));
}

TEST(HfFolder, S07ATruncatedShardIsNamed) {
  const fs::path folder = sharded_folder();
  const fs::path shard = folder / "model-00002-of-00002.safetensors";
  const auto size = fs::file_size(shard);
  fs::resize_file(shard, size - 16);
  EXPECT_EQ(
      refusal(folder),
      fmt::format(
          "{}: truncated: the header describes {} bytes, the file has {}",
          shard.string(),
          size,
          size - 16));
}

TEST(HfFolder, S08MissingShardsAreListed) {
  const fs::path folder = sharded_folder();
  fs::remove(folder / "model-00002-of-00002.safetensors");
  const std::string index = (folder / "model.safetensors.index.json").string();
  EXPECT_EQ(
      refusal(folder),
      index +
          ": 1 of its files are not in the folder: model-00002-of-00002.safetensors "
          "(with model.norm.weight)");
}

TEST(HfFolder, S10AGhostEntryIsToldFromAMissingOne) {
  const fs::path folder = sharded_folder();
  EXPECT_EQ(
      message_of<InputError>([&] { (void)HfFolder(folder).tensor("lm_head.weight"); }),
      folder.string() +
          ": tensor \"lm_head.weight\" is not in model.safetensors.index.json; the "
          "nearest "
          "name is \"model.embed.weight\"");
  const fs::path index = folder / "model.safetensors.index.json";
  Json content = read_json_file(index);
  content["weight_map"]["lm_head.weight"] = "model-00001-of-00002.safetensors";
  write_bytes(index, content.dump());
  EXPECT_EQ(
      refusal(folder),
      index.string() +
          ": places tensor \"lm_head.weight\" in model-00001-of-00002.safetensors, which "
          "is "
          "there but does not hold it");
}

TEST(HfFolder, DamagedIndexesAreRefused) {
  const fs::path folder = sharded_folder();
  const fs::path index = folder / "model.safetensors.index.json";
  const auto refusal_of = [&](const std::string& text) {
    write_bytes(index, text);
    return refusal(folder).substr(index.string().size() + 2);
  };
  write_bytes(index, "{");
  EXPECT_TRUE(refusal(folder).starts_with(index.string() + ":1:1: not valid JSON: "))
      << refusal(folder);
  EXPECT_EQ(
      refusal_of("[]"), "expected an object \"weight_map\" of tensor and file names");
  EXPECT_EQ(
      refusal_of(R"({"weight_map":{"a":1}})"),
      "weight_map: a: expected a file name, got 1");
  EXPECT_EQ(
      refusal_of(R"({"weight_map":{"a":"x","a":"y"}})"),
      "not valid JSON: member \"a\" occurs twice");
  EXPECT_EQ(
      refusal_of(R"({"weight_map":{"a":"../x.safetensors"}})"),
      "weight_map: a: expected a file name in this folder, got \"../x.safetensors\"");
}

TEST(HfFolder, ATensorInTwoShardsIsRefused) {
  const fs::path folder = sharded_folder();
  write_safetensors(
      folder / "model-00001-of-00002.safetensors",
      {{"model.embed.weight", at::zeros({4})}, {"model.norm.weight", at::zeros({4})}});
  EXPECT_EQ(
      refusal(folder),
      folder.string() +
          ": tensor \"model.norm.weight\" is in model-00001-of-00002.safetensors and in "
          "model-00002-of-00002.safetensors");
}

TEST(HfFolder, TwoContradictingListsAreRefused) {
  const fs::path folder = sharded_folder();
  write_safetensors(folder / "model.safetensors", {{"a", at::zeros({1})}});
  EXPECT_EQ(
      refusal(folder),
      folder.string() +
          ": holds model.safetensors and an index that does not name it; remove one of "
          "the "
          "two");
  const fs::path empty = scratch_folder();
  write_bytes(empty / "config.json", "{}");
  EXPECT_EQ(
      refusal(empty),
      empty.string() +
          ": expected model.safetensors or model.safetensors.index.json, found neither");
}

TEST(HfExport, ImportThenExportKeepsEveryByte) {
  const fs::path folder = sharded_folder();
  const HfFolder model(folder);
  HfExport again;
  again.config = model.config();
  again.max_shard_bytes = 16;
  for (const std::string& name : model.names()) {
    again.tensors.push_back(tensor_source(name, model.tensor(name)));
  }
  const fs::path copy = folder.parent_path() / "copy";
  save_hf_folder(copy, again);
  for (const std::string& name : entries(copy)) {
    EXPECT_EQ(read_file(copy / name), read_file(folder / name)) << name;
  }
}

TEST(HfExport, ReplacesAnEarlierExportAndNothingElse) {
  const fs::path folder = sharded_folder();
  save_hf_folder(folder, two_tensors(1 << 20));
  EXPECT_FALSE(fs::exists(folder / "model.safetensors.index.json"));
  EXPECT_EQ(entries(folder.parent_path()), (std::vector<std::string>{"model"}));

  const fs::path foreign = scratch_folder();
  write_bytes(foreign / "thesis.txt", "x");
  EXPECT_EQ(
      message_of<InputError>([&] { save_hf_folder(foreign, two_tensors(16)); }),
      foreign.string() +
          ": not empty and not an earlier export; expected a new or empty folder");
  EXPECT_EQ(read_file(foreign / "thesis.txt"), "x");
  EXPECT_EQ(
      message_of<InputError>(
          [&] { save_hf_folder(foreign / "thesis.txt", two_tensors(16)); }),
      (foreign / "thesis.txt").string() + ": expected a folder, got a file");
  HfExport told = two_tensors(16);
  told.replace = true;
  save_hf_folder(foreign, told);
  EXPECT_FALSE(fs::exists(foreign / "thesis.txt"));
  fs::remove_all(foreign);
}

TEST(HfExport, AFailureLeavesTheOldFolderAndNothingNew) {
  const fs::path folder = sharded_folder();
  HfExport broken = two_tensors(16);
  broken.tensors[1].load = []() -> at::Tensor { fail<EnvironmentError>("disk full"); };
  EXPECT_THROW(save_hf_folder(folder, broken), EnvironmentError);
  EXPECT_TRUE(HfFolder(folder).tensor("model.norm.weight").equal(at::ones({4})));
  EXPECT_EQ(entries(folder.parent_path()), (std::vector<std::string>{"model"}));
}

}  // namespace
}  // namespace titan::checkpoint
