#pragma once
// From opened files to the mixture that a config describes.

#include <vector>

#include "titan/data/config.h"
#include "titan/data/mixture.h"
#include "titan/data/source_files.h"

namespace titan::data {

// Without weights the indexed files of all sources are one part and the streamed ones
// another, in proportion to their documents. With weights each source has up to two such
// parts that share its weight. REQUIRES: the files outlive the mixture.
[[nodiscard]] Mixture mix_files(
    const DataConfig& config, const std::vector<SourceFile>& files);

}  // namespace titan::data
