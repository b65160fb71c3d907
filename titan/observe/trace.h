#pragma once
// Where time goes, as a Chrome trace (chrome://tracing, Perfetto): complete events of
// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
//
//   {
//     Span span("forward");
//     span.arg("tokens", 4096);
//     ...
//   }
//
// Off by default; a span then costs one load. Thread-safe, but for the calls that start
// and stop the trace.

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "titan/base/files.h"
#include "titan/base/json.h"

namespace titan::observe {

// Writes all spans of the process that begin from now on to `path`, one event a line;
// what a kill leaves opens as well. REQUIRES: no trace is on.
void start_trace(const fs::path& path);

// Ends the file; does nothing when no trace is on. Throws the first EnvironmentError of a
// span that could not be written. REQUIRES: every span has ended.
void stop_trace();

class TraceFile;

// The time from its construction to its destruction, under the name of what is done.
class Span {
 public:
  // `name` must outlive the span: a literal.
  explicit Span(std::string_view name);
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  // Shown with the span.
  template <class T>
  void arg(const char* key, T&& value) {
    if (file_ != nullptr) {
      args_[key] = std::forward<T>(value);
    }
  }

 private:
  TraceFile* file_;
  std::string_view name_;
  Json args_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace titan::observe
