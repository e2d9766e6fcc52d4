#!/usr/bin/env bash
# How jobs end: exit status, what is on stderr, and within what time.
# usage: launch_test.sh PROGRAM MPIRUN [FLAG...]
set -uo pipefail
program=$1
shift
mpirun=("$@")
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
mark=TESSERA_LAUNCH_TEST=$$  # in the environment of all that we start
failures=0

# expect SECONDS STATUS STDERR RANKS HOW
# STDERR is a pattern for all of it, with lines joined by |. 0 ranks: without a launcher.
expect() {
  local seconds=$1 status=$2 pattern=$3 ranks=$4 how=$5 begin=$SECONDS launcher=()
  [ "$ranks" = 0 ] || launcher=("${mpirun[@]}" -n "$ranks")
  env "$mark" timeout -k 5 60 "${launcher[@]}" "$program" "$how" 2>"$errors"
  judge $? "$((SECONDS - begin))" "$how"
}

# Whether processes that we have started still run a second from now; launchers do not wait for all of theirs.
leftovers() {
  local i
  for ((i = 0; i < 10; ++i)); do
    grep -qsF "$mark" /proc/[0-9]*/environ || return 1
    sleep 0.1
  done
}

# judge ACTUAL_STATUS ACTUAL_SECONDS HOW: by the caller's seconds, status and pattern.
judge() {
  local text
  text=$(paste -sd '|' "$errors")
  if [[ $1 =~ ^($status)$ ]] && [ "$2" -le "$seconds" ] && [[ $text =~ ^$pattern$ ]] && ! leftovers; then return; fi
  echo "$3: status $1, expected $status; $2 s, at most $seconds; stderr \"$text\", expected \"$pattern\";" \
       "processes left: $(leftovers && grep -lsF "$mark" /proc/[0-9]*/environ)"
  failures=$((failures + 1))
}

# interrupt SIGNAL STATUS STDERR TIMES RANKS HOW: sends the signal so many times once all ranks are ready.
interrupt() {
  local signal=$1 status=$2 pattern=$3 times=$4 ranks=$5 how=$6 begin=$SECONDS seconds=5 launcher=()
  [ "$ranks" = 0 ] || launcher=("${mpirun[@]}" -n "$ranks")
  : >"$errors"  # of the call before
  env "$mark" "${launcher[@]}" "$program" "$how" 2>"$errors" &
  local job=$!
  until grep -q ready "$errors" || [ $((SECONDS - begin)) -gt 20 ]; do sleep 0.05; done
  begin=$SECONDS
  for ((i = 0; i < times; ++i)); do kill -"$signal" "$job"; sleep 0.3; done
  wait "$job"
  judge $? "$((SECONDS - begin))" "$how"
}

layout='\[layout\] tp is 3 but there are 4 heads'

# Without a launcher.
expect 5 0 '' 0 well
expect 5 2 "$layout" 0 refused
banner='(\|(-+\|MPI_ABORT|\[.*ORTE_ERROR).*)?'  # Open MPI's, which no launcher keeps quiet here
expect 5 1 "no such file$banner" 0 thrown

# All ranks alike.
expect 10 0 '' 4 well
expect 10 3 '' 4 status
expect 10 2 "$layout" 4 refused
expect 10 2 '(\[layout\] seen by [0-2]\|?){3}' 3 refused-differently
expect 10 0 '' 3 without-a-handle

# One rank ends the others.
expect 5 1 'rank 3: no such file' 4 thrown
expect 5 1 'rank 1: no such file' 2 thrown-while-others-compute
expect 5 1 'rank 1: no such file' 2 thrown-in-a-thread
expect 10 1 'rank 2: \[op\] x is \[3\]' 3 refused-by-one
expect 10 1 'rank 2: \[op\] x is \[3\]' 3 refused-by-one-at-the-end
expect 10 1 'rank 2: messages without a match at the end' 3 unmatched
short='\[all_reduce\] on world: rank 1 got 16 bytes from rank 0, expected 24'
expect 5 1 "rank [01]: .*([Mm]essage truncated|$short).*" 2 wrong-count

# A rank that crashes says no more than who it is, and the launcher its own.
expect 5 '[1-9][0-9]*' 'rank 3: crashed.*' 4 crashed

# A rank that is killed: no word of ours, and the launcher's own.
expect 10 '[1-9][0-9]*' '.*' 4 killed

# Ranks that call different things.
differ='rank 0: \[check\] collectives differ on dp gradients'
sum='all_reduce \(ring, sum\) of 3 f32, after 3 collectives'
barrier='barrier \(dissemination, sum\) of 1 i32, after 3 collectives'
expect 10 1 "$differ: ranks 0 1 2: $sum; rank 3: $barrier" 4 checked-different-collectives
expect 10 1 "$differ: ranks 0 1: $sum; rank 2: ${sum/3/4}" 3 checked-different-counts
expect 10 0 '' 3 checked-well

# The watchdog: every rank says its line, in any order.
quiet='watchdog: no progress for [0-9.]+ s:'
waits="$quiet all_reduce \(ring\) on dp gradients, waits for data from rank [0-3]"
computes="$quiet computing, or stuck .*; the last operation was all_reduce \(ring\) on dp gradients"
expect 10 1 "(rank [0-2]: $waits\|?|rank 3: $computes\|?){4}" 4 watched-never-calls
expect 10 1 "(rank [0-3]: $quiet point_to_point on dp gradients, waits for data from rank [0-3]\|?){4}" 4 \
  watched-one-after-the-other
idle="rank [0-2]: $quiet computing, or stuck .*; the last operation was none"
stuck="rank [0-1]: $waits"
expect 10 1 "($idle\|?){3}($stuck\|?){2}" 3 watched-computes-then-waits
expect 10 0 '' 3 watched-slow-but-well

# The wrong launcher.
wrong='started by .* as one of 4 processes, but built against another MPI \(.*\), which sees 1; .*'
OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=0 expect 5 2 "$wrong" 0 well
OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=1 expect 5 2 '' 0 well
SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0 expect 5 2 "$wrong" 0 well
OMPI_COMM_WORLD_SIZE=1 SLURM_STEP_NUM_TASKS=4 expect 5 0 '' 0 well
SLURM_STEP_NUM_TASKS=4 expect 10 0 '' 1 well

# Signals: the first one asks, the second ends. Open MPI's mpirun ends the job itself at the first.
asked='ready\|.*stopping; once more ends at once'
interrupt INT 0 "$asked" 1 0 interrupted
interrupt TERM 0 'ready' 1 0 interrupted
interrupt INT 130 "$asked" 2 0 deaf
if "${mpirun[@]}" --version | grep -q 'Open MPI'; then
  interrupt INT '[1-9][0-9]*' 'ready.*' 1 2 interrupted
else
  interrupt INT 0 "$asked" 1 2 interrupted
  interrupt TERM 0 'ready' 1 2 interrupted
fi
interrupt INT '[1-9][0-9]*' 'ready.*' 2 2 deaf

[ "$failures" = 0 ]
