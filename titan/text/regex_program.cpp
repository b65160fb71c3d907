#include "titan/text/regex_program.h"

#include <algorithm>

namespace titan::text {
namespace {

using Kind = RegexInstruction::Kind;

// The split patterns of published tokenizers have less than 100.
constexpr size_t kMaxInstructions = 1000;

bool can_be_empty(const RegexNode& node) {
  switch (node.kind) {
    case RegexNode::Kind::kSet:
      return false;
    case RegexNode::Kind::kSequence:
      return std::ranges::all_of(node.parts, can_be_empty);
    case RegexNode::Kind::kChoice:
      return std::ranges::any_of(node.parts, can_be_empty);
    case RegexNode::Kind::kRepeat:
      return node.least == 0 || can_be_empty(node.parts[0]);
    case RegexNode::Kind::kLookahead:
      return true;
  }
  return true;
}

bool repeats_the_empty_text(const RegexNode& node) {
  return (node.kind == RegexNode::Kind::kRepeat && can_be_empty(node.parts[0])) ||
         std::ranges::any_of(node.parts, repeats_the_empty_text);
}

// Builds from the end: each part is told where its match leads.
class Builder {
 public:
  uint32_t add(const RegexInstruction& instruction) {
    if (program_.instructions.size() < kMaxInstructions) {
      program_.instructions.push_back(instruction);
    } else {
      too_long_ = true;
    }
    return static_cast<uint32_t>(program_.instructions.size() - 1);
  }

  uint32_t build(const RegexNode& node, uint32_t next) {
    if (too_long_) {
      return next;
    }
    switch (node.kind) {
      case RegexNode::Kind::kSet:
        return add({.kind = Kind::kSet, .set = set(node.set), .next = next});
      case RegexNode::Kind::kLookahead:
        return add(
            {.kind = Kind::kLookahead,
             .negated = node.negated,
             .set = set(node.set),
             .next = next});
      case RegexNode::Kind::kSequence:
        for (auto part = node.parts.rbegin(); part != node.parts.rend(); ++part) {
          next = build(*part, next);
        }
        return next;
      case RegexNode::Kind::kChoice: {
        uint32_t choice = build(node.parts.back(), next);
        for (auto part = node.parts.rbegin() + 1; part != node.parts.rend(); ++part) {
          choice = split(build(*part, next), choice, true);
        }
        return choice;
      }
      case RegexNode::Kind::kRepeat:
        return repeat(node, next);
    }
    return next;
  }

  std::optional<RegexProgram> finish(uint32_t start) {
    program_.start = start;
    return too_long_ ? std::nullopt : std::optional(std::move(program_));
  }

 private:
  uint32_t set(const CodePointSet& wanted) {
    const auto same = [&](const CodePointSet& known) {
      return known.intervals() == wanted.intervals();
    };
    const auto found = std::ranges::find_if(program_.sets, same);
    const auto index = static_cast<uint32_t>(found - program_.sets.begin());
    if (found == program_.sets.end()) {
      program_.sets.push_back(wanted);
    }
    return index;
  }

  uint32_t split(uint32_t part, uint32_t rest, bool part_first) {
    return add(
        {.kind = Kind::kSplit,
         .next = part_first ? part : rest,
         .other = part_first ? rest : part});
  }

  uint32_t repeat(const RegexNode& node, uint32_t next) {
    const RegexNode& part = node.parts[0];
    uint32_t start = next;
    if (node.most == RegexNode::kNoLimit) {
      start = split(0, next, node.greedy);
      const uint32_t body = build(part, start);
      RegexInstruction& loop = program_.instructions[start];
      (node.greedy ? loop.next : loop.other) = body;
    } else {
      for (int i = node.least; i < node.most && !too_long_; ++i) {
        start = split(build(part, start), next, node.greedy);
      }
    }
    for (int i = 0; i < node.least && !too_long_; ++i) {
      start = build(part, start);
    }
    return start;
  }

  RegexProgram program_;
  bool too_long_ = false;
};

}  // namespace

std::optional<RegexProgram> make_regex_program(const RegexNode& tree) {
  if (can_be_empty(tree) || repeats_the_empty_text(tree)) {
    return std::nullopt;
  }
  Builder builder;
  const uint32_t match = builder.add({.kind = Kind::kMatch});
  return builder.finish(builder.build(tree, match));
}

}  // namespace titan::text
