#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tensor/context.h"

namespace tessera {

/// "1 234 567"
std::string grouped(Index number);
/// "12.3 MiB"
std::string bytes_text(Index bytes);
/// "1:05:09", "0:42"
std::string duration_text(double seconds);
/// "98.1 GFLOP/s"
std::string rate_text(double flops);
/// "parameter 3.2 MiB, gradient 3.2 MiB, ...; 12.3 MiB at one moment": the categories in use.
std::string peaks_text(const Ledger& ledger);
/// {"parameter": bytes, ...} of all categories.
nlohmann::json peaks_json(const Ledger& ledger);

}  // namespace tessera
