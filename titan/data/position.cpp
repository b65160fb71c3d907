#include "titan/data/position.h"

#include "titan/base/error.h"
#include "titan/config/leaf.h"

namespace titan::data {
namespace {

constexpr int64_t kVersion = 2;
constexpr const char* kWhat = "data position";

// Everything that decides which batches follow, except the position itself.
Json identity(const PositionContext& context) {
  const DataConfig& config = context.config;
  Json parts = Json::array();
  bool streamed = false;
  for (const MixturePart& part : context.mixture.parts()) {
    parts.push_back(
        {{"documents", part.order->size()},
         {"fingerprint", fmt::format("{:016x}", part.order->fingerprint())},
         {"weight", part.weight}});
    streamed = streamed || part.order->streamed();
  }
  Json json = {
      {"version", kVersion},
      {"parts", parts},
      {"shuffle", config.shuffle},
      {"seed", config.seed},
      {"over_long", config::enum_name(config.over_long)},
      {"packing", config::enum_name(config.packing)}};
  if (streamed) {
    json["shuffle_buffer"] = config.shuffle_buffer;
  }
  if (config.packing != Packing::kSplit) {
    json["packing_window"] = config.packing_window;
    json["tokens_per_microbatch"] = context.packing.tokens;
    json["context"] = context.packing.max_piece();
  }
  return json;
}

// REQUIRES: `expected` is made of objects and leaves.
void require_equal(const Json& got, const Json& expected, const std::string& path) {
  for (const auto& [name, value] : expected.items()) {
    const std::string where = path + name;
    const Json found = got.is_object() && got.contains(name) ? got[name] : Json();
    if (value.is_array()) {
      if (!found.is_array() || found.size() != value.size()) {
        fail<InputError>(
            "{}: {}: it was made with {}, but here there are {}",
            kWhat,
            where,
            found.is_array() ? std::to_string(found.size()) : found.dump(),
            value.size());
      }
      for (size_t i = 0; i < value.size(); ++i) {
        require_equal(found[i], value[i], fmt::format("{}.{}.", where, i));
      }
    } else if (found != value) {
      fail<InputError>(
          "{}: {}: it was made with {}, but here it is {}",
          kWhat,
          where,
          found.dump(),
          value.dump());
    }
  }
}

}  // namespace

Json position_to_json(const PackCursor& cursor, const PositionContext& context) {
  Json json = identity(context);
  const DocumentCounts& counts = cursor.counts;
  json["used"] = cursor.used;
  json["offset"] = cursor.offset;
  json["filling"] = cursor.filling;
  json["counts"] = {
      {"documents", counts.documents},
      {"bad", counts.bad},
      {"dropped", counts.dropped},
      {"without_label", counts.without_label},
      {"truncated", counts.truncated}};
  return json;
}

PackCursor position_from_json(const Json& json, const PositionContext& context) {
  require_equal(json, identity(context), "");
  const auto number = [](const Json& object, const char* name) {
    const auto value = json_get<int64_t>(object, name, kWhat);
    if (value < 0) {
      fail<FormatError>("{}: {}: expected >= 0, got {}", kWhat, name, value);
    }
    return value;
  };
  PackCursor cursor;
  cursor.used = json_get<std::vector<int64_t>>(json, "used", kWhat);
  const std::vector<int64_t> sizes = context.mixture.sizes();
  if (cursor.used.size() != sizes.size()) {
    fail<FormatError>(
        "{}: used: expected {} numbers, got {}", kWhat, sizes.size(), cursor.used.size());
  }
  const int64_t epochs = context.config.epochs;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (cursor.used[i] < 0 || (epochs > 0 && cursor.used[i] > epochs * sizes[i])) {
      fail<FormatError>(
          "{}: used.{}: {} is not a position in {} epochs of {} documents",
          kWhat,
          i,
          cursor.used[i],
          epochs,
          sizes[i]);
    }
  }
  cursor.offset = number(json, "offset");
  cursor.filling = number(json, "filling");
  if (!json.contains("counts") || !json["counts"].is_object()) {
    fail<FormatError>("{}: counts: missing, expected an object", kWhat);
  }
  const Json& counts = json["counts"];
  cursor.counts = {
      .documents = number(counts, "documents"),
      .bad = number(counts, "bad"),
      .dropped = number(counts, "dropped"),
      .without_label = number(counts, "without_label"),
      .truncated = number(counts, "truncated")};
  return cursor;
}

}  // namespace titan::data
