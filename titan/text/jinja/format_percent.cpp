// Python's "%" of a str.

#include <algorithm>
#include <cmath>
#include <string>

#include "titan/text/jinja/operators.h"
#include "titan/text/jinja/print.h"
#include "titan/text/jinja/python_characters.h"

namespace titan::text::jinja {
namespace {

// "%-05.2f" and the like.
struct Conversion {
  bool left = false;
  bool zeros = false;
  bool plus = false;
  bool space = false;
  size_t width = 0;
  int precision = -1;  // -1: not given
  char type = 's';
};

constexpr size_t kMaxWidth = 1000;

class PercentFormat {
 public:
  PercentFormat(Context& context, const String& format, std::span<const Value> arguments)
      : context_(context), format_(format), arguments_(arguments) {}

  Value run() {
    const size_t begin = context_.text.size();
    const std::string_view text = format_.text;
    while (at_ < text.size()) {
      const size_t percent = std::min(text.find('%', at_), text.size());
      context_.text.append(format_, at_, percent);
      at_ = percent;
      if (at_ < text.size()) {
        convert(read());
      }
    }
    if (next_ < arguments_.size() && !is_dict_only()) {
      context_.fail("format: not all arguments are used");
    }
    return make_string(context_.arena, context_.text.take(begin, context_.arena));
  }

 private:
  [[nodiscard]] bool is_dict_only() const {
    return arguments_.size() == 1 && arguments_[0].is(Kind::kDict);
  }

  [[nodiscard]] char peek() const {
    return at_ < format_.text.size() ? format_.text[at_] : '\0';
  }

  size_t read_number() {
    size_t number = 0;
    while (peek() >= '0' && peek() <= '9' && number <= kMaxWidth) {
      number = 10 * number + static_cast<size_t>(format_.text[at_++] - '0');
    }
    if (number > kMaxWidth) {
      context_.fail("format: a width above {} is not supported", kMaxWidth);
    }
    return number;
  }

  Conversion read() {
    Conversion conversion;
    ++at_;
    for (;; ++at_) {
      bool* const flag = peek() == '-'   ? &conversion.left
                         : peek() == '0' ? &conversion.zeros
                         : peek() == '+' ? &conversion.plus
                         : peek() == ' ' ? &conversion.space
                                         : nullptr;
      if (flag == nullptr) {
        break;
      }
      *flag = true;
    }
    conversion.width = read_number();
    if (peek() == '.') {
      ++at_;
      conversion.precision = static_cast<int>(read_number());
    }
    conversion.type = peek();
    ++at_;
    return conversion;
  }

  const Value& next_argument() {
    if (next_ == arguments_.size()) {
      context_.fail("format: not enough arguments");
    }
    return context_.defined(arguments_[next_++]);
  }

  void convert(const Conversion& conversion) {
    switch (conversion.type) {
      case '%':
        context_.text.append("%", format_.mark);
        return;
      case 's':
        append_padded(conversion, context_.to_string(next_argument()));
        return;
      case 'r': {
        const size_t begin = context_.text.size();
        print_repr(context_, next_argument());
        append_padded(conversion, context_.text.take(begin, context_.arena));
        return;
      }
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        append_integer(conversion);
        return;
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
        append_float(conversion);
        return;
      default:
        context_.fail("format: the conversion \"%{}\" is not supported", conversion.type);
    }
  }

  void append_padded(const Conversion& conversion, const String& string) {
    size_t end = string.text.size();
    if (conversion.precision >= 0) {
      end = character_offset(string.text, static_cast<size_t>(conversion.precision));
    }
    const size_t size = count_characters(string.text.substr(0, end));
    const std::string padding(std::max(conversion.width, size) - size, ' ');
    if (!conversion.left) {
      context_.text.append(padding, {});
    }
    context_.text.append(string, 0, end);
    if (conversion.left) {
      context_.text.append(padding, {});
    }
  }

  // Digits with the sign and padding that the conversion asks for.
  void append_number(const Conversion& conversion, bool negative, std::string digits) {
    const std::string sign = negative           ? "-"
                             : conversion.plus  ? "+"
                             : conversion.space ? " "
                                                : "";
    const size_t size = sign.size() + digits.size();
    const size_t missing = std::max(conversion.width, size) - size;
    std::string text;
    if (conversion.left) {
      text = sign + digits + std::string(missing, ' ');
    } else if (conversion.zeros) {
      text = sign + std::string(missing, '0') + digits;
    } else {
      text = std::string(missing, ' ') + sign + digits;
    }
    context_.text.append(text, {});
  }

  void append_integer(const Conversion& conversion) {
    const Value& value = next_argument();
    if (!value.is_number() || (value.is(Kind::kFloat) && conversion.type != 'd')) {
      context_.fail("format: expected an int, got {}", type_name(value));
    }
    const double bound = 9.2e18;
    if (value.is(Kind::kFloat) && !(value.number() > -bound && value.number() < bound)) {
      context_.fail("format: a float beyond 64 bits");
    }
    const int64_t number =
        value.is(Kind::kFloat) ? static_cast<int64_t>(value.number()) : value.integer();
    const auto magnitude = number < 0 ? uint64_t{0} - static_cast<uint64_t>(number)
                                      : static_cast<uint64_t>(number);
    std::string digits = conversion.type == 'x'   ? fmt::format("{:x}", magnitude)
                         : conversion.type == 'X' ? fmt::format("{:X}", magnitude)
                         : conversion.type == 'o' ? fmt::format("{:o}", magnitude)
                                                  : fmt::format("{}", magnitude);
    const auto wanted = static_cast<size_t>(std::max(conversion.precision, 0));
    digits.insert(0, std::max(wanted, digits.size()) - digits.size(), '0');
    append_number(conversion, number < 0, digits);
  }

  void append_float(const Conversion& conversion) {
    const Value& value = next_argument();
    if (!value.is_number()) {
      context_.fail("format: expected a number, got {}", type_name(value));
    }
    const double number = value.number();
    const int precision = conversion.precision < 0 ? 6 : conversion.precision;
    const std::string pattern = fmt::format("{{:.{}{}}}", precision, conversion.type);
    const std::string text = fmt::format(fmt::runtime(pattern), std::fabs(number));
    append_number(conversion, std::signbit(number), text);
  }

  Context& context_;
  const String& format_;
  std::span<const Value> arguments_;
  size_t at_ = 0;
  size_t next_ = 0;
};

}  // namespace

Value format_percent(
    Context& context, const String& format, std::span<const Value> arguments) {
  return PercentFormat(context, format, arguments).run();
}

}  // namespace titan::text::jinja
