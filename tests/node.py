"""Scripts of the page run by node, without a browser. A machine without node skips, except where CI is set."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

import pytest

from sdiff.ui.assets import read


def in_node(scripts: tuple[str, ...], expression: str, data: Any = None, before: str = "") -> Any:
    """The value of a JavaScript `expression` behind the named files of the web folder. `data` is in its scope; `before` stands in front of all."""
    if not shutil.which("node"):
        (pytest.fail if os.environ.get("CI") else pytest.skip)("node is not installed")
    program = f"const data = {json.dumps(data)};\n{before}\n{read(*scripts)}\nconsole.log(JSON.stringify({expression}));"
    done = subprocess.run(["node", "-"], input=program, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
