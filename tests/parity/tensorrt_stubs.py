"""Libraries that define what TensorRT's Python bindings need, and do nothing."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path

LIBRARIES = ("libnvinfer.so.11", "libnvinfer_plugin.so.11", "libnvonnxparser.so.11")


def make_stubs(folder: Path) -> None:
    """Compile the libraries into a folder."""
    spec = importlib.util.find_spec("tensorrt_bindings")
    assert spec is not None
    assert spec.origin is not None
    (extension,) = Path(spec.origin).parent.glob("tensorrt*.so")
    listing = subprocess.run(
        ["nm", "-D", "--undefined-only", extension], capture_output=True, text=True, check=True
    ).stdout
    names = re.findall(r" U (\w+)$", listing, re.MULTILINE)  # a library's version follows others
    ours = [name for name in names if not re.match(r"_?Py", name)]
    source = "".join(f"void *{name}(void) {{ return 0; }}\n" for name in ours)
    for index, library in enumerate(LIBRARIES):
        command = ["cc", "-shared", "-fPIC", f"-Wl,-soname,{library}", "-o", library]
        code = source if index == 0 else ""
        subprocess.run([*command, "-x", "c", "-"], cwd=folder, input=code, text=True, check=True)
