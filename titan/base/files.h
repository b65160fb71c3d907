#pragma once
// Files: whole reads, memory maps, durable and atomic writes, and locks. Failures name
// the path and the system's reason: InputError for what the user named and cannot be
// read, EnvironmentError for writes (disk full, permissions).

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace titan {

namespace fs = std::filesystem;

[[nodiscard]] std::string read_file(const fs::path& path);

// A read-only memory map of a whole file. Immutable, so it may be shared by threads.
class MappedFile {
 public:
  explicit MappedFile(const fs::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Takes the whole pages of `part` out of resident memory; reading them again is allowed
  // and maps them again. For large files that are read once. REQUIRES: part lies in
  // bytes().
  void forget(std::span<const std::byte> part) const;

 private:
  fs::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// A file being written sequentially. Not durable until sync(); the destructor only
// closes. Every failure (disk full, quota, file size limit) throws EnvironmentError with
// the path.
class OutputFile {
 public:
  enum class Mode { kTruncate, kAppend };
  explicit OutputFile(const fs::path& path, Mode mode = Mode::kTruncate);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  // Blocks until the data is on the disk, then closes.
  void sync_and_close();

 private:
  fs::path path_;
  int descriptor_ = -1;
};

// Replaces `path` by `text` so that a reader or a crash sees the old or the new file,
// whole: temporary file beside it, fsync, rename, fsync of the folder.
void write_file_atomic(const fs::path& path, std::string_view text);

// Makes renames and creations inside `folder` durable.
void sync_folder(const fs::path& folder);

// create_directories with an EnvironmentError that names the folder.
void make_folders(const fs::path& folder);

// An advisory exclusive lock on a file, held until destruction or process end (also kill
// -9).
class FileLock {
 public:
  // Creates the file if needed. Throws EnvironmentError naming `what` and the holder's
  // process id when another process (or another FileLock) holds it.
  FileLock(const fs::path& path, std::string_view what);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace titan
