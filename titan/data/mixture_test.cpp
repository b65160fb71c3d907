#include "titan/data/mixture.h"

#include <cmath>

#include <gtest/gtest.h>

namespace titan::data {
namespace {

// Numbers its documents 0, 1, 2, ...
class Numbers : public DocumentOrder {
 public:
  explicit Numbers(int64_t size) : size_(size) {}

  [[nodiscard]] int64_t size() const override { return size_; }

  [[nodiscard]] uint64_t fingerprint() const override { return 0; }

  [[nodiscard]] bool streamed() const override { return false; }

  void seek(int64_t used) override { used_ = used; }

  Ticket next() override { return {.index = used_++}; }

 private:
  int64_t size_;
  int64_t used_ = 0;
};

struct Part {
  int64_t size;
  double weight;
};

Mixture mix(const std::vector<Part>& parts, int64_t epochs) {
  std::vector<MixturePart> mixed;
  for (const Part& part : parts) {
    mixed.push_back({std::make_unique<Numbers>(part.size), part.weight});
  }
  return Mixture(std::move(mixed), epochs);
}

std::string first_parts(Mixture& mixture, int count) {
  std::string parts;
  for (int i = 0; i < count; ++i) {
    parts += static_cast<char>('a' + mixture.next()->part);
  }
  return parts;
}

TEST(Mixture, FollowsTheRule) {
  Mixture mixture = mix({{100, 5}, {100, 3}, {100, 1}}, 0);
  EXPECT_EQ(first_parts(mixture, 18), "abaabcabaabaabcaba");
}

TEST(Mixture, IsTheProportionAtEveryPlace) {
  const std::vector<Part> parts = {{10, 0.7}, {10, 0.2}, {10, 0.1}};
  Mixture mixture = mix(parts, 0);
  std::vector<int64_t> used(parts.size(), 0);
  for (int n = 1; n <= 5000; ++n) {
    ++used[mixture.next()->part];
    for (size_t i = 0; i < parts.size(); ++i) {
      ASSERT_LE(std::abs(static_cast<double>(used[i]) - n * parts[i].weight), 1.0) << n;
    }
  }
}

TEST(Mixture, PartsWeighedByTheirSizesEndAnEpochTogether) {
  const std::vector<Part> parts = {{17, 17}, {1, 1}, {230, 230}};
  Mixture mixture = mix(parts, 0);
  for (int epoch = 1; epoch <= 3; ++epoch) {
    std::vector<int64_t> used(parts.size(), 0);
    for (int i = 0; i < 248; ++i) {
      ++used[mixture.next()->part];
    }
    EXPECT_EQ(used, (std::vector<int64_t>{17, 1, 230}));
  }
}

TEST(Mixture, APartWithoutEpochsLeftDropsOut) {
  Mixture mixture = mix({{2, 1}, {6, 1}}, 2);
  EXPECT_EQ(first_parts(mixture, 16), "ababababbbbbbbbb");
  EXPECT_FALSE(mixture.next());
  EXPECT_FALSE(mixture.next());
}

TEST(Mixture, GoesOnFromTheNumbersUsed) {
  const std::vector<Part> parts = {{7, 0.55}, {3, 0.45}, {90, 0.123}};
  Mixture whole = mix(parts, 0);
  std::vector<int64_t> used(parts.size(), 0);
  for (int n = 0; n < 300; ++n) {
    Mixture resumed = mix(parts, 0);
    resumed.seek(used);
    const auto expected = whole.next();
    const auto got = resumed.next();
    ASSERT_EQ(got->part, expected->part) << n;
    ASSERT_EQ(got->ticket.index, expected->ticket.index) << n;
    ++used[expected->part];
  }
}

}  // namespace
}  // namespace titan::data
