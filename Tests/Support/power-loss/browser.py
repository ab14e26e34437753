# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""browser.py ADDRESS: a browser without a window, which agrees to everything and follows where it is led."""
import pathlib
import sys
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "browser"))
from person import behind_start  # noqa: E402

with urllib.request.urlopen(behind_start(sys.argv[1]), timeout=20) as answer:
    answer.read()
