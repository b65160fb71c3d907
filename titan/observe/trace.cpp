#include "titan/observe/trace.h"

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <unistd.h>

#include "titan/base/error.h"

namespace titan::observe {

using Clock = std::chrono::steady_clock;

class TraceFile {
 public:
  explicit TraceFile(const fs::path& path) : file_(path), start_(Clock::now()) {
    const Json name = {
        {"name", "process_name"},
        {"ph", "M"},
        {"pid", ::getpid()},
        {"args", {{"name", "titan"}}}};
    file_.write("[\n" + name.dump());
  }

  // Called from destructors: a failure is kept for close().
  void add(std::string_view name, const Json& args, Clock::time_point begin) noexcept {
    const Clock::time_point end = Clock::now();
    const std::lock_guard lock(mutex_);
    try {
      Json event = {
          {"name", name},
          {"ph", "X"},
          {"ts", microseconds(begin - start_)},
          {"dur", microseconds(end - begin)},
          {"pid", ::getpid()},
          {"tid", ::gettid()}};
      if (!args.is_null()) {
        event["args"] = args;
      }
      file_.write(",\n" + event.dump());
    } catch (...) {
      if (!failure_) {
        failure_ = std::current_exception();
      }
    }
  }

  void close() {
    if (failure_) {
      std::rethrow_exception(failure_);
    }
    file_.write("\n]\n");
  }

 private:
  static double microseconds(Clock::duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
  }

  std::mutex mutex_;
  OutputFile file_;
  Clock::time_point start_;
  std::exception_ptr failure_;
};

namespace {

std::atomic<TraceFile*> current{nullptr};

}  // namespace

void start_trace(const fs::path& path) {
  current = std::make_unique<TraceFile>(path).release();
}

void stop_trace() {
  const std::unique_ptr<TraceFile> file(current.exchange(nullptr));
  if (file) {
    file->close();
  }
}

Span::Span(std::string_view name)
    : file_(current.load(std::memory_order_acquire)), name_(name) {
  if (file_ != nullptr) {
    begin_ = Clock::now();
  }
}

Span::~Span() {
  if (file_ != nullptr) {
    file_->add(name_, args_, begin_);
  }
}

}  // namespace titan::observe
