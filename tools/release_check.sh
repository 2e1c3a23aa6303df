#!/usr/bin/env bash
# Build wheel and sdist of contrafact and of contrafact-ray into dist/, check them, and run the
# README's Python from each of the first, installed alone in an empty environment; then what the page
# of each extra shows, with the wheel and that extra alone, and the same of contrafact-ray, on the
# newest versions and on the lowest that pyproject.toml allows. Nothing is published. Call: tools/release_check.sh PYTHON PYTHON-OF-THE-TESTS
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m venv "$work/tools"
"$work/tools/bin/python" -m pip install --quiet --disable-pip-version-check build twine uv
env -u UV_FIND_LINKS "$work/tools/bin/uv" lock --check --no-config # uv.lock is of this pyproject.toml
rm -rf dist
for package in . packages/ray; do
  "$work/tools/bin/python" -m build --outdir dist "$package" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
done
"$work/tools/bin/python" -m twine check --strict dist/*

root=$PWD
cd "$work" # where no source lies that could be imported in the place of what was installed
for file in "$root"/dist/contrafact-*; do
  "$python" -m venv --clear empty
  empty/bin/python -m pip install --quiet --disable-pip-version-check "$file[tokens]"
  empty/bin/contrafact --version
  empty/bin/python "$root/tools/readme.py" "$root/README.md"
  echo "$(basename "$file"): installed alone with its extra tokens, it runs the README's Python"
done

cd "$root"
export CI='' CONTRAFACT_EXTRAS CONTRAFACT_RAY
CONTRAFACT_EXTRAS=$(echo dist/contrafact-*.whl)
CONTRAFACT_RAY=$(echo dist/contrafact_ray-*.whl)
"$2" -m pytest -n0 -rs -p no:cacheprovider tests/test_extras.py
