#include "titan/data/fit_packer.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "titan/base/error.h"
#include "titan/data/permutation.h"
#include "titan/data/row.h"

namespace titan::data {
namespace {

// Finds the first bin with enough room: a tree of the largest room below each node.
class FirstFit {
 public:
  // Room for `count` bins, all of them still closed, so with their whole capacity.
  FirstFit(size_t count, int64_t capacity)
      : leaves_(std::bit_ceil(count)), room_(2 * leaves_, capacity) {}

  size_t place(int64_t length) {
    size_t node = 1;
    while (node < leaves_) {
      node = room_[2 * node] >= length ? 2 * node : 2 * node + 1;
    }
    const size_t bin = node - leaves_;
    room_[node] -= length;
    for (node /= 2; node > 0; node /= 2) {
      room_[node] = std::max(room_[2 * node], room_[2 * node + 1]);
    }
    return bin;
  }

 private:
  size_t leaves_;
  std::vector<int64_t> room_;
};

// Finds the bin with the least room that suffices.
class BestFit {
 public:
  explicit BestFit(int64_t capacity) : capacity_(capacity) {}

  size_t place(int64_t length) {
    const auto found = bins_.lower_bound({length, 0});
    std::pair<int64_t, size_t> bin{capacity_, num_bins_};
    if (found == bins_.end()) {
      ++num_bins_;
    } else {
      bin = *found;
      bins_.erase(found);
    }
    bins_.insert({bin.first - length, bin.second});
    return bin.second;
  }

 private:
  int64_t capacity_;
  size_t num_bins_ = 0;
  std::set<std::pair<int64_t, size_t>> bins_;  // (room, number)
};

}  // namespace

std::vector<size_t> pack_lengths(
    std::span<const int64_t> lengths, int64_t capacity, Packing packing) {
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(
      order, std::ranges::greater(), [&](size_t i) { return lengths[i]; });
  std::vector<size_t> bins(lengths.size());
  FirstFit first_fit(std::max<size_t>(lengths.size(), 1), capacity);
  BestFit best_fit(capacity);
  for (const size_t i : order) {
    bins[i] = packing == Packing::kFirstFit ? first_fit.place(lengths[i])
                                            : best_fit.place(lengths[i]);
  }
  return bins;
}

FitPacker::FitPacker(const PackOptions& options, Intake intake, PackCursor start)
    : options_(options), intake_(std::move(intake)), cursor_(std::move(start)) {}

bool FitPacker::next(Batch* batch) {
  if (rows_.empty()) {
    take_window();
    pack_window();
  }
  if (rows_.empty()) {
    return false;
  }
  if (cursor_.offset >= std::ssize(rows_)) {
    fail<FormatError>(
        "the data position is at row {} of a window with {}: the tokenizer or the data "
        "have changed",
        cursor_.offset,
        rows_.size());
  }
  Row row(options_, batch);
  for (const Piece& piece : rows_[static_cast<size_t>(cursor_.offset)]) {
    row.append(examples_[piece.example], piece.begin, piece.length);
  }
  cursor_.filling += row.fill_up();
  if (++cursor_.offset == std::ssize(rows_)) {
    cursor_ = {intake_.used(), 0, intake_.counts(), cursor_.filling};
    rows_.clear();
  }
  return true;
}

void FitPacker::take_window() {
  examples_.clear();
  const int64_t end = intake_.counts().documents + options_.window;
  while (intake_.counts().documents < end || examples_.empty()) {
    std::optional<Example> example = intake_.next();
    if (!example) {
      break;
    }
    examples_.push_back(std::move(*example));
  }
}

void FitPacker::pack_window() {
  std::vector<Piece> pieces;
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < examples_.size(); ++i) {
    const int64_t inputs = examples_[i].num_inputs();
    for (int64_t begin = 0; begin < inputs; begin += options_.max_piece()) {
      pieces.push_back({i, begin, std::min(options_.max_piece(), inputs - begin)});
      lengths.push_back(pieces.back().length);
    }
  }
  if (pieces.empty()) {
    return;
  }
  const std::vector<size_t> bins =
      pack_lengths(lengths, options_.tokens, options_.packing);
  rows_.resize(*std::ranges::max_element(bins) + 1);
  // Long documents open the first bins; without an order of their own rows would come
  // sorted by length.
  const int64_t start =
      std::accumulate(cursor_.used.begin(), cursor_.used.end(), int64_t{0});
  const Permutation order(rows_.size(), options_.seed, static_cast<uint64_t>(start));
  for (size_t i = 0; i < pieces.size(); ++i) {
    rows_[order(bins[i])].push_back(pieces[i]);
  }
}

}  // namespace titan::data
