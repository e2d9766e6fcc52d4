#!/usr/bin/env bash
# Sets up, then runs all tests: first as built for speed, warnings being errors; then the unit tests under the address and
# undefined-behaviour sanitizers, with assertions on.
set -euo pipefail
cd "$(dirname "$0")/.."

# The report is looked at in a browser.
command -v chromium chromium-browser google-chrome >/dev/null || bash examples/setup.sh --also chromium
bash examples/setup.sh build all -DTESSERA_WERROR=ON
bash examples/setup.sh build-sanitize unit_tests -DTESSERA_WERROR=ON -DTESSERA_SANITIZE=ON

ctest --test-dir build-sanitize --output-on-failure --no-tests=error -j "$(nproc)" -L unit
ctest --test-dir build --output-on-failure --no-tests=error
