// The tokenizers as seen from a script.
//
//   tokenizer_window encode MODEL IN.json OUT.json
//     IN: {"texts": [...], "parse_special": bool}; OUT: {"ids": [[...]], "decoded":
//     [...]}
//   tokenizer_window time MODEL TEXTS.json THREADS
//     prints how long encoding the list of texts took, in seconds of the clock and of the
//     processors, and the number of ids
//
// MODEL is a folder or a file; a .gguf.json holds the tokenizer's metadata of a GGUF
// file.

#include <chrono>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "titan/base/error.h"
#include "titan/base/files.h"
#include "titan/base/json.h"
#include "titan/text/gguf_tokenizer.h"
#include "titan/text/tokenizer.h"

namespace titan::text {
namespace {

Tokenizer open(const std::string& path) {
  if (!path.ends_with(".gguf.json")) {
    return Tokenizer::load(path);
  }
  const Json json = read_json_file(path);
  const GgufTokenizerMetadata metadata{
      .model = json_get<std::string>(json, "model", path),
      .pre = json_get<std::string>(json, "pre", path),
      .tokens = json["tokens"].get<std::vector<std::string>>(),
      .token_types = json["token_types"].get<std::vector<int32_t>>(),
      .merges = json["merges"].get<std::vector<std::string>>(),
      .add_space_prefix = json["add_space_prefix"].get<bool>(),
      .scores = json["scores"].get<std::vector<float>>()};
  return Tokenizer::from_json(tokenizer_json_from_gguf(metadata), path);
}

void encode(const std::string& model, const std::string& in, const std::string& out) {
  const Tokenizer tokenizer = open(model);
  const Json request = read_json_file(in);
  const EncodeOptions options{.parse_special = request["parse_special"].get<bool>()};
  Json ids = Json::array();
  Json decoded = Json::array();
  for (const Json& text : request["texts"]) {
    const auto result = tokenizer.encode(text.get_ref<const std::string&>(), options);
    ids.push_back(result);
    decoded.push_back(tokenizer.decode(result));
  }
  write_file_atomic(out, Json{{"ids", ids}, {"decoded", decoded}}.dump());
}

void time(const std::string& model, const std::string& file, size_t num_threads) {
  const Tokenizer tokenizer = open(model);
  const auto texts = read_json_file(file).get<std::vector<std::string>>();
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t start_cpu = std::clock();
  size_t count = 0;
  for (const auto& ids : tokenizer.encode_batch(views, {}, num_threads)) {
    count += ids.size();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const double cpu_seconds =
      static_cast<double>(std::clock() - start_cpu) / CLOCKS_PER_SEC;
  fmt::print("{} {} {}\n", seconds.count(), cpu_seconds, count);
}

int run(std::span<char*> arguments) {
  const std::string_view mode = arguments.size() == 5 ? arguments[1] : "";
  if (mode == "encode") {
    encode(arguments[2], arguments[3], arguments[4]);
  } else if (mode == "time") {
    time(arguments[2], arguments[3], std::stoul(arguments[4]));
  } else {
    fmt::print(stderr, "usage: tokenizer_window encode|time MODEL FILE OUT|THREADS\n");
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace titan::text

int main(int argc, char** argv) {
  try {
    return titan::text::run({argv, static_cast<size_t>(argc)});
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return titan::exit_status(error);
  }
}
