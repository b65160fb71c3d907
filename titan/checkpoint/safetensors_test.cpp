#include "titan/checkpoint/safetensors.h"

#include <cstring>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/checkpoint/safetensors_writer.h"
#include "titan/checkpoint/test_files.h"

namespace titan::checkpoint {
namespace {

std::string little_endian(uint64_t value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string file_of(const std::string& header, const std::string& data) {
  return little_endian(header.size()) + header + data;
}

fs::path scratch_file(std::string_view bytes) {
  const fs::path path = scratch_folder() / "x.safetensors";
  write_bytes(path, bytes);
  return path;
}

// What opening a file of these bytes says, without the path.
std::string refusal(std::string_view bytes) {
  const fs::path path = scratch_file(bytes);
  const std::string message =
      message_of<FormatError>([&] { SafetensorsFile file(path); });
  EXPECT_TRUE(message.starts_with(path.string() + ": ")) << message;
  return message.substr(std::min(message.size(), path.string().size() + 2));
}

std::string floats(std::initializer_list<float> values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), std::data(values), bytes.size());
  return bytes;
}

TEST(SafetensorsRefusal, S01BadLengths) {
  EXPECT_EQ(
      refusal("\xff\xff\xff\xff\xff\xff\xff\x7f"),
      "header length 9223372036854775807 exceeds file size 8");
  EXPECT_EQ(refusal(""), "not a safetensors file: expected at least 8 bytes, got 0");
  EXPECT_EQ(
      refusal(std::string(7, '\0')),
      "not a safetensors file: expected at least 8 bytes, got 7");
  EXPECT_EQ(refusal(std::string(8, '\0')), "header byte 1: expected '{', got nothing");
  EXPECT_EQ(
      refusal(little_endian(500) + std::string(72, ' ')),
      "header length 500 exceeds file size 80");
}

TEST(SafetensorsRefusal, S01FilesOfAnotherKindAreNamed) {
  EXPECT_NE(
      refusal("<!DOCTYPE html>404").find("looks like an HTML page"), std::string::npos);
  EXPECT_NE(
      refusal("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n")
          .find("looks like a Git LFS pointer"),
      std::string::npos);
}

TEST(SafetensorsRefusal, S01HeaderLimitIsAHundredMillionBytes) {
  const fs::path path = scratch_file(little_endian(kMaxSafetensorsHeader + 1) + "{}");
  fs::resize_file(path, 8 + kMaxSafetensorsHeader + 1);
  EXPECT_EQ(
      message_of<FormatError>([&] { SafetensorsFile file(path); }),
      path.string() + ": header length 100000001 exceeds the limit of 100000000 bytes");
  fs::remove(path);
}

TEST(SafetensorsRefusal, HeadersThatAreNotTheSchema) {
  EXPECT_EQ(refusal(file_of("[]", "")), "header byte 1: expected '{'");
  EXPECT_NE(refusal(file_of("{\"a\":", "")).find("not valid JSON"), std::string::npos);
  EXPECT_NE(refusal(file_of("{} {}", "")).find("not valid JSON"), std::string::npos);
  EXPECT_EQ(
      refusal(file_of(R"({"t":5})", "")), "tensor \"t\": expected an object, got 5");
  EXPECT_EQ(refusal(file_of(R"({"t":{}})", "")), "tensor \"t\": dtype is missing");
  EXPECT_EQ(
      refusal(file_of(R"({"t":{"dtype":"F32","shape":[]}})", "")),
      "tensor \"t\": data_offsets is missing");
  EXPECT_EQ(
      refusal(
          file_of(R"({"t":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", "abcd")),
      "tensor \"t\": dtype \"F33\" is not known");
  EXPECT_EQ(
      refusal(
          file_of(R"({"t":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "abcd")),
      "tensor \"t\": expected shape as a list of counts, got -1");
  EXPECT_EQ(
      refusal(file_of(R"({"t":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", "")),
      "tensor \"t\": expected shape as a list of counts, got 1.5");
  EXPECT_EQ(
      refusal(file_of(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", "abcd")),
      "tensor \"t\": expected data_offsets as [begin, end], got 1 numbers");
  EXPECT_EQ(
      refusal(file_of(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})", "")),
      "tensor \"t\": expected data_offsets as [begin, end], got 8");
  EXPECT_EQ(
      refusal(file_of(R"({"__metadata__":{"a":1}})", "")),
      "header: expected metadata as an object of strings, got 1");
  EXPECT_EQ(
      refusal(file_of(R"({"t":{"dtype":{"a":[]}}})", "")),
      "tensor \"t\": expected dtype as a string, got an object");
  EXPECT_EQ(
      refusal(file_of(R"({"t":{"type":"F32"}})", "")),
      "tensor \"t\": expected dtype, shape and data_offsets, got \"type\"");
}

TEST(SafetensorsRefusal, RepeatedNames) {
  const std::string entry = R"("t":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  EXPECT_EQ(
      refusal(file_of("{" + entry + "," + entry + "}", "")), "tensor \"t\" occurs twice");
  EXPECT_EQ(
      refusal(file_of(R"({"t":{"dtype":"F32","dtype":"F32"}})", "")),
      "tensor \"t\": dtype occurs twice");
  EXPECT_EQ(
      refusal(file_of(R"({"__metadata__":{"a":"1","a":"2"}})", "")),
      "header: metadata \"a\" occurs twice");
  EXPECT_EQ(
      refusal(file_of(R"({"__metadata__":{},"__metadata__":{}})", "")),
      "header: \"__metadata__\" occurs twice");
}

TEST(SafetensorsRefusal, HostileNestingAndTextAreCheap) {
  EXPECT_EQ(
      refusal(file_of("{\"t\":" + std::string(1 << 20, '['), "")),
      "tensor \"t\": expected an object, got a list");
  EXPECT_NE(
      refusal(file_of("{\"\xff\xfe\":{}}", "")).find("not valid JSON"),
      std::string::npos);
  EXPECT_NE(
      refusal(file_of(std::string("{\0}", 3), "")).find("not valid JSON"),
      std::string::npos);
}

TEST(SafetensorsRefusal, S02ShapeAndOffsetsDisagree) {
  const auto tensor = [](const std::string& shape, const std::string& offsets) {
    return R"({"t":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets +
           "}}";
  };
  EXPECT_EQ(
      refusal(file_of(tensor("[1000,1000]", "[0,4]"), "abcd")),
      "tensor \"t\": F32 [1000, 1000] needs 4000000 bytes, but data_offsets are [0, 4]");
  EXPECT_EQ(
      refusal(file_of(tensor("[1]", "[0,0]"), "")),
      "tensor \"t\": F32 [1] needs 4 bytes, but data_offsets are [0, 0]");
  EXPECT_EQ(
      refusal(file_of(tensor("[4294967296,4294967296]", "[0,0]"), "")),
      "tensor \"t\": shape [4294967296, 4294967296] is too large to address");
  EXPECT_EQ(
      refusal(file_of(tensor("[0,4294967296,4294967296]", "[0,0]"), "")),
      "tensor \"t\": shape [0, 4294967296, 4294967296] is too large to address");
  EXPECT_EQ(
      refusal(file_of(tensor("[1]", "[4,0]"), "abcd")),
      "tensor \"t\": F32 [1] needs 4 bytes, but data_offsets are [4, 0]");
  EXPECT_EQ(
      refusal(file_of(R"({"t":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", "a")),
      "tensor \"t\": F4 [3] does not fill whole bytes");
}

TEST(SafetensorsRefusal, S04HolesOverlapsAndTrailingBytes) {
  const auto tensor = [](const std::string& name, int count, const std::string& offsets) {
    return fmt::format(
        R"("{}":{{"dtype":"F32","shape":[{}],"data_offsets":{}}})", name, count, offsets);
  };
  const auto two = [&](const std::string& a, const std::string& b) {
    return "{" + tensor("k", 2, a) + "," + tensor("v", 2, b) + "}";
  };
  EXPECT_EQ(
      refusal(file_of(two("[0,8]", "[0,8]"), std::string(8, 'x'))),
      "tensor \"v\": data_offsets begin at 0, expected 8: it overlaps the tensor before "
      "it");
  EXPECT_EQ(
      refusal(file_of(two("[0,8]", "[4,12]"), std::string(12, 'x'))),
      "tensor \"v\": data_offsets begin at 4, expected 8: it overlaps the tensor before "
      "it");
  EXPECT_EQ(
      refusal(file_of(
          "{" + tensor("k", 1, "[0,4]") + "," + tensor("v", 1, "[8,12]") + "}",
          std::string(12, 'x'))),
      "tensor \"v\": data_offsets begin at 8, expected 4: bytes before it belong to no "
      "tensor");
  EXPECT_EQ(
      refusal(file_of("{" + tensor("k", 1, "[4,8]") + "}", std::string(8, 'x'))),
      "tensor \"k\": data_offsets begin at 4, expected 0: bytes before it belong to no "
      "tensor");
  const std::string one = "{" + tensor("k", 1, "[0,4]") + "}";
  EXPECT_EQ(
      refusal(file_of(one, std::string(8, 'x'))),
      fmt::format(
          "trailing bytes: the header describes {} bytes, the file has {}",
          8 + one.size() + 4,
          8 + one.size() + 8));
  EXPECT_EQ(
      refusal(file_of(one, "xyz")),
      fmt::format(
          "truncated: the header describes {} bytes, the file has {}",
          8 + one.size() + 4,
          8 + one.size() + 3));
  // Offsets whose sum with the header would wrap around.
  EXPECT_EQ(
      refusal(file_of(
          R"({"t":{"dtype":"U8","shape":[9223372036854775800],)"
          R"("data_offsets":[0,9223372036854775800]}})",
          "")),
      "tensor \"t\": shape [9223372036854775800] is too large to address");
}

TEST(Safetensors, S06EmptyTensorsAndScalarsAreLegal) {
  const fs::path path = scratch_file(file_of(
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
      R"("z":{"dtype":"F32","shape":[3,0],"data_offsets":[4,4]},)"
      R"("b":{"dtype":"F32","shape":[],"data_offsets":[4,8]},)"
      R"("y":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})",
      floats({1.0F, 2.0F})));
  const SafetensorsFile file(path);
  EXPECT_EQ(file.tensor("z").sizes(), (at::IntArrayRef{3, 0}));
  EXPECT_EQ(file.tensor("y").sizes(), (at::IntArrayRef{0}));
  EXPECT_EQ(file.tensor("b").dim(), 0);
  EXPECT_EQ(file.tensor("b").item<float>(), 2.0F);

  std::vector<NamedTensor> tensors;
  for (const std::string& name : file.names()) {
    tensors.push_back({name, file.tensor(name)});
  }
  const fs::path first = path.parent_path() / "first";
  const fs::path second = path.parent_path() / "second";
  write_safetensors(first, tensors);
  const SafetensorsFile again(first);
  std::vector<NamedTensor> reversed;
  for (const std::string& name : again.names()) {
    reversed.insert(reversed.begin(), {name, again.tensor(name)});
  }
  write_safetensors(second, reversed);
  EXPECT_EQ(read_file(first), read_file(second));
}

TEST(Safetensors, AFileWithoutTensorsIsLegal) {
  const SafetensorsFile file(scratch_file(file_of("{}", "")));
  EXPECT_TRUE(file.names().empty());
  EXPECT_TRUE(message_of<InputError>([&] {
                (void)file.tensor("a");
              }).ends_with("no tensor \"a\""));
}

TEST(Safetensors, AHeaderOfExactlyTheLimitLoads) {
  const fs::path path = scratch_file("");
  {
    OutputFile file(path);
    file.write(little_endian(kMaxSafetensorsHeader) + "{}");
    file.write(std::string(kMaxSafetensorsHeader - 2, ' '));
  }
  EXPECT_TRUE(SafetensorsFile(path).names().empty());
  fs::remove(path);
}

TEST(Safetensors, EveryDtypeComesBackBitForBit) {
  const fs::path path = scratch_folder() / "all.safetensors";
  const at::Tensor bytes = at::randint(0, 256, {48}, at::kByte);
  std::vector<NamedTensor> tensors;
  for (const SafetensorsDtype& dtype : safetensors_dtypes()) {
    if (dtype.scalar && *dtype.scalar != at::kBool) {
      tensors.push_back({std::string(dtype.name), bytes.view(*dtype.scalar)});
    }
  }
  tensors.push_back({"BOOL", bytes.gt(100)});
  write_safetensors(path, tensors, {{"format", "pt"}});
  const SafetensorsFile file(path);
  EXPECT_EQ(file.metadata(), (SafetensorsMetadata{{"format", "pt"}}));
  EXPECT_EQ(file.names().size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(file.info(name).dtype->name, name);
    EXPECT_EQ(file.tensor(name).scalar_type(), tensor.scalar_type());
    const auto stored = file.bytes(name);
    ASSERT_EQ(stored.size(), tensor.nbytes());
    EXPECT_EQ(std::memcmp(stored.data(), tensor.const_data_ptr(), stored.size()), 0)
        << name;
    EXPECT_EQ(
        reinterpret_cast<uintptr_t>(stored.data()) %
            c10::elementSize(tensor.scalar_type()),
        0U);
  }
}

TEST(Safetensors, TypesWithoutATensorAreReadAsBytes) {
  const SafetensorsFile file(scratch_file(
      file_of(R"({"t":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}})", "ab")));
  EXPECT_EQ(file.bytes("t").size(), 2U);
  EXPECT_EQ(
      message_of<FormatError>([&] { (void)file.tensor("t"); }),
      file.path().string() + ": tensor \"t\": dtype F4 cannot be read as a tensor");
}

TEST(Safetensors, ViewsOutliveTheFileObjectAndShareItsMap) {
  const fs::path path = scratch_folder() / "x.safetensors";
  write_safetensors(path, {{"w", at::arange(6, at::kFloat).view({2, 3})}});
  at::Tensor view;
  {
    const SafetensorsFile file(path);
    view = file.tensor("w");
    EXPECT_EQ(view.const_data_ptr(), file.bytes("w").data());
  }
  fs::remove(path);
  EXPECT_TRUE(view.equal(at::arange(6, at::kFloat).view({2, 3})));
}

TEST(Safetensors, MisalignedDataAreCopied) {
  const SafetensorsFile file(scratch_file(file_of(
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
      R"("t":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})",
      "x" + floats({3.0F}))));
  EXPECT_EQ(file.tensor("t").item<float>(), 3.0F);
}

TEST(Safetensors, UnknownNamesAreRefusedWithTheNearest) {
  const fs::path path = scratch_folder() / "x.safetensors";
  write_safetensors(path, {{"lm_head.weight", at::zeros({1})}});
  const SafetensorsFile file(path);
  EXPECT_EQ(
      message_of<InputError>([&] { (void)file.tensor("lm_head.wieght"); }),
      path.string() + ": no tensor \"lm_head.wieght\"; did you mean \"lm_head.weight\"?");
}

TEST(SafetensorsWriter, StridedTensorsAreWrittenAsIfContiguous) {
  const fs::path folder = scratch_folder();
  // 12 MB: the transposed write passes through the staging buffer in several pieces.
  const at::Tensor plain = at::arange(3 << 20, at::kFloat).view({1 << 10, 3 << 10});
  const at::Tensor transposed = plain.t().contiguous().t();
  ASSERT_FALSE(transposed.is_contiguous());
  const at::Tensor row = plain.t().contiguous().t().view({1, 1 << 10, 3 << 10});
  write_safetensors(
      folder / "a", {{"w", plain}, {"r", plain.view({1, 1 << 10, 3 << 10})}});
  write_safetensors(folder / "b", {{"r", row}, {"w", transposed}});
  EXPECT_TRUE(read_file(folder / "a") == read_file(folder / "b"));
}

TEST(SafetensorsWriter, RefusesRepeatedNamesAndForeignTypes) {
  const fs::path path = scratch_folder() / "x";
  EXPECT_EQ(
      message_of<InputError>([&] {
        write_safetensors(path, {{"w", at::zeros({1})}, {"w", at::zeros({1})}});
      }),
      path.string() + ": tensor \"w\" is given twice");
  EXPECT_EQ(
      message_of<InputError>([&] {
        write_safetensors(path, {{"w", at::zeros({1}, at::kComplexDouble)}});
      }),
      path.string() +
          ": tensor \"w\": the safetensors format has no dtype ComplexDouble");
  EXPECT_EQ(
      message_of<InputError>([&] {
        write_safetensors(path, {{"\xff", at::zeros({1})}});
      }),
      path.string() + ": a tensor name or metadata entry is not valid UTF-8");
  EXPECT_FALSE(fs::exists(path));
}

TEST(SafetensorsWriter, TakesTensorsInItsOrderOnly) {
  SafetensorsWriter writer(
      scratch_folder() / "x", {{"b", at::kFloat, {2}}, {"a", at::kBFloat16, {1}}});
  EXPECT_EQ(writer.order()[0].name, "b");
  EXPECT_THROW(writer.write(at::zeros({1}, at::kBFloat16)), c10::Error);
  EXPECT_THROW(writer.sync_and_close(), c10::Error);
}

TEST(SafetensorsWriter, AFullDeviceIsAnEnvironmentError) {
  EXPECT_THROW(
      write_safetensors("/dev/full", {{"w", at::zeros({1 << 20})}}), EnvironmentError);
}

}  // namespace
}  // namespace titan::checkpoint
