#pragma once

namespace titan::train {

// Turns SIGTERM and SIGINT into a request to stop after the current step; a second signal
// ends the process at once. One at a time; restores the former handlers.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  [[nodiscard]] static bool requested();
};

}  // namespace titan::train
