#!/usr/bin/env bash
# Installs what is missing (Debian or Ubuntu, as root or with sudo), configures, builds. A second run has nothing to do.
# usage: setup.sh BUILD_FOLDER TARGET [CMAKE_OPTION...]
#        setup.sh --also PACKAGE...      installs these, or goes on without them
set -euo pipefail
cd "$(dirname "$0")/.."
packages=(g++ cmake make pkg-config mpich libmpich-dev libopenblas-dev libeigen3-dev libgtest-dev libcli11-dev
          nlohmann-json3-dev libfmt-dev)

installed() { dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }

install_missing() {
  command -v apt-get >/dev/null || return 0
  local package missing=() as_root
  for package; do installed "$package" || missing+=("$package"); done
  as_root=$([ "$(id -u)" = 0 ] || command -v sudo || echo none)
  if [ ${#missing[@]} = 0 ] || [ "$as_root" = none ]; then return 0; fi
  echo "Installing ${missing[*]}"
  $as_root apt-get update -qq
  $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
}

if [ "$1" = --also ]; then
  install_missing "${@:2}" || echo "Going on without ${*:2}"
  exit 0
fi

build=$1 target=$2
shift 2
install_missing "${packages[@]}"

mkdir -p "$build"
if ! cmake -S . -B "$build" "$@" >"$build/configure.log" 2>&1; then
  cat "$build/configure.log" >&2
  echo "The build could not be configured. It needs CMake 3.25 or newer and these packages (Debian's names):" >&2
  echo "  ${packages[*]}" >&2
  exit 2
fi
cmake --build "$build" --target "$target" -j "$(nproc)"
