#include "titan/data/source.h"

#include <algorithm>

#include "titan/base/error.h"
#include "titan/base/rng.h"
#include "titan/data/document_file.h"
#include "titan/data/jsonl.h"
#include "titan/data/source_files.h"
#include "titan/data/text_file.h"

namespace titan::data {

std::unique_ptr<DocumentFile> open_document_file(
    const std::filesystem::path& path, const SourceConfig& config) {
  std::unique_ptr<DocumentFile> file;
  if (format_of(path, config) == DocumentFormat::kJsonl) {
    file = std::make_unique<JsonlFile>(path, config.text_field);
  } else {
    file = std::make_unique<TextFile>(path);
  }
  if (file->size() == 0) {
    fail<InputError>("{}: the file holds no document", path.string());
  }
  return file;
}

struct Documents::State {
  struct Place {
    const DocumentFile& file;
    int64_t index;
  };

  std::vector<std::unique_ptr<DocumentFile>> files;
  std::vector<int64_t> ends;  // documents up to and with each file
  uint64_t fingerprint = 0;

  [[nodiscard]] Place find(int64_t index) const {
    const auto file =
        static_cast<size_t>(std::ranges::upper_bound(ends, index) - ends.begin());
    return {*files[file], file == 0 ? index : index - ends[file - 1]};
  }
};

Documents::Documents(const std::vector<SourceConfig>& sources)
    : state_(std::make_unique<State>()) {
  int64_t size = 0;
  uint64_t sizes_hash = 0;
  for (const SourceConfig& source : sources) {
    for (const std::filesystem::path& path : find_source_files(source)) {
      state_->files.push_back(open_document_file(path, source));
      const DocumentFile& file = *state_->files.back();
      for (int64_t i = 0; i < file.size(); ++i) {
        sizes_hash = (sizes_hash ^ file.bytes(i)) * 0x9E3779B97F4A7C15;
      }
      size += file.size();
      state_->ends.push_back(size);
    }
  }
  if (size == 0) {
    fail<InputError>("data.sources: empty, expected at least one source");
  }
  state_->fingerprint = stable_hash(fmt::format("{} {}", size, sizes_hash));
}

Documents::~Documents() = default;
Documents::Documents(Documents&&) noexcept = default;
Documents& Documents::operator=(Documents&&) noexcept = default;

int64_t Documents::size() const {
  return state_->ends.back();
}

std::string Documents::text(int64_t index) const {
  const State::Place place = state_->find(index);
  return place.file.text(place.index);
}

std::string Documents::where(int64_t index) const {
  const State::Place place = state_->find(index);
  return place.file.where(place.index);
}

uint64_t Documents::fingerprint() const {
  return state_->fingerprint;
}

}  // namespace titan::data
