#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <string>

#include "dist/comm/mpi_internal.h"
#include "dist/comm/node_internal.h"

namespace tessera::dist {
namespace {

Index node_key() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  require_success(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
  std::string text(name.data()), boot;
  std::ifstream boot_id("/proc/sys/kernel/random/boot_id");  // two nodes may have one name
  if (std::getline(boot_id, boot)) text += boot;

  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return static_cast<Index>(hash);
}

}  // namespace

Place this_place() {
  Place place{.node_key = node_key()};
  cpu_set_t cores;
  static_assert(sizeof(cores) == sizeof(place.cores));
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
    std::memcpy(place.cores.data(), &cores, sizeof(cores));
  return place;
}

std::vector<int> nodes_of(const std::vector<Place>& places) {
  std::vector<int> nodes;
  for (const Place& place : places)
    nodes.push_back(
        static_cast<int>(std::ranges::find(places, place.node_key, &Place::node_key) - places.begin()));
  return nodes;
}

int cores_on_node(const std::vector<Place>& places, int rank) {
  int cores = 0;
  for (std::size_t i = 0; i < places[rank].cores.size(); ++i) {
    std::uint64_t any = 0;
    for (const Place& place : places)
      if (place.node_key == places[rank].node_key) any |= static_cast<std::uint64_t>(place.cores[i]);
    cores += std::popcount(any);
  }
  return std::max(cores, 1);
}

}  // namespace tessera::dist
