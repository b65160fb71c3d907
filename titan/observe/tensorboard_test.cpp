#include "titan/observe/tensorboard.h"

#include <cstring>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "titan/observe/crc32c.h"

namespace titan::observe {
namespace {

template <class T>
T read_as(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.substr(0, sizeof(T)).data(), sizeof(T));
  return value;
}

uint32_t masked(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

// The records of a file, each checksum checked.
std::vector<std::string> records_of(std::string_view file) {
  std::vector<std::string> records;
  while (!file.empty()) {
    const auto size = read_as<uint64_t>(file);
    EXPECT_EQ(read_as<uint32_t>(file.substr(8)), masked(file.substr(0, 8)));
    const std::string_view data = file.substr(12, size);
    EXPECT_EQ(read_as<uint32_t>(file.substr(12 + size)), masked(data));
    records.emplace_back(data);
    file.remove_prefix(16 + size);
  }
  return records;
}

// Field number -> raw values of a protobuf message: varints as 8 bytes.
using Message = std::multimap<uint64_t, std::string>;

uint64_t take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.at(0));
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) {
      return value;
    }
  }
}

Message decode(std::string_view bytes) {
  Message message;
  while (!bytes.empty()) {
    const uint64_t key = take_varint(bytes);
    std::string value;
    if ((key & 7) == 0) {
      const uint64_t number = take_varint(bytes);
      value.assign(reinterpret_cast<const char*>(&number), sizeof number);
    } else {
      const size_t size = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : take_varint(bytes);
      value = bytes.substr(0, size);
      bytes.remove_prefix(size);
    }
    message.emplace(key >> 3, value);
  }
  return message;
}

std::string only(const Message& message, uint64_t field) {
  EXPECT_EQ(message.count(field), 1U) << "field " << field;
  return message.find(field)->second;
}

TEST(Crc32c, MatchesThePublishedValues) {
  // RFC 3720, appendix B.4, and the usual check value.
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(Tensorboard, WritesWhatTheFormatSays) {
  const fs::path folder = fs::path(testing::TempDir()) / "titan_tensorboard_test";
  fs::remove_all(folder);
  TensorboardWriter writer(folder, 5);
  StepMetrics metrics{.step = 300, .values = {}};
  metrics.add("train/loss", 2.5);
  metrics.add("tokens", 4096);
  writer.write(metrics);
  EXPECT_TRUE(writer.path().filename().string().starts_with("events.out.tfevents."));

  const std::vector<std::string> records = records_of(read_file(writer.path()));
  ASSERT_EQ(records.size(), 3U);
  const Message version = decode(records[0]);
  EXPECT_GT(read_as<double>(only(version, 1)), 1.7e9);
  EXPECT_EQ(read_as<uint64_t>(only(version, 2)), 0U);
  EXPECT_EQ(only(version, 3), "brain.Event:2");

  const Message session = decode(records[1]);
  EXPECT_EQ(read_as<uint64_t>(only(session, 2)), 5U);
  EXPECT_EQ(read_as<uint64_t>(only(decode(only(session, 7)), 1)), 1U);

  const Message event = decode(records[2]);
  EXPECT_EQ(read_as<uint64_t>(only(event, 2)), 300U);
  const Message summary = decode(only(event, 5));
  std::map<std::string, float> values;
  for (const auto& [field, bytes] : summary) {
    ASSERT_EQ(field, 1U);
    const Message value = decode(bytes);
    values[only(value, 1)] = read_as<float>(only(value, 2));
  }
  EXPECT_EQ(
      values, (std::map<std::string, float>{{"train/loss", 2.5F}, {"tokens", 4096.0F}}));
}

}  // namespace
}  // namespace titan::observe
