#include "tensor/threads.h"

#include <omp.h>
#include <sched.h>

namespace tessera {

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

int current_thread() { return omp_get_thread_num(); }

}  // namespace tessera
