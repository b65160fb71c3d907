#pragma once
// For tests: a scratch folder, the byte tokenizer with BOS and EOS, and files of
// documents.

#include <fstream>
#include <string>
#include <vector>
#include <zlib.h>
#include <zstd.h>

#include <gtest/gtest.h>

#include "titan/base/error.h"
#include "titan/base/files.h"
#include "titan/text/byte_tokenizer_fixture.h"
#include "titan/text/tokenizer.h"

namespace titan::data {

inline constexpr int32_t kBos = 256;
inline constexpr int32_t kEos = 257;

// An empty folder of its own for each test suite.
class TestFolder : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  std::string put(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return (folder_ / name).string();
  }

  std::string put_jsonl(
      const std::string& name, const std::vector<std::string>& texts) const {
    return put(name, jsonl(texts));
  }

  static std::string jsonl(const std::vector<std::string>& texts) {
    std::string lines;
    for (const std::string& text : texts) {
      lines += Json{{"text", text}}.dump() + "\n";
    }
    return lines;
  }

  static std::string gzip(const std::string& content) {
    z_stream state{};
    deflateInit2(&state, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
    std::string input = content;
    std::string out(content.size() + 1000, '\0');
    state.next_in = reinterpret_cast<Bytef*>(input.data());
    state.avail_in = static_cast<uInt>(input.size());
    state.next_out = reinterpret_cast<Bytef*>(out.data());
    state.avail_out = static_cast<uInt>(out.size());
    deflate(&state, Z_FINISH);
    out.resize(state.total_out);
    deflateEnd(&state);
    return out;
  }

  static std::string zstd(const std::string& content) {
    std::string out(ZSTD_compressBound(content.size()), '\0');
    out.resize(ZSTD_compress(out.data(), out.size(), content.data(), content.size(), 3));
    return out;
  }

  // With id = byte, <s> = 256 and </s> = 257; and a chat template where one is given.
  text::Tokenizer tokenizer(const std::string& chat_template = "") const {
    fs::create_directories(folder_ / "tokenizer");
    put("tokenizer/tokenizer.json",
        text::byte_tokenizer_json(
            {},
            {{"added_tokens",
              {text::added_token_json(kBos, "<s>"),
               text::added_token_json(kEos, "</s>")}}})
            .dump());
    Json config = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
    if (!chat_template.empty()) {
      config["chat_template"] = chat_template;
    }
    put("tokenizer/tokenizer_config.json", config.dump());
    return text::Tokenizer::from_folder(folder_ / "tokenizer");
  }

  // The message of the error that `call` throws, without the folder's path.
  template <class Call>
  std::string refusal(Call call) const {
    try {
      call();
    } catch (const Error& error) {
      std::string message = error.what();
      for (size_t at; (at = message.find(folder_.string() + "/")) != std::string::npos;) {
        message.erase(at, folder_.string().size() + 1);
      }
      return message;
    }
    return "no error";
  }

  fs::path folder_ = fs::path(testing::TempDir()) / "titan_data_test" /
                     testing::UnitTest::GetInstance()->current_test_suite()->name();
};

}  // namespace titan::data
