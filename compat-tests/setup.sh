#!/usr/bin/env bash
# Installs what the compat tests need and is not there yet, and says where it is:
#   - the jars of Apache Kafka 3.9.2 and ZooKeeper, by Maven, in ${JACKDAW_CACHE:-~/.cache/jackdaw}/kafka-3.9.2/libs
#   - the jars of the clients and tools of Apache Kafka 4.4.0, by Maven, in kafka-4.4.0/libs beside them
#   - older Java clients, by Maven, in clients-java beside them
#   - a JDK, which compiles the programs in Java, and kcat, by apt
#   - an old kafka-python, by pip, in a virtual environment in ${JACKDAW_CACHE:-~/.cache/jackdaw}/kafka-python
#   - the clients of clients/requirements.txt, by pip, in clients-python beside it
#   - the clients of clients/package.json, by npm, in clients-node beside it
# Run it, or source it to have JACKDAW_KAFKA_LIBS and JACKDAW_KAFKA4_LIBS exported. A second call is instant.
# A tool that cannot be had is an error under CI=true, and a warning elsewhere (the tests that need it are skipped).

compat_setup() {
  local here cache
  here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd) || return 1
  cache=${JACKDAW_CACHE:-$HOME/.cache/jackdaw}

  [[ -n ${JACKDAW_KAFKA_LIBS:-} ]] || compat_jars "$here/pom.xml" "$cache/kafka-3.9.2/libs" || return 1
  [[ -n ${JACKDAW_KAFKA4_LIBS:-} ]] || compat_jars "$here/pom-kafka4.xml" "$cache/kafka-4.4.0/libs" || return 1
  compat_jars "$here/pom-clients.xml" "$cache/clients-java" copy || return 1
  compat_need kcat kcat || return 1
  compat_need javac openjdk-17-jdk-headless || return 1
  compat_python "$cache/kafka-python" kafka-python==2.2.15 || return 1
  compat_python "$cache/clients-python" "$(< "$here/clients/requirements.txt")" || return 1
  compat_node "$cache/clients-node" "$here/clients/package.json" || return 1

  export JACKDAW_KAFKA_LIBS=${JACKDAW_KAFKA_LIBS:-$cache/kafka-3.9.2/libs}
  export JACKDAW_KAFKA4_LIBS=${JACKDAW_KAFKA4_LIBS:-$cache/kafka-4.4.0/libs}
  echo "JACKDAW_KAFKA_LIBS=$JACKDAW_KAFKA_LIBS"
  echo "JACKDAW_KAFKA4_LIBS=$JACKDAW_KAFKA4_LIBS"
}

# compat_jars POM DIR [GOAL]: a new set of jars takes the place of the old one in one step, since somebody may be using that. The
# JDK is for the tests that run a Java source.
compat_jars() {
  local stamp
  stamp=$(sha256sum < "$1")
  [[ -f $2/.done && $(< "$2/.done") == "$stamp" ]] && return
  compat_need javac openjdk-17-jdk-headless || return 1
  compat_need mvn maven || return 1
  rm -rf "$2.new" "$2.old" && mkdir -p "$2" "$2.new" || return 1
  mvn -q -B -f "$1" "dependency:${3:-copy-dependencies}" -DoutputDirectory="$2.new" -DincludeScope=runtime >&2 &&
    echo "$stamp" > "$2.new/.done" && mv "$2" "$2.old" && mv "$2.new" "$2" && rm -rf "$2.old" && return
  compat_missing "the jars of $2 (mvn failed)"
}

# compat_python DIR REQUIREMENTS
compat_python() {
  [[ -f $1/.done && $(< "$1/.done") == "$2" ]] && return
  compat_need python3 python3 || return 1
  rm -rf "$1"
  { python3 -m venv "$1" || { compat_apt python3-venv && python3 -m venv --clear "$1"; }; } >&2 &&
    "$1/bin/pip" install -q --disable-pip-version-check -r <(echo "$2") >&2 && echo "$2" > "$1/.done" && return
  rm -rf "$1"
  compat_missing "$2 (pip failed)"
}

# compat_node DIR PACKAGE.JSON
compat_node() {
  local stamp
  stamp=$(< "$2")
  [[ -f $1/.done && $(< "$1/.done") == "$stamp" ]] && return
  compat_need node nodejs || return 1
  compat_need npm npm || return 1
  rm -rf "$1"
  mkdir -p "$1" && cp "$2" "$1" && (cd "$1" && npm install --silent --no-audit --no-fund --no-package-lock) >&2 &&
    echo "$stamp" > "$1/.done" && return
  rm -rf "$1"
  compat_missing "the clients for Node.js (npm failed)"
}

# compat_need COMMAND PACKAGE: installs the Debian package that brings the command
compat_need() {
  command -v "$1" > /dev/null && return
  compat_apt "$2"
  command -v "$1" > /dev/null || compat_missing "$1"
}

# compat_apt PACKAGE
compat_apt() {
  local sudo=
  [[ $(id -u) == 0 ]] || sudo="sudo -n"
  command -v apt-get > /dev/null || return
  { $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$1" ||
    { $sudo apt-get update -q && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$1"; }; } >&2
}

# compat_missing WHAT: fails under CI=true
compat_missing() {
  echo "compat-tests/setup.sh: cannot get $1" >&2
  [[ ${CI:-} != true ]]
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  set -uo pipefail
  compat_setup
else
  compat_setup > /dev/null
fi
