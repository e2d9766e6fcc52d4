#!/usr/bin/env bash
# examples/cluster/two_hosts.sh: refuses what it should, trains across the link as one host does, and leaves nothing behind.
# Exit status 77, with the reason, where this machine allows no namespaces or lacks a program.
# usage: two_hosts_test.sh TWO_HOSTS_SH TRAIN MPIRUN...
set -uo pipefail
two_hosts=$1 train=$2
mpirun=("${@:3}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

failures=0
fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}

expect() {  # STATUS TEXT COMMAND...: both in what it says and returns
  local status=0
  "${@:3}" >"$folder/out" 2>&1 || status=$?
  [ $status = "$1" ] || fail "status $status, expected $1, from ${*:3}"
  grep -qF -- "$2" "$folder/out" || fail "nothing says \"$2\" in: $(cat "$folder/out")"
}

number() { sed -nE "s/.*\"$1\": ([0-9.e+-]+).*/\1/p" "$2"; }  # NAME FILE: its values
losses() { number loss "$1"; }

# --- what it refuses ----------------------------------------------------------------------------------------------------------

expect 0 "usage: two_hosts.sh" "$two_hosts" --help
expect 2 "got no program" "$two_hosts" --rate 1gbit
expect 2 'got "fast"' "$two_hosts" --rate fast -- "$train"
expect 2 'got "0"' "$two_hosts" --per-host 0 -- "$train"
expect 2 "no such program" "$two_hosts" -- "$folder/none"
chmod 755 "$folder" && install -m 755 "$two_hosts" "$folder/readable.sh"  # by others, who may not enter the project's folder
[ "$(id -u)" != 0 ] || expect 2 "must be root" setpriv --reuid 65534 --clear-groups bash "$folder/readable.sh" -- "$train"

# --- the run across the link is the run on one host ----------------------------------------------------------------------------

run=(--model gpt-nano --steps 6 --batch 2 --eval-every 6 --algorithm ring)
across() { bash "$two_hosts" --rate "$1" -- "$train" "${@:2}"; }

across 50mbit "${run[@]}" --json "$folder/two.json" >"$folder/two.out" 2>&1
status=$?
if grep -q '^two_hosts.sh: ' "$folder/two.out"; then
  [ $failures = 0 ] || exit 1
  echo "skipped: $(cat "$folder/two.out")"
  exit 77
fi
[ $status = 0 ] || fail "status $status: $(cat "$folder/two.out")"
"${mpirun[@]}" -n 2 "$train" "${run[@]}" --threads 1 --json "$folder/one.json" >/dev/null 2>&1 || fail "one host: status $?"
[ -n "$(losses "$folder/one.json")" ] && [ "$(losses "$folder/one.json")" = "$(losses "$folder/two.json")" ] ||
  fail "losses differ: $(losses "$folder/one.json") on one host, $(losses "$folder/two.json") on two"
for host in left right; do grep -q "\"node\": \"$host\"" "$folder/two.json" || fail "no rank on $host"; done

# Over so slow a link nearly all of a step is communication: what it takes follows from the bytes and the measured rate. The
# first two steps are left out, as they are from the accounts, and so is compute, in which some of it may hide.
awk -v rate="$(sed -nE 's/.*\(([0-9.]+) and.*MB.*/\1/p' "$folder/two.out")" -v exposed="$(number exposed_comm_s "$folder/two.json")" \
    -v bytes="$(sed -n '/"comm": \[/,$p' "$folder/two.json" | number bytes /dev/stdin)" 'BEGIN {
  for (i = split(bytes, b); i > 0; --i) if (b[i] > most) most = b[i]
  n = split(exposed, e); for (i = 3; i <= 6; ++i) mean += e[i] / 4
  steps = 6; predicted = most / steps / (rate * 1e6)
  printf "exposed communication %.0f ms a step; %.2f MB at %.2f MB/s: %.0f ms\n", mean * 1e3, most / steps / 1e6, rate, predicted * 1e3
  if (rate < 6.25 * 0.7 || rate > 6.25 || mean < 0.7 * predicted || mean > 1.3 * predicted) exit 1 }' ||
  fail "exposed communication is not within 30 % of bytes over the measured rate: $(head -1 "$folder/two.out")"

# --- nothing is left, however it ends ------------------------------------------------------------------------------------------

survivors() { for process in /proc/[0-9]*; do readlink "$process/ns/pid"; done 2>/dev/null | grep -cFx "$1"; }

# Starts a long run, sends SIGNAL to the script once it trains, and waits for its end. (What a script starts in the background
# ignores interrupts, unless told otherwise.)
ends_by() {  # SIGNAL
  env --default-signal=INT bash "$two_hosts" --rate 1gbit -- "$train" --model gpt-nano --batch 2 --steps 100000 \
    --eval-every 100000 --data "$folder/text" >"$folder/out" 2>&1 &
  local script=$!
  for _ in $(seq 100); do
    grep -q '^step' "$folder/out" && break
    sleep 0.2
  done
  local namespace
  namespace=$(readlink "/proc/$(pgrep -f "train.*$folder/text" | tail -1)/ns/pid")
  kill -"$1" $script
  wait $script 2>/dev/null
  status=$?
  for _ in $(seq 50); do
    [ "$(survivors "$namespace")" = 0 ] && break
    sleep 0.1
  done
  [ -n "$namespace" ] && [ "$(survivors "$namespace")" = 0 ] || fail "after $1 processes are left in namespace $namespace"
}

seq 20000 >"$folder/text"
ends_by INT
grep -q "interrupted after" "$folder/out" || fail "an interrupt does not reach the ranks: $(cat "$folder/out")"
ends_by KILL
ends_by TERM
expect 2 '[--layers] got "none"' across 1gbit --layers none
[ ! -e /run/tessera ] && [ -z "$(ip netns list | grep -E '^(left|right)\b')" ] || fail "something is left of the hosts"

exit $((failures > 0))
