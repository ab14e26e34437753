# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""browser.py ADDRESS: a browser without a window, which agrees to everything and follows where it is led."""
import re
import sys
import urllib.request

fields = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
address = sys.argv[1]
with urllib.request.urlopen(urllib.request.Request(address, headers=fields), timeout=20) as answer:
    page = answer.read().decode(errors="replace")
if agreement := re.search(r'class="answer agreement" href="([^"]+)"', page):
    address = urllib.parse.urljoin(address, agreement.group(1))
    with urllib.request.urlopen(urllib.request.Request(address, headers=fields), timeout=20) as answer:
        answer.read()
