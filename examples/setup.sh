#!/usr/bin/env bash
# Installs what is missing (Debian or Ubuntu, as root or with sudo), configures, builds. A second run has nothing to do.
# usage: setup.sh BUILD_FOLDER TARGET [CMAKE_OPTION...]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 target=$2
shift 2

packages=(g++ cmake make pkg-config mpich libmpich-dev libopenblas-dev libeigen3-dev libgtest-dev libcli11-dev
          nlohmann-json3-dev libfmt-dev)

installed() { dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }

if command -v apt-get >/dev/null; then
  missing=()
  for package in "${packages[@]}"; do installed "$package" || missing+=("$package"); done
  as_root=$([ "$(id -u)" = 0 ] || command -v sudo || echo none)
  if [ ${#missing[@]} -gt 0 ] && [ "$as_root" != none ]; then
    echo "Installing ${missing[*]}"
    $as_root apt-get update -qq
    $as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
  fi
fi

mkdir -p "$build"
if ! cmake -S . -B "$build" "$@" >"$build/configure.log" 2>&1; then
  cat "$build/configure.log" >&2
  echo "The build could not be configured. It needs CMake 3.25 or newer and these packages (Debian's names):" >&2
  echo "  ${packages[*]}" >&2
  exit 2
fi
cmake --build "$build" --target "$target" -j "$(nproc)"
