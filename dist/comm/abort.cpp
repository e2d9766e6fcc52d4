#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>

#include "dist/comm/abort_internal.h"
#include "dist/comm/launch.h"
#include "dist/comm/mpi_internal.h"

namespace tessera::dist {
namespace {

constexpr unsigned kAbort_s = 10;  // should MPI_Abort hang

// Handlers of signals and of std::terminate have no argument to carry state in.
volatile std::sig_atomic_t signals_seen = 0;
int this_rank = 0, num_ranks = 1;

void on_signal(int signal) {
  if (signals_seen > 0) _exit(128 + signal);
  signals_seen = 1;
  constexpr char kText[] = "\nstopping; once more ends at once\n";  // for who is at the keyboard
  if (signal == SIGINT && this_rank == 0 && write(STDERR_FILENO, kText, sizeof(kText) - 1) < 0) return;
}

#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitizerTells = true;  // it has more to say about a crash than we
#else
constexpr bool kSanitizerTells = false;
#endif
constexpr int kCrashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
char crash_text[64];  // made beforehand: whoever has crashed may hold the lock of malloc
std::size_t crash_length = 0;

void on_crash(int signal) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, crash_text, crash_length);
  raise(signal);  // which now has its usual effect
}

void pause_s(double seconds) {
  const timespec time{0, static_cast<long>(seconds * 1e9)};
  nanosleep(&time, nullptr);
}

// Once it hears of the abort the launcher reads no more, so what was said last would be lost. Waits, a second
// at most, until it has taken what is in the pipe, and then for it to pass that on.
void let_launcher_read() {
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    int unread = 0;
    for (int ms = 0; ms < 1000 && ioctl(stream, FIONREAD, &unread) == 0 && unread > 0; ++ms) pause_s(1e-3);
  }
  pause_s(20e-3);
}

[[noreturn]] void on_terminate() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::exception& error) {
    fail(error.what());
  } catch (...) {
    fail("an exception of unknown type");
  }
  fail("std::terminate was called");
}

}  // namespace

bool interrupted() { return signals_seen > 0; }

void set_speaker(int rank, int ranks) {
  this_rank = rank;
  num_ranks = ranks;
}

std::string as_rank(const std::string& text) {
  return num_ranks > 1 ? "rank " + std::to_string(this_rank) + ": " + text : text;
}

void say(const std::string& text) {
  std::cout.flush();
  std::cerr << text + '\n' << std::flush;
}

void abort_job(int status) {
  std::cout.flush();
  std::fflush(stdout);
  let_launcher_read();
  alarm(kAbort_s);
  // MPI would add its own words to a message that has said it all.
  if (std::freopen("/dev/null", "w", stderr) != nullptr) MPI_Abort(MPI_COMM_WORLD, status);
  _exit(status);
}

void fail(const std::string& reason) {
  say(as_rank(reason));
  abort_job(1);
}

void install_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  std::set_terminate(on_terminate);

  if (kSanitizerTells) return;
  // Instead of UCX's handlers, whose backtrace takes locks and may wait for ever, and the job with it.
  const std::string text = as_rank("crashed\n");
  crash_length = text.copy(crash_text, sizeof(crash_text));
  action.sa_handler = on_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (int signal : kCrashes) sigaction(signal, &action, nullptr);
}

}  // namespace tessera::dist
