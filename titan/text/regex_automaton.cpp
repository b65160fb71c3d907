// Leftmost-first matching as a deterministic automaton. A state is the list of places in
// the program where a backtracking matcher could be, in its order of preference (Cox
// 2010, "Regular Expression Matching in the Wild"). A match is noticed one character
// late, so that a lookahead for that character is decided by then.

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "titan/base/error.h"
#include "titan/text/character_classes.h"
#include "titan/text/regex.h"
#include "titan/text/regex_program.h"
#include "titan/text/utf8.h"

namespace titan::text {
namespace {

// The split patterns of published tokenizers need less than 100.
constexpr size_t kMaxStates = 1000;
// Characters read beyond the ends of matches, in one text: the patterns of real
// tokenizers stay below a small multiple of its length.
constexpr size_t kOverrunLimit = 200'000'000;

using Places = std::vector<uint32_t>;
using Kind = RegexInstruction::Kind;

// Where one character leads from a state.
struct Transition {
  Places places;
  bool matched = false;  // a match ends before the character
};

// The steps of the program from one list of places to the next.
class Stepper {
 public:
  Stepper(const RegexProgram& program, const CharacterClasses& classes)
      : program_(program), classes_(classes) {}

  Places start() {
    Places places;
    std::vector<bool> seen(program_.instructions.size());
    follow(program_.start, seen, places);
    return places;
  }

  // By a character of the class, or by the end of the text: class count().
  Transition step(const Places& from, size_t character_class) {
    Transition result;
    std::vector<bool> tried(program_.instructions.size());
    std::vector<bool> reached(program_.instructions.size());
    // A stack of places still to try; the last one is the most preferred.
    Places stack(from.rbegin(), from.rend());
    while (!stack.empty() && !result.matched) {
      const uint32_t place = stack.back();
      stack.pop_back();
      if (tried[place]) {
        continue;
      }
      tried[place] = true;
      const RegexInstruction& instruction = program_.instructions[place];
      if (instruction.kind == Kind::kMatch) {
        result.matched = true;
      } else if (instruction.kind == Kind::kSet) {
        if (contains(instruction, character_class)) {
          follow(instruction.next, reached, result.places);
        }
      } else if (contains(instruction, character_class) != instruction.negated) {
        Places beyond;
        std::vector<bool> seen(program_.instructions.size());
        follow(instruction.next, seen, beyond);
        stack.insert(stack.end(), beyond.rbegin(), beyond.rend());
      }
    }
    return result;
  }

 private:
  [[nodiscard]] bool contains(
      const RegexInstruction& instruction, size_t character_class) const {
    return character_class < classes_.count() &&
           classes_.is_in(instruction.set, character_class);
  }

  // Appends all places that `place` leads to without a character.
  void follow(uint32_t place, std::vector<bool>& seen, Places& places) const {
    Places stack{place};
    while (!stack.empty()) {
      const uint32_t here = stack.back();
      stack.pop_back();
      if (seen[here]) {
        continue;
      }
      seen[here] = true;
      const RegexInstruction& instruction = program_.instructions[here];
      if (instruction.kind == Kind::kSplit) {
        stack.push_back(instruction.other);
        stack.push_back(instruction.next);
      } else {
        places.push_back(here);
      }
    }
  }

  const RegexProgram& program_;
  const CharacterClasses& classes_;
};

class Automaton : public Regex {
 public:
  explicit Automaton(std::string where, CharacterClasses classes)
      : where_(std::move(where)), classes_(std::move(classes)) {
    while ((size_t{1} << shift_) <= classes_.count()) {
      ++shift_;
    }
  }

  // Fills the table; false: too many states.
  bool build(const RegexProgram& program) {
    Stepper stepper(program, classes_);
    std::map<Places, size_t> numbers{{{}, kDead}, {stepper.start(), kStart}};
    std::vector<const Places*> states{
        &numbers.find({})->first, &numbers.find(stepper.start())->first};
    for (size_t state = 0; state < states.size(); ++state) {
      if (states.size() > kMaxStates) {
        return false;
      }
      table_.resize((state + 1) << shift_);
      for (size_t c = 0; c <= classes_.count(); ++c) {
        Transition transition = stepper.step(*states[state], c);
        const auto [entry, added] =
            numbers.try_emplace(std::move(transition.places), states.size());
        if (added) {
          states.push_back(&entry->first);
        }
        table_[state << shift_ | c] =
            static_cast<uint16_t>(entry->second << 1 | (transition.matched ? 1 : 0));
      }
    }
    return true;
  }

  void find_all(std::string_view text, std::vector<Range>& found) const override {
    size_t overrun = 0;
    for (size_t at = 0; at < text.size();) {
      const Scan scan = scan_from(text, at);
      if (scan.match_end == kNone) {
        overrun += scan.stopped - at;
        at += next_utf8(text.substr(at)).size;
      } else {
        overrun += scan.stopped - scan.match_end;
        found.push_back({at, scan.match_end});
        at = scan.match_end;
      }
      if (overrun > kOverrunLimit) {
        fail<FormatError>(
            "{}: the pattern failed at byte {} of a text of {} bytes: too many steps",
            where_,
            at,
            text.size());
      }
    }
  }

 private:
  static constexpr size_t kDead = 0;
  static constexpr size_t kStart = 1;
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();

  struct Scan {
    size_t match_end;  // kNone: no match
    size_t stopped;    // where the last character was read
  };

  [[nodiscard]] Scan scan_from(std::string_view text, size_t begin) const {
    size_t state = kStart;
    size_t match_end = kNone;
    size_t at = begin;
    while (at < text.size()) {
      const auto byte = static_cast<unsigned char>(text[at]);
      size_t size = 1;
      uint8_t character_class;
      if (byte < 0x80) {
        character_class = classes_.class_of_ascii(byte);
      } else {
        size = utf8_size(byte);
        character_class = classes_.class_of(code_point(text.substr(at), size));
      }
      const uint16_t entry = table_[state << shift_ | character_class];
      if ((entry & 1) != 0) {
        match_end = at;
      }
      state = entry >> 1;
      if (state == kDead) {
        return {match_end, at};
      }
      at += size;
    }
    if ((table_[state << shift_ | classes_.count()] & 1) != 0) {
      match_end = at;
    }
    return {match_end, at};
  }

  std::string where_;
  CharacterClasses classes_;
  size_t shift_ = 0;             // a row has 2^shift_ entries
  std::vector<uint16_t> table_;  // [state][class]: next state * 2 + matched
};

}  // namespace

std::unique_ptr<Regex> make_regex_automaton(
    const std::string& pattern, const std::string& where) {
  const std::optional<RegexNode> tree = parse_regex(pattern);
  const std::optional<RegexProgram> program =
      tree ? make_regex_program(*tree) : std::nullopt;
  if (!program) {
    return nullptr;
  }
  std::optional<CharacterClasses> classes = CharacterClasses::make(program->sets);
  if (!classes) {
    return nullptr;
  }
  auto automaton = std::make_unique<Automaton>(where, std::move(*classes));
  if (!automaton->build(*program)) {
    return nullptr;
  }
  return automaton;
}

std::unique_ptr<Regex> make_regex(const std::string& pattern, const std::string& where) {
  std::unique_ptr<Regex> automaton = make_regex_automaton(pattern, where);
  return automaton ? std::move(automaton) : make_pcre_regex(pattern, where);
}

}  // namespace titan::text
