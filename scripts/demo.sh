#!/usr/bin/env bash
# What replication does when brokers die, live, in about a minute: three brokers on localhost:19092-19094, one partition
# with three replicas. docs/replication.md explains each setting. Needs kcat. DIR (data/demo) is wiped and used.
#
#   1. a leader is killed: nothing that was acknowledged is lost
#   2. below min.insync.replicas: writes are refused, reads go on
#   3. unclean election off: the partition waits;  on: it goes on, and the tail is lost
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
port=${PORT:-19092} zk_port=${ZK_PORT:-12182} dir=${DIR:-data/demo} bin=${BIN:-bin/jackdaw}
command -v kcat > /dev/null || { echo "make demo needs kcat: apt install kcat" >&2; exit 1; }
rm -rf "$dir"; mkdir -p "$dir"
# shellcheck source=scripts/processes.sh
source scripts/processes.sh

zk=''
declare -A broker=()
stop() {
  trap '' INT TERM
  trap - EXIT
  [[ ${#broker[@]} -eq 0 ]] || end "${broker[@]}"
  [[ -z $zk ]] || end "$zk"
}
trap stop EXIT
trap 'exit 130' INT TERM

say()  { printf '\n\033[1m%s\033[0m\n' "$*"; }
note() { printf '   %s\n' "$*"; }
fail() { echo "demo: $*" >&2; exit 1; }

# up ID [key=value...]: starts a broker and waits until clients can use it
up() {
  local id=$1 lines; shift
  touch "$dir/broker-$id.log"
  lines=$(wc -l < "$dir/broker-$id.log")
  start_broker "$id" zookeeper.session.timeout.ms=4000 replica.lag.time.max.ms=3000 default.replication.factor=3 \
    min.insync.replicas=2 offsets.topic.num.partitions=1 offsets.topic.replication.factor=3 log.dirs="$dir/broker-$id" "$@"
  broker[$id]=$pid
  ready "broker-$id" "$pid" "[KafkaServer id=$id] started" "$lines"
}

# down ID: kill -9
down() {
  kill -KILL "${broker[$1]}"
  wait "${broker[$1]}" 2> /dev/null || true
  unset "broker[$1]"
}

# servers: those that live
servers() {
  local id list=()
  for id in "${!broker[@]}"; do list+=("localhost:$((port + id - 1))"); done
  (IFS=,; echo "${list[*]}")
}

# metadata: the line of kcat -L about the partition: leader, replicas, isrs
metadata() { kcat -b "$(servers)" -L -t demo -m 3 2> /dev/null | grep 'partition 0' || true; }
leader()   { metadata | sed -n 's/.*leader \(-\{0,1\}[0-9]*\),.*/\1/p'; }
isr()      { metadata | sed -n 's/.*isrs: \([0-9,]*\).*/\1/p'; }

# wait_for DESCRIPTION COMMAND...: until the command succeeds, for at most 30 seconds
wait_for() {
  local what=$1; shift
  for _ in $(seq 300); do
    if "$@"; then return; fi
    sleep 0.1
  done
  fail "waited 30 seconds for $what; logs are in $dir"
}
leader_is_not() { local l; l=$(leader); [[ -n $l && $l != -1 && $l != "$1" ]]; }
leader_is()     { [[ $(leader) == "$1" ]]; }
isr_size()      { [[ $(isr | tr ',' '\n' | grep -c .) == "$1" ]]; }

# produce FROM TO [acks]: prints the first error, and fails with it
produce() {
  seq -f 'record-%.0f' "$1" "$2" |
    kcat -b "$(servers)" -P -t demo -X acks="${3:-all}" -X message.timeout.ms=4000 -X retries=3 2> "$dir/kcat.err" ||
    { grep -o 'Delivery failed.*' "$dir/kcat.err" | head -n 1; return 1; }
}
consume() { kcat -b "$(servers)" -C -t demo -o beginning -e -q; }

say "Three brokers and their ZooKeeper start."
start_zookeeper "$zk_port"; zk=$pid
began=$(date +%s%N)
for id in 1 2 3; do up "$id"; done
note "ready after $((($(date +%s%N) - began) / 1000000)) ms"
produce 1 1000
wait_for "three replicas in sync" isr_size 3
note "1000 records written with acks=all; leader $(leader), in sync $(isr)"

say "1. The leader is killed with SIGKILL."
old=$(leader)
down "$old"
wait_for "another leader" leader_is_not "$old"
note "broker $(leader) leads now; the session of broker $old had to end first (zookeeper.session.timeout.ms=4000)"
produce 1001 2000
got=$(consume | sort -u | wc -l)
note "another 1000 records written; $got of 2000 can be read"
[[ $got == 2000 ]] || fail "records were lost"

say "2. A second broker is killed: one in-sync replica is left, and min.insync.replicas is 2."
lead=$(leader)
for id in "${!broker[@]}"; do if [[ $id != "$lead" ]]; then down "$id"; break; fi; done
wait_for "the ISR to shrink" isr_size 1
if answer=$(produce 2001 2010); then fail "the write was accepted"; fi
note "writing with acks=all: refused. ${answer}"
note "reading: $(consume | wc -l) records, as before"

say "3. The last in-sync replica takes 500 more records with acks=1, then it is killed too."
produce 2001 2500 1
down "$lead"
behind=$old
note "broker $behind comes back. It was not in sync: it lacks what was written after it died."
up "$behind"
sleep 5
if [[ $(leader) == "$behind" ]]; then fail "an out-of-sync replica leads although unclean election is off"; fi
note "unclean.leader.election.enable=false: the partition has no leader and waits for broker $lead"
note "Now with unclean.leader.election.enable=true:"
end "${broker[$behind]}"; unset "broker[$behind]"
up "$behind" unclean.leader.election.enable=true min.insync.replicas=1
wait_for "the unclean election" leader_is "$behind"
got=$(consume | wc -l)
note "broker $behind leads at once, with $got records: $((2500 - got)) are gone for good"
grep -h 'WARN' "$dir/broker-$behind.log" | grep -i unclean | tail -n 1 | cut -c 1-220 | sed 's/^/   /' || true
up "$lead"
wait_for "broker $lead to follow" isr_size 2
note "broker $lead is back, follows, and has cut its own tail: $(consume | wc -l) records on both"

say "That is all. With three replicas, min.insync.replicas=2 and clean elections, two failures cost time and no record."
