#!/usr/bin/env bash
# Installs what the compat tests need and is not there yet, and says where it is:
#   - the jars of Apache Kafka 3.9.2 and ZooKeeper, by Maven, in ${JACKDAW_CACHE:-~/.cache/jackdaw}/kafka-3.9.2/libs
#   - kcat, by apt
# Run it, or source it to have JACKDAW_KAFKA_LIBS exported. A second call is instant.
# A tool that cannot be had is an error under CI=true, and a warning elsewhere (the tests that need it are skipped).

compat_setup() {
  local here jars stamp
  here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd) || return 1
  jars=${JACKDAW_KAFKA_LIBS:-${JACKDAW_CACHE:-$HOME/.cache/jackdaw}/kafka-3.9.2/libs}

  if [[ -z ${JACKDAW_KAFKA_LIBS:-} ]]; then
    stamp=$(sha256sum < "$here/pom.xml")
    if [[ ! -f $jars/.done || $(< "$jars/.done") != "$stamp" ]]; then
      compat_need java openjdk-17-jre-headless || return 1
      compat_need mvn maven || return 1
      if compat_jars "$here/pom.xml" "$jars"; then
        echo "$stamp" > "$jars/.done"
      else
        compat_missing "the jars of Apache Kafka (mvn failed)" || return 1
      fi
    fi
  fi
  compat_need kcat kcat || return 1

  export JACKDAW_KAFKA_LIBS=$jars
  echo "JACKDAW_KAFKA_LIBS=$jars"
}

# compat_jars POM DIR
compat_jars() {
  rm -rf "$2" && mkdir -p "$2" || return 1
  mvn -q -B -f "$1" dependency:copy-dependencies -DoutputDirectory="$2" -DincludeScope=runtime >&2
}

# compat_need COMMAND PACKAGE: installs the Debian package that brings the command
compat_need() {
  command -v "$1" > /dev/null && return
  local sudo=
  [[ $(id -u) == 0 ]] || sudo="sudo -n"
  if command -v apt-get > /dev/null; then
    { $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$2" ||
      { $sudo apt-get update -q && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$2"; }; } >&2
  fi
  command -v "$1" > /dev/null || compat_missing "$1"
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
