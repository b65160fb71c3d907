#pragma once

// The file names of a Hugging Face model folder.

namespace titan::checkpoint {

inline constexpr const char* kHfConfig = "config.json";
inline constexpr const char* kHfSingleFile = "model.safetensors";
inline constexpr const char* kHfIndex = "model.safetensors.index.json";

}  // namespace titan::checkpoint
