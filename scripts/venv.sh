#!/bin/sh
# Makes ./.venv where it is missing and installs gpustack-lite into it; `venv.sh dev` adds what the tests need.
set -eu
cd "$(dirname "$0")/.."

good_python() {
  for name in python3.13 python3.12 python3.11 python3 python3.14 python; do
    "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$name" && return
  done
}

uv_command() {
  command -v uv && return
  for name in python3 python; do
    # into a folder of its own: the system's Python may not be written to (PEP 668)
    "$name" -m pip install --quiet --target .uv uv >&2 2>/dev/null && echo .uv/bin/uv && return
  done
}

make_venv() {
  found=$(good_python || true)
  if [ -n "$found" ] && "$found" -m venv .venv >/dev/null 2>&1; then return; fi
  rm -rf .venv
  uv=$(uv_command || true)
  if [ -n "$uv" ] && "$uv" venv --quiet --seed --python "${found:-3.12}" .venv; then return; fi
  echo "No Python 3.11 or newer with venv is here, and none could be fetched: install one (Debian 12, Ubuntu 24.04:" \
    "apt-get install python3-venv), or pip, with which uv comes and fetches one from github.com (apt-get install" \
    "python3-pip; UV_PYTHON_INSTALL_MIRROR names a mirror), and run make again." >&2
  exit 1
}

[ -x .venv/bin/python ] || { echo "Making .venv"; make_venv; }
pip="python -m pip install --quiet --disable-pip-version-check"
if [ "${1:-}" = dev ]; then
  echo "Installing gpustack-lite, its console and what the tests need into .venv (a few minutes the first time)"
  .venv/bin/$pip uv
  # from the lock; where its index cannot be reached, from the one that pip is told to use
  .venv/bin/uv sync --quiet --frozen --inexact --all-extras --group dev --reinstall-package gpustack-lite \
    --python .venv/bin/python || .venv/bin/$pip -e . $(.venv/bin/python scripts/dev_requirements.py)
else
  echo "Installing gpustack-lite and its console into .venv (a few minutes the first time)"
  .venv/bin/$pip .
fi
