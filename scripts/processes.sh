# Starting and stopping local processes; sourced by cluster.sh and demo.sh. $dir is where logs go.
# shellcheck shell=bash disable=SC2154

# start NAME COMMAND...: runs in the background, in a session of its own so that Ctrl-C reaches only the script. $pid is set.
start() {
  local name=$1; shift
  setsid "$@" >> "$dir/$name.log" 2>&1 < /dev/null &
  pid=$!
}

# ready NAME PID TEXT [LINES]: waits for TEXT in the log, below its first LINES lines
ready() {
  for _ in $(seq 600); do
    tail -n "+$((${4:-0} + 1))" "$dir/$1.log" | grep -qF -- "$3" && return
    kill -0 "$2" 2> /dev/null || break
    sleep 0.05
  done
  echo "$1 did not start; the end of $dir/$1.log:" >&2
  tail -n 5 "$dir/$1.log" >&2
  exit 1
}

# start_zookeeper PORT: $pid is set
start_zookeeper() {
  : > "$dir/zookeeper.log"
  start zookeeper "$bin" zookeeper --port "$1" --data "$dir/zookeeper"
  ready zookeeper "$pid" started
}

# start_broker ID key=value...: does not wait; $pid is set
start_broker() {
  local id=$1 setting overrides=(); shift
  for setting in "$@"; do overrides+=(--override "$setting"); done
  touch "$dir/server.properties"
  start "broker-$id" "$bin" start "$dir/server.properties" \
    --override "broker.id=$id" \
    --override "listeners=PLAINTEXT://:$((port + id - 1))" \
    --override "advertised.listeners=PLAINTEXT://localhost:$((port + id - 1))" \
    --override "log.dirs=$dir/broker-$id" \
    --override "zookeeper.connect=127.0.0.1:$zk_port" \
    --override controlled.shutdown.retry.backoff.ms=500 \
    "${overrides[@]}"
}

# end PID...: asks for a clean stop, and waits
end() {
  kill -TERM "$@" 2> /dev/null || true
  wait "$@" 2> /dev/null || true
}
