#!/usr/bin/env bash
# The tests of the lower floors on newer versions of Python, as far as this machine has them.
#   tools/newer.sh .venv uv
set -euo pipefail
venv=$1 uv=${*:2}
$uv --version >/dev/null 2>&1 || { echo "no uv here: other versions of Python are not tried"; exit 0; }
for version in 3.12 3.13; do
  python=
  for one in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python3; do
    if "$one" -c '' 2>/dev/null; then python=$one; break; fi
  done
  if [[ -z $python ]]; then echo "no Python $version here"; continue; fi
  own=$venv-$version
  $uv venv --quiet --clear --python "$("$python" -c 'import sys; print(sys.executable)')" "$own"
  $uv pip install --quiet --compile-bytecode --python "$own/bin/python" '.[full]' \
    pytest pytest-xdist hypothesis scipy statsmodels krippendorff jsonschema pyagrum
  "$own/bin/contrafact" --version
  "$own/bin/python" -m pytest -n 2 -p no:cacheprovider -m 'not slow' \
    tests/causal tests/files tests/stats tests/text
done
