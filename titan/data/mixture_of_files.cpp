#include "titan/data/mixture_of_files.h"

#include <map>
#include <utility>

namespace titan::data {
namespace {

struct Group {
  std::vector<const IndexedFile*> indexed;
  std::vector<const StreamedFile*> streamed;
  int64_t size = 0;
};

}  // namespace

Mixture mix_files(const DataConfig& config, const std::vector<SourceFile>& files) {
  const bool weighted = config.sources.front().weight > 0;
  std::map<size_t, Group> groups;  // by the number of the source, or one
  for (const SourceFile& file : files) {
    Group& group = groups[weighted ? file.source : 0];
    if (file.indexed) {
      group.indexed.push_back(file.indexed.get());
    } else {
      group.streamed.push_back(file.streamed.get());
    }
    group.size += file.size();
  }
  const OrderOptions options{
      config.shuffle, static_cast<uint64_t>(config.seed), config.shuffle_buffer};
  std::vector<MixturePart> parts;
  for (const auto& [source, group] : groups) {
    const double weight =
        weighted ? config.sources[source].weight / static_cast<double>(group.size) : 1;
    const auto add = [&](std::unique_ptr<DocumentOrder> order) {
      const auto size = static_cast<double>(order->size());
      parts.push_back({std::move(order), weight * size});
    };
    if (!group.indexed.empty()) {
      add(order_indexed(group.indexed, options));
    }
    if (!group.streamed.empty()) {
      add(order_streamed(group.streamed, options));
    }
  }
  return Mixture(std::move(parts), config.epochs);
}

}  // namespace titan::data
