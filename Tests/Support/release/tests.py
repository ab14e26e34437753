# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Tests of Scripts/lib/release.py, in a small repository of their own: python3 tests.py"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "Scripts/lib/release.py"


class ReleaseTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("CHANGELOG.md", "# Changes\n\n## 0.70.0 (not yet tagged)\n\nNew: all.\n\n## 0.69.0 - 2026-01-02\n\nOld.\n")
        self.write("Sources/IdentityClient/Provider/HTTPTransport.swift", '    static let current = "0.70.0"\n')
        self.write("Packaging/addresses", "repository https://git.example/x\ndownloads https://downloads.example/y\n")
        self.write("README.md", 'url: "https://git.example/x", from: "0.70.0"\nhttps://downloads.example/y/{key,0.70.0/{sums}}\n<!-- until the first release -->Not yet.<!-- /until -->\n')
        self.write("Docs/api/Module.txt", "struct A\n  func a()\n  func b()\n")
        self.git("init", "--quiet")
        self.commit()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.com", *arguments], cwd=self.root, check=True)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "Change")

    def release(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, *arguments], cwd=self.root, capture_output=True, text=True)

    def refused(self, *arguments):
        outcome = self.release(*arguments)
        self.assertEqual(outcome.returncode, 1)
        return outcome.stderr

    def test_writes_version_date_and_addresses_to_each_place(self):
        self.assertEqual(self.release("prepare", "0.71.0", "2026-12-01", "https://code.test/p", "https://dl.test").stderr, "")
        self.assertEqual(self.release("version").stdout, "0.71.0\n")
        self.assertIn("## 0.71.0 - 2026-12-01\n", (self.root / "CHANGELOG.md").read_text())
        self.assertEqual(
            (self.root / "README.md").read_text(),
            'url: "https://code.test/p", from: "0.71.0"\nhttps://dl.test/{key,0.71.0/{sums}}\n',
        )
        # Once more changes nothing, and the next release can have other addresses.
        self.commit()
        self.release("prepare", "0.71.0", "2026-12-02", "", "")
        self.git("diff", "--exit-code")
        self.release("prepare", "0.71.0", "2026-12-02", "https://other.test/p", "")
        self.assertIn("https://other.test/p", (self.root / "README.md").read_text())

    def test_refuses_a_version_without_a_section_and_a_strange_address(self):
        self.release("prepare", "0.70.0", "2026-12-01", "", "")
        self.assertIn("not yet tagged", self.refused("prepare", "0.70.1", "2026-12-02", "", ""))
        for address in ("dl.test", "https://dl.test/", 'https://dl.test/"'):
            self.assertIn("downloads", self.refused("prepare", "0.70.0", "2026-12-01", "", address))

    def test_refuses_a_tree_that_disagrees_with_itself(self):
        self.write("Sources/IdentityClient/Provider/HTTPTransport.swift", '    static let current = "0.69.0"\n')
        self.assertIn("0.69.0", self.refused("version"))

    def test_keeps_what_a_version_promised(self):
        self.git("tag", "0.70.0")
        self.write("Docs/api/Module.txt", "struct A\n  func a()\n  func c()\n")
        self.commit()
        self.assertIn("func b()", self.refused("lost", "0.70.0", "0.70.1"))
        self.assertEqual(self.release("lost", "0.70.0", "0.71.0").returncode, 0)
        self.git("tag", "1.2.0")
        self.write("Docs/api/Module.txt", "struct A\n  func a()\n")
        self.commit()
        self.assertIn("func c()", self.refused("lost", "1.2.0", "1.3.0"))
        self.assertEqual(self.release("lost", "1.2.0", "2.0.0").returncode, 0)

    def test_notes_have_the_section_and_the_surface(self):
        self.git("tag", "0.69.0")
        self.write("Docs/api/Module.txt", "struct A\n  func a()\n  func c()\n")
        self.commit()
        notes = self.release("notes", "0.70.0", "0.69.0").stdout
        self.assertIn("New: all.", notes)
        self.assertNotIn("Old.", notes)
        self.assertIn("- `func b()`", notes)
        self.assertIn("- `func c()`", notes)
        self.assertIn("0.70.0", self.refused("notes", "0.69.0", "") and notes)


unittest.main()
