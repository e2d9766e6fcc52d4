#pragma once

#include <mpi.h>

namespace tessera::dist {

/// @throws std::runtime_error "MPI_Isend on rank 3: what MPI says" unless `code` is MPI_SUCCESS.
void require_success(int code, const char* call);

}  // namespace tessera::dist
