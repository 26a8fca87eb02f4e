#!/bin/sh
# What the image is made of, in a prefix of your choice: a virtual environment with stepdown and its compiled kernel.
#
#     docker/build.sh /opt/stepdown
#
# Runs from the source tree; needs Python 3.11 or later and a C compiler. The Dockerfile runs it in its first stage.
set -eu

prefix=${1:?usage: docker/build.sh PREFIX}
source=$(cd "$(dirname "$0")/.." && pwd)

"${PYTHON:-python3}" -m venv "$prefix"
"$prefix/bin/python" -m pip install --quiet --no-cache-dir --disable-pip-version-check "${source}[gateway]"

# The compiled kernel has to be the one in use: the plain twin is for reading.
"$prefix/bin/python" -c 'from stepdown.protocol.records import kernel; assert kernel.COMPILED, kernel.__file__'

# pip has done its work, and a broker never installs anything.
"$prefix/bin/python" -m pip uninstall --quiet --yes pip setuptools 2>/dev/null || true
"$prefix/bin/stepdown" --version
