#!/usr/bin/env bash
# Brings docker-compose.yml up with a real engine and uses it as an outsider would: produce, consume, kill one container, go on.
# Needs docker and docker-compose (or its v2 plug-in), and kcat; installs them where apt-get may, and starts dockerd when no
# engine answers. Images that cannot be pulled get stand-ins of the same name, made from Debian, Go and ZooKeeper's jars.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
work=$(mktemp -d)
project=jackdawtest
dockerd_pid=''

say() { echo "compose-test: $*"; }

need() { # COMMAND PACKAGE
  command -v "$1" > /dev/null || { apt-get update -q && apt-get install -y -q "$2"; } > "$work/apt.log" 2>&1 ||
    { cat "$work/apt.log" >&2; exit 1; }
}

compose() {
  if docker compose version > /dev/null 2>&1; then docker compose -p "$project" "$@"; else docker-compose -p "$project" "$@"; fi
}

cleanup() {
  trap '' INT TERM
  compose down -v --timeout 20 > "$work/down.log" 2>&1 || cat "$work/down.log" >&2
  if [[ -n $dockerd_pid ]]; then
    kill "$dockerd_pid" || true
    wait "$dockerd_pid" || true
  fi
  rm -rf "$work"
}

engine() {
  docker info > /dev/null 2>&1 && return
  say "no engine answers: starting dockerd"
  dockerd > "$work/dockerd.log" 2>&1 &
  dockerd_pid=$!
  for _ in $(seq 150); do docker info > /dev/null 2>&1 && return; sleep 0.2; done
  tail -n 5 "$work/dockerd.log" >&2
  exit 1
}

have() { docker image inspect "$1" > /dev/null 2>&1 || docker pull -q "$1" > /dev/null 2>&1; }

debian=debian:bookworm-slim
debian_image() {
  have "$debian" && return
  say "stand-in for $debian"
  need debootstrap debootstrap
  debootstrap --variant=minbase --include=ca-certificates bookworm "$work/root" > "$work/debootstrap.log" 2>&1
  tar -C "$work/root" -c . | docker import - "$debian" > /dev/null
}

# go_image: this machine's toolchain, and the modules that the build needs
go_image() {
  have golang:1.26 && return
  debian_image
  say "stand-in for golang:1.26"
  mkdir -p "$work/go"
  go mod download
  GOPROXY=file://$(go env GOMODCACHE)/cache/download GONOSUMDB='*' GOFLAGS=-modcacherw GOMODCACHE=$work/go/mod go mod download
  cp -rL "$(go env GOROOT)" "$work/go/goroot"
  cat > "$work/go/Dockerfile" << EOF
FROM $debian
COPY goroot /usr/local/go
COPY mod /go/pkg/mod
ENV PATH=/usr/local/go/bin:/usr/bin:/bin GOPATH=/go GOPROXY=off GOFLAGS=-buildvcs=false GOTOOLCHAIN=local
EOF
  docker build -q -t golang:1.26 "$work/go" > /dev/null
  rm -rf "$work/go"
}

# zookeeper_image: ZooKeeper from Maven's jars, with the paths and the port of the official image
zookeeper_image() {
  have zookeeper:3.9 && return
  debian_image
  say "stand-in for zookeeper:3.9"
  source ./compat-tests/setup.sh
  mkdir -p "$work/zk/jars"
  cp "$JACKDAW_KAFKA_LIBS"/{zookeeper,slf4j,reload4j,netty,snappy,metrics-core,commons-cli,commons-io}*.jar "$work/zk/jars/"
  printf 'tickTime=2000\ndataDir=/data\ndataLogDir=/datalog\nclientPort=2181\nadmin.enableServer=false\n4lw.commands.whitelist=srvr,ruok\n' > "$work/zk/zoo.cfg"
  cat > "$work/zk/Dockerfile" << EOF
FROM $debian
RUN apt-get update -q && apt-get install -y -q --no-install-recommends openjdk-17-jre-headless
COPY jars /zookeeper
COPY zoo.cfg /conf/zoo.cfg
VOLUME /data /datalog
EXPOSE 2181
CMD ["java", "-cp", "/zookeeper/*", "org.apache.zookeeper.server.quorum.QuorumPeerMain", "/conf/zoo.cfg"]
EOF
  docker build -q --network host -t zookeeper:3.9 "$work/zk" > "$work/zk.log" 2>&1 || { cat "$work/zk.log" >&2; exit 1; }
}

until_ok() { # DESCRIPTION SECONDS COMMAND...
  local what=$1 deadline=$((SECONDS + $2)); shift 2
  until "$@"; do
    if [[ $SECONDS -ge $deadline ]]; then
      compose logs --tail 20 >&2
      echo "compose-test: timed out: $what" >&2
      exit 1
    fi
    sleep 0.5
  done
}

container() { compose ps -q "$1"; }
healthy()   { [[ $(docker inspect -f '{{.State.Health.Status}}' "$(container "$1")") == healthy ]]; }

outside=localhost:9092,localhost:9093,localhost:9094
produce()  { seq -f 'record-%.0f' "$1" "$2" | kcat -b "$outside" -P -t compose -X acks=all -X message.timeout.ms=60000 2> /dev/null; }
count()    { kcat -b "$outside" -C -t compose -o beginning -e -q 2> /dev/null | sort -u | wc -l; }
has()      { [[ $(count) == "$1" ]]; }
leader()   { kcat -b "$outside" -L -t compose 2> /dev/null | sed -n 's/.*partition 0, leader \(-\{0,1\}[0-9]*\),.*/\1/p'; }
led_by_another() { local l; l=$(leader); [[ -n $l && $l != -1 && $l != "$1" ]]; }

need docker docker.io
need docker-compose docker-compose
need kcat kcat
trap cleanup EXIT
trap 'exit 130' INT TERM
engine
go_image
zookeeper_image
say "building and starting"
compose up -d --build > "$work/up.log" 2>&1 || { tail -n 30 "$work/up.log" >&2; exit 1; }
for s in kafka1 kafka2 kafka3; do until_ok "$s to be healthy" 120 healthy "$s"; done
say "three brokers are healthy"
until_ok "the first records" 60 produce 1 1000
until_ok "1000 records" 30 has 1000
lead=$(leader)
say "1000 records from outside; broker $lead leads, and is killed"
docker kill "$(container "kafka$lead")" > /dev/null
until_ok "another leader" 60 led_by_another "$lead"
until_ok "records after the kill" 60 produce 1001 2000
until_ok "2000 records" 30 has 2000
say "2000 records, led by broker $(leader)"
docker start "$(container "kafka$lead")" > /dev/null
until_ok "kafka$lead to be healthy again" 120 healthy "kafka$lead"
say "broker $lead is back: passed"
