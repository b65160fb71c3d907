#include "titan/train/stop_signal.h"

#include <csignal>

namespace titan::train {
namespace {

volatile std::sig_atomic_t g_requested = 0;
using Handler = void (*)(int);
Handler g_former_term = SIG_DFL;
Handler g_former_int = SIG_DFL;

void on_signal(int signal) {
  if (g_requested != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  g_requested = 1;
}

}  // namespace

StopSignal::StopSignal() {
  g_requested = 0;
  g_former_term = std::signal(SIGTERM, on_signal);
  g_former_int = std::signal(SIGINT, on_signal);
}

StopSignal::~StopSignal() {
  std::signal(SIGTERM, g_former_term);
  std::signal(SIGINT, g_former_int);
}

bool StopSignal::requested() {
  return g_requested != 0;
}

}  // namespace titan::train
