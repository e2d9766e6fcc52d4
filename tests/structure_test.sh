#!/usr/bin/env bash
# The dependency rule, tensor <- nn <- dist <- examples and its finer points, checked on every #include.
# Prints the lines that break it.
# usage: structure_test.sh INSTALLED_HEADERS
set -uo pipefail
installed=$(realpath -e "$1") || exit
cd "$(dirname "$0")/.." || exit

includes() { grep -srHnE '^ *# *include' --include='*.h' --include='*.cpp' "$@"; }

# Reads offending lines, appends the reason to each.
because() { sed "s@\$@   <- $1@"; }

# may_include PATTERN WHERE...: of the project's own headers (those in quotes).
may_include() {
  local pattern=$1
  shift
  includes "$@" | grep '"' | grep -vE "\"($pattern)" | because "may include $pattern"
}

# only WHERE HEADER: no file outside WHERE includes HEADER.
only() { includes tensor nn dist examples tests | grep -v "^$1" | grep -E "[<\"/]$2" | because "only $1 may"; }

# The installed headers name no Eigen type and include no header that is not installed.
installed_headers() {
  cd "$installed" || return
  grep -rnE 'Eigen(::|/)' . | because "is installed, so free of Eigen"
  includes . | sed -n 's/.*"\(.*\)".*/\1/p' | sort -u | while read -r header; do
    [ -f "$header" ] || includes . | grep "\"$header\"" | because "is installed, but not what it includes"
  done
}

violations=$(
  may_include 'tensor/' tensor
  may_include '(tensor|nn)/' nn
  may_include 'dist/plan/' dist/plan
  may_include 'dist/(plan/|trace/events)' dist/trace/events*
  may_include 'tensor/|dist/(comm/|plan/|trace/events)' dist/comm
  may_include '(tensor|nn)/|dist/(comm|plan|trace)/' dist/trace
  may_include '(tensor|nn|dist)/' dist
  only dist/comm/ 'mpi\.h'
  only tensor/blas.cpp 'cblas'
  installed_headers
)
[ -z "$violations" ] || { echo "$violations"; exit 1; }
