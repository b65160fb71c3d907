#pragma once
// Documents in their order, read and tokenised by several threads.

#include <cstddef>
#include <deque>
#include <optional>

#include "titan/data/example.h"
#include "titan/data/mixture.h"
#include "titan/data/processor.h"

namespace titan::data {

struct StreamOptions {
  size_t threads = 1;
  BadRecords bad_records = BadRecords::kRefuse;
};

// An example and the part of the mixture that it is from.
struct Arrival {
  std::optional<Example> example;  // nullopt: a bad record that was skipped
  size_t part = 0;
};

// The order of the examples does not depend on the threads. Not thread-safe.
class ExampleStream {
 public:
  // REQUIRES: the mixture and the processor outlive this; the mixture is not moved by
  // others.
  ExampleStream(
      Mixture& mixture, const Processor& processor, const StreamOptions& options)
      : mixture_(mixture), processor_(processor), options_(options) {}

  // nullopt at the end. Where bad records are refused: FormatError that begins with the
  // document's file and line.
  [[nodiscard]] std::optional<Arrival> next();

 private:
  void fetch();

  Mixture& mixture_;
  const Processor& processor_;
  StreamOptions options_;
  std::deque<Arrival> ready_;
};

}  // namespace titan::data
