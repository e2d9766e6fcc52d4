#include "examples/process.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <fstream>

namespace tessera {
namespace {

/// A field of /proc/self/status, given in KiB. getrusage's maximum would include the program that started
/// this one.
Index status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string name; status >> name; status.ignore(1 << 12, '\n')) {
    Index kib = 0;
    if (name == field && status >> kib) return kib * 1024;
  }
  return 0;
}

}  // namespace

Index rss_bytes() { return status_bytes("VmRSS:"); }
Index peak_rss_bytes() { return status_bytes("VmHWM:"); }

Index physical_memory_bytes() { return Index{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE); }

Index minor_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace tessera
