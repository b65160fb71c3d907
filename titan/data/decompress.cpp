#include "titan/data/decompress.h"

#include <algorithm>
#include <limits>
#include <zlib.h>
#include <zstd.h>

#include "titan/base/error.h"
#include "titan/base/files.h"

namespace titan::data {
namespace {

class GzipStream : public ByteStream {
 public:
  explicit GzipStream(const fs::path& path) : file_(path) {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&state_, MAX_WBITS + kGzipOnly) != Z_OK) {
      fail<EnvironmentError>("{}: no memory to decompress", path.string());
    }
  }

  ~GzipStream() override { inflateEnd(&state_); }

  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  size_t read(std::span<char> out) override {
    state_.next_out = reinterpret_cast<Bytef*>(out.data());
    state_.avail_out =
        static_cast<uInt>(std::min<size_t>(out.size(), std::numeric_limits<uInt>::max()));
    const uInt wanted = state_.avail_out;
    while (state_.avail_out == wanted && !at_end()) {
      inflate_some();
    }
    return wanted - state_.avail_out;
  }

 private:
  [[nodiscard]] bool at_end() const {
    return between_members_ && used_ == file_.bytes().size();
  }

  void inflate_some() {
    if (between_members_) {
      inflateReset(&state_);
      between_members_ = false;
    }
    const auto rest = file_.bytes().subspan(used_);
    const auto size = static_cast<uInt>(
        std::min<size_t>(rest.size(), std::numeric_limits<uInt>::max()));
    // The library's interface lacks const; it only reads.
    state_.next_in =
        reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest.data()));  // NOLINT
    state_.avail_in = size;
    const int result = inflate(&state_, Z_NO_FLUSH);
    used_ += size - state_.avail_in;
    if (result == Z_STREAM_END) {
      between_members_ = true;
    } else if (result == Z_BUF_ERROR) {
      fail<FormatError>(
          "{}: the gzip data end early, after {} bytes", file_.path().string(), used_);
    } else if (result != Z_OK) {
      fail<FormatError>(
          "{}: not valid gzip data at byte {}: {}",
          file_.path().string(),
          used_,
          state_.msg == nullptr ? "damaged" : state_.msg);
    }
  }

  MappedFile file_;
  z_stream state_{};
  size_t used_ = 0;
  bool between_members_ = false;
};

class ZstdStream : public ByteStream {
 public:
  explicit ZstdStream(const fs::path& path) : file_(path), state_(ZSTD_createDStream()) {
    if (state_ == nullptr) {
      fail<EnvironmentError>("{}: no memory to decompress", path.string());
    }
  }

  size_t read(std::span<char> out) override {
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    ZSTD_inBuffer input{file_.bytes().data(), file_.bytes().size(), used_};
    while (output.pos == 0 && !(between_frames_ && input.pos == input.size)) {
      const size_t before = input.pos;
      const size_t result = ZSTD_decompressStream(state_.get(), &output, &input);
      if (ZSTD_isError(result) != 0) {
        fail<FormatError>(
            "{}: not valid Zstandard data at byte {}: {}",
            file_.path().string(),
            input.pos,
            ZSTD_getErrorName(result));
      }
      between_frames_ = result == 0;
      if (!between_frames_ && input.pos == before && output.pos == 0) {
        fail<FormatError>(
            "{}: the Zstandard data end early, after {} bytes",
            file_.path().string(),
            input.pos);
      }
    }
    used_ = input.pos;
    return output.pos;
  }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  MappedFile file_;
  std::unique_ptr<ZSTD_DStream, Free> state_;
  size_t used_ = 0;
  bool between_frames_ = true;
};

}  // namespace

std::unique_ptr<ByteStream> open_gzip(const fs::path& path) {
  return std::make_unique<GzipStream>(path);
}

std::unique_ptr<ByteStream> open_zstd(const fs::path& path) {
  return std::make_unique<ZstdStream>(path);
}

}  // namespace titan::data
