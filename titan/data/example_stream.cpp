#include "titan/data/example_stream.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "titan/base/error.h"
#include "titan/base/log.h"
#include "titan/data/parallel_for.h"

namespace titan::data {
namespace {

// Enough documents for each thread that starting it does not count.
constexpr size_t kDocumentsPerThread = 32;

}  // namespace

std::optional<Arrival> ExampleStream::next() {
  if (ready_.empty()) {
    fetch();
  }
  if (ready_.empty()) {
    return std::nullopt;
  }
  Arrival arrival = std::move(ready_.front());
  ready_.pop_front();
  return arrival;
}

void ExampleStream::fetch() {
  std::vector<Mixture::Turn> turns;
  const size_t count = options_.threads * kDocumentsPerThread;
  while (turns.size() < count) {
    std::optional<Mixture::Turn> turn = mixture_.next();
    if (!turn) {
      break;
    }
    turns.push_back(std::move(*turn));
  }
  const bool work = std::ranges::any_of(
      turns, [](const Mixture::Turn& turn) { return turn.ticket.needs_work(); });
  std::vector<std::optional<Example>> examples(turns.size());
  parallel_for(turns.size(), work ? options_.threads : 1, [&](size_t i) {
    const Ticket& ticket = turns[i].ticket;
    try {
      examples[i] = processor_(ticket.read());
    } catch (const EnvironmentError&) {
      throw;
    } catch (const Error& error) {
      const std::string problem = fmt::format("{}: {}", ticket.where(), error.what());
      if (options_.bad_records == BadRecords::kRefuse) {
        throw FormatError(problem);
      }
      log::warning("left out: {}", problem);
    }
  });
  for (size_t i = 0; i < turns.size(); ++i) {
    ready_.push_back({std::move(examples[i]), turns[i].part});
  }
}

}  // namespace titan::data
