#include <CLI/CLI.hpp>
#include <algorithm>

#include "examples/cli.h"
#include "tensor/check.h"

// The plan program's flags: each is a field of a query (dist/plan/query.h), which checks it.

namespace tessera {
namespace {

struct TextFlag {
  const char *name, *type, *help;
};

struct PlanCommand {
  const char *name, *purpose;
  std::vector<TextFlag> flags;
  bool takes_model, takes_hardware;
};

constexpr TextFlag kBatch = {"--batch", "TOKENS", "Of a step, on all devices: 2M"};
constexpr TextFlag kSequences = {"--sequences", "N", "The same in sequences"};
constexpr TextFlag kSequence = {"--sequence", "TOKENS", "Of one sequence; default: the model's context"};
constexpr TextFlag kDevices = {"--devices", "N", "Devices in all"};
constexpr TextFlag kDerate = {"--derate", "spec|measured",
                              "Bandwidths and FLOP/s as specified, or as published measurements reach"};
constexpr TextFlag kDp = {"--dp", "N", "Data parallel degree"}, kTp = {"--tp", "N", "Tensor parallel degree"},
                   kPp = {"--pp", "N", "Pipeline stages"}, kCp = {"--cp", "N", "Context parallel degree"},
                   kEp = {"--ep", "N", "Expert parallel degree, inside dp x cp"};
constexpr TextFlag kMicrobatches = {"--microbatches", "N", "Parts of a batch that run one after the other"};
constexpr TextFlag kSchedule = {"--schedule", "gpipe|1f1b|interleaved|zb-h1|zb-h2", "Of the pipeline"};
constexpr TextFlag kVirtual = {"--virtual-stages", "N", "Stages of each rank, with --schedule interleaved"};
constexpr TextFlag kRecompute = {"--recompute", "none|selective|full",
                                 "Activations computed again in backward"};
constexpr TextFlag kState = {"--state", "mixed|book|megatron|f32-accumulation|bf16-moments|f32",
                             "Bytes per parameter: 2+2+12, 2+0+8, 2+4+12, 2+6+12, 2+2+8, 4+4+8"};
constexpr TextFlag kActivations = {"--activations", "korthikanti|book", "How activations are counted"};
constexpr TextFlag kSaved = {"--saved-widths", "N", "With --activations book: tensors of dim kept per layer"};

const std::vector<PlanCommand>& commands() {
  static const std::vector<PlanCommand> kAll = {
      {"roofline",
       "Compute against communication per layer, what bounds, and how far it goes",
       {{"--strategy", "all|dp|fsdp|tp|mixed|ep|pp|cp|cross-domain|matmul", "What to look at"},
        kBatch,
        kSequences,
        kSequence,
        kDevices,
        kDerate,
        kDp,
        kTp,
        kPp,
        kCp,
        kEp,
        {"--dp-axes", "N", "Axes of a torus that dp uses"},
        {"--tp-axes", "N", "Axes of a torus that tp uses"},
        kRecompute,
        {"--mfu", "0..1", "Assumed share of the peak: step time and days"},
        {"--achieved-flops", "RATE", "Of one device, recomputation counted: 140TFLOP/s"},
        {"--step-s", "TIME", "A measured step: MFU and HFU"},
        {"--tokens-per-s", "N", "A measured rate of all devices"},
        {"--train-tokens", "N", "Of the whole run: days"},
        {"--activation-bytes", "N", "Of --strategy matmul"},
        {"--weight-bytes", "N", "Of --strategy matmul"},
        {"--output-bytes", "N", "Of --strategy matmul"}},
       true,
       true},
      {"memory",
       "What each device holds, by category, and whether it fits",
       {kBatch,
        kSequences,
        kSequence,
        kDerate,
        kDp,
        kTp,
        kPp,
        kCp,
        kEp,
        {"--zero", "0|1|2|3", "What dp shards"},
        kMicrobatches,
        kSchedule,
        kVirtual,
        kRecompute,
        kState,
        kActivations,
        kSaved},
       true,
       true},
      {"pipeline",
       "A schedule's makespan, bubble and activations in flight",
       {kPp,
        kMicrobatches,
        kSchedule,
        kVirtual,
        {"--forward-s", "TIME", "Of a microbatch on one rank; default: 1"},
        {"--backward-input-s", "TIME", "Gradient of the input; default: 1"},
        {"--backward-weight-s", "TIME", "Gradient of the weights; default: 1"},
        {"--hop-s", "TIME", "A message to the next rank; default: 0"}},
       false,
       false},
      {"search",
       "All layouts of some devices, by predicted step time, and those that do not fit",
       {kDevices,
        kBatch,
        kSequences,
        kSequence,
        kDerate,
        kState,
        kActivations,
        kSaved,
        {"--limit", "N", "Lines to show; default: 20"}},
       true,
       true},
      {"collective",
       "What a collective takes, by algorithm",
       {{"--op",
         "all_reduce|reduce_scatter|all_gather|all_to_all|broadcast|reduce|gather|scatter|barrier|send",
         "What"},
        {"--bytes", "SIZE", "Of the whole array: 64MiB"},
        {"--ranks", "N", "That take part"},
        {"--stride", "N", "Devices from one to the next"},
        {"--ring-axes", "N", "Axes of a torus they lie on"},
        kDerate,
        {"--hops", "N", "Of send"},
        {"--ports", "N", "Of send"}},
       false,
       true},
      {"check", "What a run measured beside what is predicted of it", {}, false, false},
      {"list", "Hardware and models by name", {}, false, false},
      {"query", "Answers a JSON request with JSON", {}, false, false},
  };
  return kAll;
}

std::string field_of(const char* flag) {
  std::string field = flag + 2;
  std::ranges::replace(field, '-', '_');
  return field;
}

CLI::Option* add_text(CLI::App& app, const char* name, const char* type, const char* help,
                      std::string& target) {
  const auto set = [&target, name](const std::string& text) {
    check(!text.empty(), name, "got \"\", expected a value");
    target = text;
  };
  return app.add_option_function<std::string>(name, set, help)->type_name(type);
}

void add_command(CLI::App& app, const PlanCommand& command, PlanOptions& o) {
  CLI::App& sub = *app.add_subcommand(command.name, command.purpose);
  const std::string name = command.name;
  sub.parse_complete_callback([&o, name] { o.command = name; });
  if (command.takes_model)
    add_text(sub, "--model", "NAME|FILE.json",
             "As plan list shows, a preset of train, or a configuration; default: llama3-70b", o.model);
  if (command.takes_hardware)
    add_text(sub, "--hardware", "NAME|FILE.json|this-machine",
             "As plan list shows, a file, or measured now; default: tpu-v5p", o.hardware);
  for (const TextFlag& flag : command.flags)
    add_text(sub, flag.name, flag.type, flag.help, o.texts[field_of(flag.name)]);
  if (name == "memory")
    sub.add_flag_callback(
        "--sequence-parallel", [&o] { o.switches.emplace_back("sequence_parallel"); },
        "Norms and dropouts are sharded over tp, too");
  if (command.takes_hardware || name == "check")
    add_text(sub, "--network", "FILE",
             "What bench collectives --json wrote: latency and bandwidth of this machine", o.network);
  if (name == "check") add_text(sub, "--run", "FILE", "What train --json wrote", o.run)->required();
  if (name == "query") {
    add_text(sub, "--request", "FILE", "The request; default: standard input", o.request);
    return;
  }
  add_text(sub, "--json", "FILE", "Where to write the answer", o.json);
  add_text(sub, "--report", "FILE.html", "Where to write a page with charts", o.report);
}

}  // namespace

void add_flags(CLI::App& app, PlanOptions& options) {
  options.request = "/dev/stdin";
  app.require_subcommand(1);
  for (const PlanCommand& command : commands()) add_command(app, command, options);
}

}  // namespace tessera
