#include <array>
#include <stdexcept>
#include <string>

#include "dist/comm/mpi_internal.h"

namespace tessera::dist {

void require_success(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0, rank = -1;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  if (MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS) rank = -1;
  throw std::runtime_error(std::string(call) + " on rank " + std::to_string(rank) + ": " +
                           std::string(text.data(), static_cast<std::size_t>(length)));
}

}  // namespace tessera::dist
