// Patterns by PCRE2.

#include <array>
#include <cstdint>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "titan/base/error.h"
#include "titan/text/regex.h"
#include "titan/text/utf8.h"

namespace titan::text {
namespace {

// A pattern of a real tokenizer needs a few bytes of stack and one step a character;
// these limits are far above that and stop a hostile one within seconds.
constexpr size_t kJitStackStart = size_t{32} << 10;
constexpr size_t kJitStackLimit = size_t{64} << 20;
constexpr uint32_t kMatchLimit = 200'000'000;

struct Free {
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }

  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }

  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }

  void operator()(pcre2_jit_stack* p) const { pcre2_jit_stack_free(p); }
};

template <class T>
using Owned = std::unique_ptr<T, Free>;

std::string message_of(int error) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(error, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

// The pattern as PCRE2 must have it so that classes mean what they mean to the reference:
// \s is White_Space (PCRE2's has U+180E too), \w and [:punct:] are larger than PCRE2's.
std::string translate(const std::string& pattern) {
  constexpr std::string_view kPunctuation = "[:punct:]";
  constexpr const char* kWord =
      R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})";
  std::string result;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char escaped = pattern[++i];
      if (escaped == 's' || escaped == 'S') {
        result += escaped == 's' ? R"(\p{White_Space})" : R"(\P{White_Space})";
      } else if (escaped == 'w') {
        result += in_class ? kWord : fmt::format("[{}]", kWord);
      } else if (escaped == 'W' && !in_class) {
        result += fmt::format("[^{}]", kWord);
      } else {
        result += {'\\', escaped};
      }
    } else if (in_class && pattern.compare(i, kPunctuation.size(), kPunctuation) == 0) {
      result += R"(\p{P}\p{S})";
      i += kPunctuation.size() - 1;
    } else {
      in_class = c == '[' || (in_class && c != ']');
      result += c;
    }
  }
  return result;
}

// Each thread's own stack for compiled matching; grows on demand up to the limit.
pcre2_jit_stack* this_threads_stack() {
  thread_local const Owned<pcre2_jit_stack> stack(
      pcre2_jit_stack_create(kJitStackStart, kJitStackLimit, nullptr));
  return stack.get();
}

class PcreRegex : public Regex {
 public:
  PcreRegex(const std::string& pattern, std::string where) : where_(std::move(where)) {
    const std::string exact = translate(pattern);
    int error = 0;
    size_t offset = 0;
    // MULTILINE: ^ and $ are line borders in the dialect that tokenizer.json is written
    // for.
    code_.reset(pcre2_compile(
        reinterpret_cast<PCRE2_SPTR>(exact.data()),
        exact.size(),
        PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE,
        &error,
        &offset,
        nullptr));
    if (code_ == nullptr) {
      fail<FormatError>(
          "{}: not a valid pattern: {} near \"{}\"",
          where_,
          message_of(error),
          exact.substr(0, offset));
    }
    error = pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
    // Without the compiler (an unusual processor) PCRE2 interprets, with the same
    // results.
    if (error != 0 && error != PCRE2_ERROR_JIT_BADOPTION) {
      fail<FormatError>("{}: cannot compile: {}", where_, message_of(error));
    }
  }

  void find_all(std::string_view text, std::vector<Range>& found) const override {
    const Owned<pcre2_match_data> match(pcre2_match_data_create(1, nullptr));
    const Owned<pcre2_match_context> context(pcre2_match_context_create(nullptr));
    pcre2_set_match_limit(context.get(), kMatchLimit);
    pcre2_jit_stack_assign(context.get(), nullptr, this_threads_stack());
    size_t start = 0;
    while (start <= text.size()) {
      const int result = pcre2_match(
          code_.get(),
          reinterpret_cast<PCRE2_SPTR>(text.data()),
          text.size(),
          start,
          PCRE2_NO_UTF_CHECK,
          match.get(),
          context.get());
      if (result == PCRE2_ERROR_NOMATCH) {
        return;
      }
      if (result < 0) {
        fail<FormatError>(
            "{}: the pattern failed at byte {} of a text of {} bytes: {}",
            where_,
            start,
            text.size(),
            message_of(result));
      }
      const size_t* range = pcre2_get_ovector_pointer(match.get());
      found.push_back({range[0], range[1]});
      start = range[1];
      if (range[0] == range[1]) {
        start += start < text.size() ? next_utf8(text.substr(start)).size : 1;
      }
    }
  }

 private:
  std::string where_;
  Owned<pcre2_code> code_;
};

}  // namespace

std::unique_ptr<Regex> make_pcre_regex(
    const std::string& pattern, const std::string& where) {
  return std::make_unique<PcreRegex>(pattern, where);
}

}  // namespace titan::text
