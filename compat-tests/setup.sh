#!/usr/bin/env bash
# Installs what the compat tests need and is not there yet, and says where it is:
#   - the jars of Apache Kafka 3.9.2 and ZooKeeper, by Maven, in ${JACKDAW_CACHE:-~/.cache/jackdaw}/kafka-3.9.2/libs
#   - kcat, by apt
#   - kafka-python, by pip, in a virtual environment in ${JACKDAW_CACHE:-~/.cache/jackdaw}/kafka-python
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
  compat_python "${JACKDAW_CACHE:-$HOME/.cache/jackdaw}/kafka-python" || return 1

  export JACKDAW_KAFKA_LIBS=$jars
  echo "JACKDAW_KAFKA_LIBS=$jars"
}

# compat_jars POM DIR
compat_jars() {
  rm -rf "$2" && mkdir -p "$2" || return 1
  mvn -q -B -f "$1" dependency:copy-dependencies -DoutputDirectory="$2" -DincludeScope=runtime >&2
}

# compat_python DIR
compat_python() {
  local stamp=kafka-python==2.2.15
  [[ -f $1/.done && $(< "$1/.done") == "$stamp" ]] && return
  compat_need python3 python3 || return 1
  rm -rf "$1"
  { python3 -m venv "$1" || { compat_apt python3-venv && python3 -m venv --clear "$1"; }; } >&2 &&
    "$1/bin/pip" install -q --disable-pip-version-check "$stamp" >&2 && echo "$stamp" > "$1/.done" && return
  rm -rf "$1"
  compat_missing "kafka-python (pip failed)"
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
