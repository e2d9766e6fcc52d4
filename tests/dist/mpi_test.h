#pragma once

#include <gtest/gtest.h>

#include "dist/comm/comm.h"

/// For tests that run as one program on every rank (mpi_main.cpp). The first failed assertion of a rank ends
/// the job.
namespace tessera::dist {

/// All ranks of the test.
const Comm& world();

}  // namespace tessera::dist
