#!/usr/bin/env bash
# From a fresh machine to a trained model: sets up, builds, trains gpt-nano on this project's own text on four ranks, and
# samples from it.
set -euo pipefail
cd "$(dirname "$0")/.."

bash examples/setup.sh build programs
mpirun=$(command -v mpirun.mpich || command -v mpirun)
"$mpirun" -n 4 build/bin/train --model gpt-nano --steps 300 --save build/quickstart
build/bin/generate --checkpoint build/quickstart --prompt "#include " --tokens 300
