# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Tests of the checker itself: what may be left of a write, and that strace's records are read rightly."""
import os
import tempfile
import unittest

import calls
from disk import Disk

ROOT = "/disk"


class Recorded(unittest.TestCase):
    """Each test is a list of calls as strace prints them, and what may be left after them."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = self.folder.name + ROOT
        os.mkdir(self.root)
        self.put("old", b"old")

    def tearDown(self):
        self.folder.cleanup()

    def put(self, name, content):
        with open(f"{self.root}/{name}", "wb") as file:
            file.write(content)

    def hexed(self, text):
        return '"' + "".join(f"\\x{byte:02x}" for byte in text.encode()) + '"'

    def after(self, *lines):
        """The contents that `name` may have after the calls; None where it is missing."""
        disk = Disk(self.root)
        record = self.folder.name + "/record"
        with open(record, "w", encoding="ascii") as file:
            for line in lines:
                if not line.startswith(("7 ", "8 ")):
                    line = "7 " + line
                file.write(line.replace("NEW", self.hexed(self.root + "/new")).replace("OLD", self.hexed(self.root + "/old"))
                           .replace("ROOT", self.hexed(self.root)).replace("TEXT", self.hexed("text")) + "\n")
        for event in calls.events(record):
            disk.apply(event)
        found = set()
        for state in disk.after_crash():
            found.add(tuple(state[name][2] if name in state else None for name in ("old", "new")))
        return found

    NEW = "openat(AT_FDCWD, NEW, O_WRONLY|O_CREAT|O_EXCL, 0600) = 3"
    WRITE = "write(3, TEXT, 4) = 4"
    SYNC = "fsync(3) = 0"
    RENAME = "rename(NEW, OLD) = 0"
    SYNC_NAMES = ("openat(AT_FDCWD, ROOT, O_RDONLY|O_DIRECTORY) = 4", "fsync(4) = 0")

    def test_a_synced_rename_leaves_the_old_or_the_new_file(self):
        self.assertEqual(
            self.after(self.NEW, self.WRITE, self.SYNC, self.RENAME), {(b"old", None), (b"old", b"text"), (b"text", None)}
        )
        self.assertEqual(self.after(self.NEW, self.WRITE, self.SYNC, self.RENAME, *self.SYNC_NAMES), {(b"text", None)})

    def test_a_rename_without_a_sync_may_leave_an_empty_or_torn_file(self):
        found = self.after(self.NEW, self.WRITE, self.RENAME, *self.SYNC_NAMES)
        self.assertEqual(found, {(text, None) for text in (b"text", b"te", b"\0\0\0\0", b"")})

    def test_a_sync_of_the_file_says_nothing_about_its_name(self):
        self.assertIn((b"old", None), self.after(self.NEW, self.WRITE, self.SYNC))

    def test_writing_in_place_tears_what_was_there(self):
        found = self.after("openat(AT_FDCWD, OLD, O_WRONLY|O_TRUNC) = 3", self.WRITE)
        self.assertEqual({old for old, _ in found}, {b"old", b"", b"text", b"te", b"ted", b"\0\0\0\0"})

    def test_a_removal_lasts_with_the_sync_of_its_directory(self):
        self.assertEqual(self.after("unlink(OLD) = 0"), {(b"old", None), (None, None)})
        self.assertEqual(self.after("unlink(OLD) = 0", *self.SYNC_NAMES), {(None, None)})

    def test_changes_of_names_are_lost_in_any_order(self):
        two = ("link(OLD, NEW) = 0", "unlink(OLD) = 0")
        self.assertEqual(self.after(*two), {(b"old", None), (b"old", b"old"), (None, b"old"), (None, None)})

    def test_a_sync_covers_only_what_ended_before_it_began(self):
        found = self.after(
            self.NEW, *self.SYNC_NAMES[:1], "7 fsync(4 <unfinished ...>", "8 unlink(OLD) = 0", "7 <... fsync resumed>) = 0"
        )
        self.assertEqual({old for old, _ in found}, {b"old"}, "a stranger's call is not the program's")
        found = self.after(
            "clone(child_stack=0x1, flags=CLONE_VM|CLONE_THREAD) = 8", *self.SYNC_NAMES[:1], "7 fsync(4 <unfinished ...>",
            "8 unlink(OLD) = 0", "7 <... fsync resumed>) = 0",
        )
        self.assertEqual({old for old, _ in found}, {b"old", None})

    def test_calls_that_failed_do_nothing(self):
        self.assertEqual(self.after("unlink(OLD) = -1 ENOENT (No such file or directory)"), {(b"old", None)})

    def test_an_unknown_call_is_no_gap(self):
        for line in (
            "copy_file_range(3, NULL, 4, NULL, 5, 0) = 5", "io_uring_setup(8, 0x1) = 5",
            "mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3, 0) = 0x7f0000000000",
            "openat(AT_FDCWD, ROOT, O_WRONLY|O_TMPFILE, 0600) = 5",
        ):
            with self.assertRaises(calls.NotModelled, msg=line):
                self.after(self.NEW, line)


if __name__ == "__main__":
    unittest.main()
