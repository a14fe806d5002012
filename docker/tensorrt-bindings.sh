#!/bin/sh
# Gives an environment TensorRT's Python interface, of the version whose libraries the image has.
# Images that already have it are left alone. Usage: tensorrt-bindings.sh ENVIRONMENT
set -eu
python=$1/bin/python

if ! "$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("tensorrt") is None)'; then
    library=$(find / -xdev -name 'libnvinfer.so.*.*.*' 2>/dev/null | head -n 1)
    [ -n "$library" ] || { echo "this image has no TensorRT: no libnvinfer.so; choose another BASE_IMAGE" >&2; exit 1; }
    version=${library##*libnvinfer.so.}
    for cuda in 13 12; do
        python3 -m pip --python "$python" install --disable-pip-version-check --no-cache-dir --no-deps \
            "tensorrt-cu$cuda-bindings==$version.*" && break
    done
    site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    printf '%s\n' '"""TensorRT, by the name that everybody imports."""' \
        'from tensorrt_bindings import *' 'from tensorrt_bindings import __version__' >"$site/tensorrt.py"
fi

# Fails, with the reason, where this TensorRT is too old for the decoder step.
"$python" -c 'from serving.engines.gpu.machine import import_tensorrt
print("TensorRT", import_tensorrt("tensorrt").__version__)'
