#include "titan/observe/tensorboard.h"

#include <bit>
#include <chrono>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

#include "titan/observe/crc32c.h"

namespace titan::observe {
namespace {

template <class T>
std::string little_endian(T value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(T); ++i) {
    bytes += static_cast<char>((value >> (8 * i)) & 0xff);
  }
  return bytes;
}

// Protobuf fields: a key (field number and wire type) and a value.
std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) {
    bytes += static_cast<char>((value & 0x7f) | 0x80);
  }
  return bytes += static_cast<char>(value);
}

std::string field_key(uint32_t number, uint32_t wire_type) {
  return varint((number << 3) | wire_type);
}

std::string integer_field(uint32_t number, int64_t value) {
  return field_key(number, 0) + varint(static_cast<uint64_t>(value));
}

std::string double_field(uint32_t number, double value) {
  return field_key(number, 1) + little_endian(std::bit_cast<uint64_t>(value));
}

std::string float_field(uint32_t number, float value) {
  return field_key(number, 5) + little_endian(std::bit_cast<uint32_t>(value));
}

std::string bytes_field(uint32_t number, std::string_view value) {
  return (field_key(number, 2) + varint(value.size())).append(value);
}

std::string masked_crc(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return little_endian(std::rotr(crc, 15) + 0xa282ead8U);
}

std::string record(std::string_view data) {
  const std::string length = little_endian(uint64_t{data.size()});
  return (length + masked_crc(length)).append(data) + masked_crc(data);
}

// Field numbers of Event, SessionLog, Summary and Summary.Value.
constexpr uint32_t kEventWallTime = 1;
constexpr uint32_t kEventStep = 2;
constexpr uint32_t kEventFileVersion = 3;
constexpr uint32_t kEventSummary = 5;
constexpr uint32_t kEventSessionLog = 7;
constexpr uint32_t kSessionStatus = 1;
constexpr int64_t kSessionStart = 1;
constexpr uint32_t kSummaryValue = 1;
constexpr uint32_t kValueTag = 1;
constexpr uint32_t kValueSimple = 2;

double wall_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

std::string event(int64_t step, std::string_view content) {
  return record(
      (double_field(kEventWallTime, wall_time()) + integer_field(kEventStep, step))
          .append(content));
}

fs::path new_file(const fs::path& folder) {
  make_folders(folder);
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return folder / fmt::format(
                      "events.out.tfevents.{:010}.{}.{}",
                      static_cast<int64_t>(wall_time()),
                      host,
                      ::getpid());
}

}  // namespace

TensorboardWriter::TensorboardWriter(const fs::path& folder, int64_t first_step)
    : path_(new_file(folder)), file_(path_, OutputFile::Mode::kAppend) {
  file_.write(event(0, bytes_field(kEventFileVersion, "brain.Event:2")));
  const std::string start = integer_field(kSessionStatus, kSessionStart);
  file_.write(event(first_step, bytes_field(kEventSessionLog, start)));
}

void TensorboardWriter::write(const StepMetrics& metrics) {
  std::string summary;
  for (const auto& [name, value] : metrics.values) {
    const auto number = std::visit([](auto v) { return static_cast<float>(v); }, value);
    summary += bytes_field(
        kSummaryValue, bytes_field(kValueTag, name) + float_field(kValueSimple, number));
  }
  file_.write(event(metrics.step, bytes_field(kEventSummary, summary)));
}

}  // namespace titan::observe
