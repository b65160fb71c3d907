#include "titan/checkpoint/gguf.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/checkpoint/safetensors.h"
#include "titan/checkpoint/test_files.h"
#include "titan/checkpoint/test_gguf_writer.h"

namespace titan::checkpoint {
namespace {

using Writer = TestGgufWriter;

const fs::path kTestData = fs::path(TITAN_SOURCE_DIR) / "titan/checkpoint/testdata";

constexpr uint32_t kF32 = 0;

fs::path scratch_gguf(const std::string& bytes) {
  const fs::path path = scratch_folder() / "x.gguf";
  write_bytes(path, bytes);
  return path;
}

std::string refusal(const std::string& bytes) {
  const fs::path path = scratch_gguf(bytes);
  const std::string message = message_of<FormatError>([&] { GgufFile file(path); });
  EXPECT_TRUE(message.starts_with(path.string() + ": ")) << message;
  return message.substr(std::min(message.size(), path.string().size() + 2));
}

std::string refusal(const Writer& writer) {
  return refusal(writer.bytes());
}

// The vectors come from the PyPI package gguf (tools/make_gguf_vectors.py).
TEST(Gguf, EveryFormatEqualsTheReferenceToTheBit) {
  const GgufFile file(kTestData / "quants.gguf");
  const SafetensorsFile expected(kTestData / "quants.safetensors");
  ASSERT_EQ(file.names().size(), 10U);
  for (const std::string& name : file.names()) {
    EXPECT_EQ(file.info(name).format->name, name);
    const at::Tensor values = file.tensor(name, at::kFloat);
    const at::Tensor wanted = expected.tensor(name);
    EXPECT_EQ(values.sizes(), wanted.sizes());
    EXPECT_TRUE(values.view(at::kInt).equal(wanted.view(at::kInt))) << name;
    EXPECT_TRUE(file.tensor(name, at::kBFloat16).equal(wanted.to(at::kBFloat16))) << name;
  }
}

TEST(Gguf, MetadataOfTheReferenceWriter) {
  const GgufFile file(kTestData / "quants.gguf");
  const auto& metadata = file.metadata();
  EXPECT_EQ(metadata.at("general.architecture"), "test");
  EXPECT_EQ(metadata.at("test.f32"), 1e-5);
  EXPECT_EQ(metadata.at("test.f64"), 1e-300);
  EXPECT_EQ(metadata.at("test.i8"), -8);
  EXPECT_EQ(metadata.at("test.u64").get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(metadata.at("test.bool"), true);
  EXPECT_EQ(metadata.at("test.texts"), (Json{"a", "\u00e9", ""}));
  EXPECT_EQ(metadata.at("test.nested"), Json::parse("[[1,2],[3]]"));
}

TEST(Gguf, EveryValueTypeIsRead) {
  Writer writer;
  writer.version = 2;
  writer.add("a", 0, Writer::raw<uint8_t>(255));
  writer.add("b", 1, Writer::raw<int8_t>(-1));
  writer.add("c", 2, Writer::raw<uint16_t>(65535));
  writer.add("d", 3, Writer::raw<int16_t>(-2));
  writer.add("e", 4, Writer::raw<uint32_t>(4294967295U));
  writer.add("f", 5, Writer::raw<int32_t>(-3));
  writer.add("g", 6, Writer::raw<float>(0.1F));
  writer.add("h", 7, Writer::raw<uint8_t>(0));
  writer.add("i", 8, Writer::text("x"));
  writer.add("j", 9, Writer::array(1, {Writer::raw<int8_t>(-4)}));
  writer.add("k", 10, Writer::raw<uint64_t>(5));
  writer.add("l", 11, Writer::raw<int64_t>(-6));
  writer.add("m", 12, Writer::raw<double>(0.1));
  const GgufFile file(scratch_gguf(writer.bytes()));
  Json all = Json::array();
  for (const auto& [key, value] : file.metadata()) {
    all.push_back(value);
  }
  EXPECT_EQ(all.dump(), R"([255,-1,65535,-2,4294967295,-3,0.1,false,"x",[-4],5,-6,0.1])");
}

TEST(GgufRefusal, ForeignFiles) {
  EXPECT_EQ(refusal(""), "expected a GGUF file, which starts with \"GGUF\"");
  EXPECT_EQ(
      refusal("version https://git-lfs.github.com/spec/v1"),
      "expected a GGUF file, which starts with \"GGUF\" (looks like a Git LFS pointer: "
      "fetch "
      "the file that it stands for)");
  Writer writer;
  writer.version = 1;
  EXPECT_EQ(refusal(writer), "expected GGUF version 2 or 3, got 1");
  writer.version = 3U << 24;
  EXPECT_EQ(refusal(writer), "expected GGUF version 2 or 3, got a big-endian file");
}

// Cutting a good file anywhere is refused, never read past its end.
TEST(GgufRefusal, EveryTruncationIsRefused) {
  Writer writer;
  writer.add_text("general.architecture", "llama");
  writer.add("list", 9, Writer::array(8, {Writer::text("a"), Writer::text("b")}));
  writer.add_tensor("t", {4, 2}, kF32, std::string(32, 'x'));
  const std::string whole = writer.bytes();
  EXPECT_EQ(GgufFile(scratch_gguf(whole)).names().size(), 1U);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(refusal(whole.substr(0, size)).empty()) << size;
  }
}

TEST(GgufRefusal, HostileLengthsAllocateNothing) {
  Writer text;
  text.add("k", 8, Writer::raw<uint64_t>(UINT64_MAX));
  EXPECT_NE(refusal(text).find("k needs 18446744073709551615 bytes"), std::string::npos);
  Writer list;
  list.add("k", 9, Writer::raw<uint32_t>(0) + Writer::raw<uint64_t>(uint64_t{1} << 60));
  EXPECT_NE(
      refusal(list).find("an array of 1152921504606846976 elements"), std::string::npos);
  std::string nested;
  for (int i = 0; i < 100; ++i) {
    nested += Writer::raw<uint32_t>(9) + Writer::raw<uint64_t>(1);
  }
  Writer deep;
  deep.add("k", 9, nested);
  EXPECT_NE(refusal(deep).find("k: arrays nested deeper than 4"), std::string::npos);
}

TEST(GgufRefusal, BadValuesAreNamed) {
  Writer type;
  type.add("k", 13, "");
  EXPECT_EQ(refusal(type), "byte 37: k: value type 13 is not known");
  Writer flag;
  flag.add("k", 7, Writer::raw<uint8_t>(2));
  EXPECT_EQ(refusal(flag), "byte 37: k: expected a boolean 0 or 1, got 2");
  Writer twice;
  twice.add_u32("k", 1);
  twice.add_u32("k", 1);
  EXPECT_EQ(refusal(twice), "k occurs twice");
  Writer alignment;
  alignment.add_u32("general.alignment", 3);
  EXPECT_EQ(refusal(alignment), "general.alignment: expected a multiple of 8, got 3");
}

TEST(GgufRefusal, BadTensorsAreNamed) {
  const auto refusal_of = [](std::vector<uint64_t> dims, uint32_t type, uint64_t offset) {
    Writer writer;
    writer.add_tensor("first", {8}, kF32, std::string(32, 'x'));
    writer.add_tensor_at("t", dims, type, offset);
    return refusal(writer);
  };
  EXPECT_EQ(refusal_of({}, kF32, 32), "tensor \"t\": expected 1 to 4 dims, got 0");
  EXPECT_EQ(
      refusal_of({1, 1, 1, 1, 1}, kF32, 32), "tensor \"t\": expected 1 to 4 dims, got 5");
  EXPECT_EQ(
      refusal_of({0}, kF32, 32),
      "tensor \"t\": dim 0 of size 0 is empty or too large to address");
  EXPECT_EQ(
      refusal_of({uint64_t{1} << 32, uint64_t{1} << 32}, kF32, 32),
      "tensor \"t\": dim 1 of size 4294967296 is empty or too large to address");
  EXPECT_EQ(
      refusal_of({uint64_t{1} << 62}, kF32, 32),
      "tensor \"t\": shape [4611686018427387904] is too large to address");
  EXPECT_EQ(
      refusal_of({256}, 13, 32),
      "tensor \"t\": type Q5_K cannot be read; the readable types are F32, F16, BF16, "
      "Q8_0, "
      "Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q6_K");
  EXPECT_TRUE(
      refusal_of({1}, 999, 32).starts_with("tensor \"t\": type #999 cannot be read"));
  EXPECT_EQ(
      refusal_of({33}, 8, 32),
      "tensor \"t\": rows of 33 values do not fill Q8_0 blocks of 32");
  EXPECT_EQ(
      refusal_of({8}, kF32, 8),
      "tensor \"t\": offset 8 is not a multiple of the alignment 32");
  EXPECT_EQ(
      refusal_of({8}, kF32, 32),
      "truncated: tensor \"t\" needs 32 bytes at offset 32, the data have 32");
  EXPECT_EQ(
      refusal_of({8}, kF32, UINT64_MAX - 31),
      "truncated: tensor \"t\" needs 32 bytes at offset 18446744073709551584, the data "
      "have "
      "32");
  Writer twice;
  twice.add_tensor("t", {8}, kF32, std::string(32, 'x'));
  twice.add_tensor("t", {8}, kF32, std::string(32, 'x'));
  EXPECT_EQ(refusal(twice), "tensor \"t\" occurs twice");
  Writer overlap;
  overlap.add_tensor("a", {16}, kF32, std::string(64, 'x'));
  overlap.add_tensor_at("b", {8}, kF32, 32);
  EXPECT_EQ(
      refusal(overlap),
      "tensor \"b\": offset 32 overlaps the tensor before it, which ends at 64");
}

TEST(Gguf, UnknownNamesAreRefusedWithTheNearest) {
  const GgufFile file(kTestData / "quants.gguf");
  EXPECT_EQ(
      message_of<InputError>([&] { (void)file.info("Q4_2"); }),
      file.path().string() + ": no tensor \"Q4_2\"; did you mean \"Q4_0\"?");
}

}  // namespace
}  // namespace titan::checkpoint
