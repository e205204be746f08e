#!/usr/bin/env bash
# The same plan under every Python that the pins serve: pythons.sh [PYTHON...]
#
# Each interpreter (default: those of python3.11, python3.12 and python3.13 that this machine has) gets a small environment
# of its own below .cache/pythons, from requirements/core.txt and requirements/dev.txt, and runs the tests that pin the bytes
# of plans by their hash; then .venv compares its own bytes with theirs. The environments stay. No interpreter is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=$PWD/.venv/bin/uv
[ -x "$uv" ] || { echo "pythons.sh: no .venv/bin/uv; run make setup first" >&2; exit 1; }

tests=(tests/test_plan.py tests/test_arrivals.py tests/test_ids.py)
pythons=("$@")
[ $# -gt 0 ] || for minor in 11 12 13; do
  python=$(command -v "python3.$minor") && "$python" -V >/dev/null 2>&1 && pythons+=("$python")
done
[ ${#pythons[@]} -gt 0 ] || { echo "pythons.sh: no python3.11, python3.12 or python3.13; name one" >&2; exit 1; }

homes=
for python in "${pythons[@]}"; do
  version=$("$python" -c 'import platform; print(platform.python_version())')
  home=$PWD/.cache/pythons/$version
  [ -x "$home/bin/python" ] || "$uv" venv --quiet --python "$python" "$home"
  "$uv" pip install --quiet --no-deps --python "$home/bin/python" -r requirements/core.txt -r requirements/dev.txt
  echo "Python $version:"
  PYTHONPATH=$PWD "$home/bin/python" -m pytest -q -p no:cacheprovider "${tests[@]}"
  homes=$home/bin:$homes
done
echo "the bytes of each compared with those of .venv:"
PATH=$homes$PATH .venv/bin/python -m pytest -q -p no:cacheprovider tests/test_plan.py -k bytes
