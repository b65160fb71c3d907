#include "titan/base/files.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "titan/base/error.h"

namespace titan {
namespace {

// Closes its descriptor when it leaves the scope.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}

  ~Descriptor() {
    if (value_ >= 0) {
      ::close(value_);
    }
  }

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const { return value_; }

  [[nodiscard]] int release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

int open_for_reading(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    fail<InputError>("{}: cannot open: {}", path.string(), errno_text(errno));
  }
  return descriptor;
}

size_t size_of_regular_file(int descriptor, const fs::path& path) {
  struct stat info {};

  if (::fstat(descriptor, &info) != 0) {
    fail<InputError>("{}: cannot read: {}", path.string(), errno_text(errno));
  }
  if (!S_ISREG(info.st_mode)) {
    fail<InputError>(
        "{}: expected a file, got {}",
        path.string(),
        S_ISDIR(info.st_mode) ? "a folder" : "a special file");
  }
  return static_cast<size_t>(info.st_size);
}

}  // namespace

std::string read_file(const fs::path& path) {
  const Descriptor file(open_for_reading(path));
  std::string text(size_of_regular_file(file.get(), path), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      fail<InputError>("{}: cannot read: {}", path.string(), errno_text(errno));
    }
    if (got == 0) {
      break;
    }
    done += static_cast<size_t>(got);
  }
  text.resize(done);
  return text;
}

MappedFile::MappedFile(const fs::path& path) : path_(path) {
  const Descriptor file(open_for_reading(path));
  size_ = size_of_regular_file(file.get(), path);
  if (size_ == 0) {
    return;  // mmap refuses empty maps; an empty span says the same
  }
  void* map = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (map == MAP_FAILED) {
    fail<InputError>("{}: cannot map: {}", path.string(), errno_text(errno));
  }
  data_ = static_cast<const std::byte*>(map);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
}

void MappedFile::forget(std::span<const std::byte> part) const {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(part.data());
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t last = (begin + part.size()) / page * page;
  if (first < last) {
    // Advice only: a kernel that does not take it keeps the pages.
    (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  }
}

OutputFile::OutputFile(const fs::path& path, Mode mode) : path_(path) {
  const int how = mode == Mode::kTruncate ? O_TRUNC : O_APPEND;
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0666);
  if (descriptor_ < 0) {
    fail<EnvironmentError>("{}: cannot write: {}", path.string(), errno_text(errno));
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put < 0) {
      fail<EnvironmentError>("{}: cannot write: {}", path_.string(), errno_text(errno));
    }
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
}

void OutputFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text.data(), text.size())));
}

void OutputFile::sync_and_close() {
  const Descriptor file(std::exchange(descriptor_, -1));
  if (::fsync(file.get()) != 0) {
    fail<EnvironmentError>("{}: cannot write: {}", path_.string(), errno_text(errno));
  }
}

void write_file_atomic(const fs::path& path, std::string_view text) {
  fs::path temporary = path;
  temporary += fmt::format(".tmp-{}", ::getpid());
  try {
    OutputFile file(temporary);
    file.write(text);
    file.sync_and_close();
    fs::rename(temporary, path);
  } catch (...) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
  sync_folder(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

void sync_folder(const fs::path& folder) {
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || ::fsync(directory.get()) != 0) {
    fail<EnvironmentError>(
        "{}: cannot sync folder: {}", folder.string(), errno_text(errno));
  }
}

void make_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    fail<EnvironmentError>(
        "{}: cannot create folder: {}", folder.string(), error.message());
  }
}

FileLock::FileLock(const fs::path& path, std::string_view what) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (file.get() < 0) {
    fail<EnvironmentError>(
        "{}: cannot open lock file: {}", path.string(), errno_text(errno));
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    char holder[32] = {};
    const ssize_t got = ::pread(file.get(), holder, sizeof holder - 1, 0);
    const std::string_view id(holder, got > 0 ? static_cast<size_t>(got) : 0);
    fail<EnvironmentError>(
        "{}: in use by another process{}{}", what, id.empty() ? "" : ", id ", id);
  }
  const std::string id = std::to_string(::getpid());
  if (::ftruncate(file.get(), 0) != 0 ||
      ::pwrite(file.get(), id.data(), id.size(), 0) != static_cast<ssize_t>(id.size())) {
    fail<EnvironmentError>(
        "{}: cannot write lock file: {}", path.string(), errno_text(errno));
  }
  descriptor_ = file.release();
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

}  // namespace titan
