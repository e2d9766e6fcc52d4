#pragma once

#include <nlohmann/json_fwd.hpp>

#include "dist/plan/ledger.h"
#include "dist/trace/account.h"
#include "examples/cli.h"
#include "examples/history.h"
#include "nn/data.h"

namespace tessera {

/// All there is to tell of a training run.
struct TrainReport {
  const TrainOptions& options;
  const nn::ModelConfig& config;
  const dist::Mesh& mesh;
  const History& history;
  std::vector<dist::RankAccount> ranks;  ///< on rank 0
  Ledger ledger;                         ///< this rank's, as the run left it
  double peak_gemm_flops = 0;            ///< of all ranks together

  /// Of rank 0.
  dist::StepParts parts() const { return ranks[0].mean(); }
  /// Model FLOP/s over peak_gemm_flops.
  double mfu() const;
};

/// What is about to be trained, on what.
void print_header(const TrainOptions& options, const nn::ModelConfig& config, Index parameters,
                  const nn::Dataset& data, const dist::Mesh& mesh);
/// "validation loss 2.1234 nats per byte, 3.0634 bits per byte"
std::string validation_text(const TrainOptions& options, double loss);
/// Table and loss curve.
void print_report(const TrainReport& report);
/// What the plan says of a rank's memory, from what to_json() tells of the run.
plan::LedgerBytes predicted_memory(const TrainOptions& options, const nn::ModelConfig& config,
                                   const dist::Mesh& mesh, int rank);
/// Seconds, bytes, FLOP/s; see DESIGN.md, section 8.
nlohmann::json to_json(const TrainReport& report);

}  // namespace tessera
