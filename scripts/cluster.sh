#!/usr/bin/env bash
# Three brokers on localhost:9092-9094 and their ZooKeeper on 2181, as processes of this machine. Ctrl-C stops them all,
# the brokers first. Logs and data are in data/cluster; `make clean` removes them.
#
#   scripts/cluster.sh [key=value ...]      settings for all brokers, for example min.insync.replicas=2
#
# BROKERS (3), PORT (9092: that of the first broker), ZK_PORT (2181), ADMIN_PORT (9404), DIR (data/cluster), BIN (bin/jackdaw)
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
brokers=${BROKERS:-3} port=${PORT:-9092} zk_port=${ZK_PORT:-2181} admin_port=${ADMIN_PORT:-9404}
dir=${DIR:-data/cluster} bin=${BIN:-bin/jackdaw}
mkdir -p "$dir"
# shellcheck source=scripts/processes.sh
source scripts/processes.sh

zk='' pids=()
stop() {
  trap '' INT TERM
  trap - EXIT
  echo stopping
  [[ ${#pids[@]} -eq 0 ]] || end "${pids[@]}"
  [[ -z $zk ]] || end "$zk"
}
trap stop EXIT
trap 'exit 0' INT TERM

start_zookeeper "$zk_port"
zk=$pid
replicas=$((brokers < 3 ? brokers : 3))
for id in $(seq "$brokers"); do
  : > "$dir/broker-$id.log"
  start_broker "$id" "jackdaw.admin.listen=localhost:$((admin_port + id - 1))" \
    "default.replication.factor=$replicas" "offsets.topic.replication.factor=$replicas" "$@"
  pids+=("$pid")
done
for id in $(seq "$brokers"); do
  ready "broker-$id" "${pids[id - 1]}" "[KafkaServer id=$id] started"
  echo "broker $id on localhost:$((port + id - 1)), log in $dir/broker-$id.log, pid ${pids[id - 1]}"
done
echo "ready; Ctrl-C stops the cluster"
wait -n "$zk" "${pids[@]}" || true
echo "a process ended by itself; its log is in $dir. The others go on." >&2
wait "$zk" "${pids[@]}" || true
