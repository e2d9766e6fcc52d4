#!/usr/bin/env bash
# Two hosts on one machine: a slow network, shown honestly. See --help.
#
# Everything it makes lives in namespaces of its own (mounts, network, host name, processes), so nothing outside changes and
# nothing needs undoing: whatever ends this script, even kill -9, ends the first process in there, and the kernel then
# removes the rest: processes, hosts, link, keys and files below /run.
set -euo pipefail

usage() {
  cat <<'END'
usage: two_hosts.sh [--rate RATE] [--per-host N] -- PROGRAM [ARGUMENT...]

Runs one of Tessera's programs on two hosts, left and right: two network namespaces of this machine, joined by a link of
limited rate, each with an ssh server, reached by mpirun -hosts. The ranks talk over TCP and nothing else.

  --rate RATE     of the link, each way: a whole number of kbit, mbit or gbit (default 1gbit)
  --per-host N    ranks on each host (default 1)
  --help          this text

Before the run it prints the rate that the link delivers, measured one way after the other. PROGRAM gets --threads 1, unless it
has a --threads of its own, since each host believes that it has all cores. Needs root, MPICH's mpirun, and Debian's packages
iproute2, openssh-server and openssh-client. Example:

  examples/cluster/two_hosts.sh --rate 200mbit -- build/bin/train --model gpt-nano --steps 20 --algorithm ring
END
}

refuse() {
  echo "two_hosts.sh: $*" >&2
  exit 2
}

# --- options, rights and programs ---------------------------------------------------------------------------------------------

read_options() {
  rate=1gbit per_host=1
  while [ $# -gt 0 ]; do
    case $1 in
      --help) usage && exit 0 ;;
      --rate | --per-host) [ $# -gt 1 ] || refuse "$1: got no value" ;;&
      --rate) rate=$2 && shift 2 ;;
      --per-host) per_host=$2 && shift 2 ;;
      --) shift && break ;;
      *) refuse "got \"$1\", expected --rate, --per-host, or -- and a program (--help tells more)" ;;
    esac
  done
  [[ $rate =~ ^[1-9][0-9]{0,5}[kmg]bit$ ]] || refuse "--rate: got \"$rate\", expected a whole number of kbit, mbit or gbit"
  [[ $per_host =~ ^[1-9][0-9]{0,2}$ ]] || refuse "--per-host: got \"$per_host\", expected a whole number from 1 to 999"
  [ $# -gt 0 ] || refuse "got no program, expected one after -- (--help tells more)"
  program=("$@")
  [[ " $* " =~ " --threads" ]] || program+=(--threads 1)
}

check_user() {
  [ "$(id -u)" = 0 ] || refuse "must be root to make network namespaces (you are $(id -un)): try sudo"
  command -v -- "${program[0]}" >/dev/null || refuse "${program[0]}: no such program, expected one of build/bin"
}

check_programs() {
  mpirun=$(command -v mpirun.mpich || command -v mpirun) || refuse "mpirun is missing (Debian's package mpich)"
  [[ $("$mpirun" --version 2>/dev/null) == *HYDRA* ]] || refuse "$mpirun is not MPICH's (Debian's package mpich)"
  local missing=()
  command -v ip >/dev/null && command -v tc >/dev/null || missing+=(iproute2)
  [ -x /usr/sbin/sshd ] || missing+=(openssh-server)
  command -v ssh >/dev/null || missing+=(openssh-client)
  [ ${#missing[@]} = 0 ] || refuse "needs these packages: ${missing[*]} (apt-get install ${missing[*]})"
}

namespaces=(unshare --mount --net --uts --pid --fork --kill-child --mount-proc)

check_namespaces() {
  local reason
  reason=$("${namespaces[@]}" mount -t tmpfs tmpfs /run 2>&1) ||
    refuse "root may not make namespaces here, as in a container without privileges ($reason)"
}

# --- inside the namespaces ----------------------------------------------------------------------------------------------------

on() { ip netns exec "$@"; }

# This machine's /run and /etc/hosts stay as they are: ours hide them in here.
make_folders() {
  mount -t tmpfs tmpfs /run
  mkdir -m 700 /run/tessera
  mkdir -m 755 /run/sshd
  printf '127.0.0.1 localhost\n10.77.0.1 left\n10.77.0.2 right\n' >/run/tessera/hosts
  mount --bind /run/tessera/hosts /etc/hosts
}

# What leaves one end waits in a token bucket. At most 50 ms of data wait in it, then packets are dropped, as in a switch.
make_end() {  # HOST ADDRESS
  ip -n "$1" link set lo up
  ip -n "$1" addr add "$2/24" dev eth0
  ip -n "$1" link set eth0 up
  tc -n "$1" qdisc add dev eth0 root tbf rate "$rate" burst 128kb latency 50ms
}

make_link() {
  ip netns add left
  ip netns add right
  ip link add eth0 netns left type veth peer name eth0 netns right
  make_end left 10.77.0.1
  make_end right 10.77.0.2
}

# Keys are made for this run. sshd refuses an account that is locked (Ubuntu's root) unless PAM decides.
make_ssh() {
  local pam=no
  grep -q '^root:!' /etc/shadow && pam=yes
  ssh-keygen -q -t ed25519 -N '' -f /run/tessera/key
  printf '%s\n' 'HostKey /run/tessera/key' 'AuthorizedKeysFile /run/tessera/key.pub' 'PermitRootLogin prohibit-password' \
    'PidFile none' 'StrictModes no' "UsePAM $pam" >/run/tessera/sshd_config
  printf '%s\n' 'IdentityFile /run/tessera/key' 'IdentitiesOnly yes' 'StrictHostKeyChecking no' 'LogLevel ERROR' \
    'UserKnownHostsFile /dev/null' 'BatchMode yes' 'Ciphers aes128-gcm@openssh.com' >/run/tessera/ssh_config
  printf '#!/bin/sh\nexec ssh -F /run/tessera/ssh_config "$@"\n' >/run/tessera/ssh
  chmod 700 /run/tessera/ssh
  for host in left right; do
    on $host unshare --uts sh -c "hostname $host && exec /usr/sbin/sshd -f /run/tessera/sshd_config"
  done
}

bits_per_s() {
  local unit=${rate//[0-9]/} number=${rate%%[a-z]*}
  case $unit in
    kbit) echo $((number * 1000)) ;;
    mbit) echo $((number * 1000000)) ;;
    gbit) echo $((number * 1000000000)) ;;
  esac
}

# Prints how many kbit a second reach this host between a third of BYTES, when TCP has found its pace and the token bucket is
# empty, and all of them: by the kernel's counts, which a slow reader does not change.
count_arrivals='
  sample() { now=${EPOCHREALTIME/[.,]/} && read -r bytes </sys/class/net/eth0/statistics/rx_bytes; }
  sample_after() {  # BYTES, or ten seconds
    for _ in {1..500}; do
      sample
      [ $((bytes - idle)) -lt "$1" ] || break
      sleep 0.02
    done
  }
  sample && idle=$bytes
  sample_after $(($1 / 3)) && before=$bytes began=$now
  sample_after "$1"
  echo $(((bytes - before) * 8000 / (now - began)))'

measure() {  # FROM TO
  local bytes=$(($(bits_per_s) * 3 / 16))  # a second and a half
  on "$2" bash -c "$count_arrivals" sh $bytes &
  head -c $bytes /dev/zero | on "$1" /run/tessera/ssh "$2" 'cat >/dev/null'
  wait $!
}

print_rate() {
  measure left right >/run/tessera/there
  measure right left >/run/tessera/back
  awk -v asked="$rate" '{ kbit[NR] = $1 } END {
    printf "link            %s asked; measured there and back: %.1f and %.1f Mbit/s (%.2f and %.2f MB/s)\n",
           asked, kbit[1] / 1e3, kbit[2] / 1e3, kbit[1] / 8e3, kbit[2] / 8e3 }' /run/tessera/there /run/tessera/back
}

# Without UCX_TLS the ranks would find that they share memory, and bypass the link. By rendezvous each piece would be asked for
# first, and the question wait in the queue behind the data that go the other way: at 200mbit a ring took 175 ms for what the
# link carries in 143.
run_program() {
  export UCX_TLS=tcp,self UCX_RNDV_THRESH=${UCX_RNDV_THRESH:-inf}
  on left unshare --uts sh -c 'hostname left && exec "$@"' sh \
    "$mpirun" -launcher ssh -launcher-exec /run/tessera/ssh -hosts left,right -ppn "$per_host" -n $((2 * per_host)) \
    "${program[@]}" </dev/null
}

inside() {
  trap : INT  # mpirun has it, too: it tells the ranks, which stop after their step
  make_folders
  make_link
  make_ssh
  print_rate
  run_program
}

# --- outside ------------------------------------------------------------------------------------------------------------------

if [ "${1:-}" = --inside ]; then
  shift
  mpirun=$1 rate=$2 per_host=$3 program=("${@:4}")
  inside
  exit
fi

read_options "$@"
check_user
check_programs
check_namespaces
# In a process group of its own, so that an interrupt reaches it once, whether it comes from the keyboard or by kill.
set -m
setpriv --pdeathsig KILL "${namespaces[@]}" bash "$0" --inside "$mpirun" "$rate" "$per_host" "${program[@]}" &
hosts=$!
trap 'kill -INT -- -$hosts' INT
while :; do
  status=0
  wait $hosts || status=$?
  kill -0 $hosts 2>/dev/null || exit $status
done
