# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""The parts of a release that are texts. See Scripts/release.

  version                            prints the version of the tree
  prepare VERSION DATE REPOSITORY DOWNLOADS   writes them to each place; an address may be empty and then stays
  lost TAG VERSION                   ends with an error if the surface lost something since the tag that this version must keep
  notes VERSION TAG                  prints the release notes; TAG is the release before, or empty
  repository FOLDER SECONDS          writes the index of an apt repository: Packages, Packages.gz and Release
"""

import datetime
import gzip
import hashlib
import pathlib
import re
import subprocess
import sys

CHANGES = pathlib.Path("CHANGELOG.md")
SOURCE = pathlib.Path("Sources/IdentityClient/Provider/HTTPTransport.swift")
ADDRESSES = pathlib.Path("Packaging/addresses")
SECTION = re.compile(r"^## (\d+\.\d+\.\d+)(?: - [\d-]+| \(not yet tagged\))$", re.M)
CONSTANT = re.compile(r'(static let current = ")(\d+\.\d+\.\d+)(")')


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def fail(text):
    sys.exit(f"ERROR: {text}")


def version():
    """The version of the tree, of which the change log and the library's constant tell the same."""
    newest, constant = SECTION.search(CHANGES.read_text())[1], CONSTANT.search(SOURCE.read_text())[2]
    if newest != constant:
        fail(f"{CHANGES} begins with {newest}, and {SOURCE} says {constant}")
    return newest


def addresses():
    return dict(line.split(" ", 1) for line in ADDRESSES.read_text().splitlines())


def replace_everywhere(old, new):
    """Replaces a text in each tracked file that has it."""
    if old == new:
        return
    for name in filter(None, git("ls-files", "-z").split("\0")):
        path = pathlib.Path(name)
        if path.is_file() and not path.is_symlink() and (content := path.read_bytes()) and old.encode() in content:
            path.write_bytes(content.replace(old.encode(), new.encode()))


def prepare(new, date, repository, downloads):
    old = version()
    text = CHANGES.read_text()
    newest = SECTION.search(text)
    if not newest[0].endswith("(not yet tagged)") and new != old:
        fail(f"{CHANGES} has no section that is not yet tagged")
    if newest[0].endswith("(not yet tagged)"):
        CHANGES.write_text(f"{text[: newest.start()]}## {new} - {date}{text[newest.end() :]}")
    SOURCE.write_text(CONSTANT.sub(rf"\g<1>{new}\g<3>", SOURCE.read_text()))
    # What a document tells to depend on or to download, and the programs of Examples/Desktop.
    for form in ('from: "{}"', "identityctl_{}_", "identityctl-{}-", ",{}/", 'static let version = "{}"', 'release version="{}"'):
        replace_everywhere(form.format(old), form.format(new))
    if repository:
        readme = pathlib.Path("README.md")
        readme.write_text(re.sub(r"<!-- until the first release -->.*?<!-- /until -->\n+", "", readme.read_text(), flags=re.S))
    for name, address in ("repository", repository), ("downloads", downloads):
        if address:
            if not re.fullmatch(r"https?://[^\s\"'<>?#]+[^\s\"'<>?#/]", address):
                fail(f"the address of the {name} is a URL without a slash at its end, not {address}")
            replace_everywhere(addresses()[name], address)


def changes(tag):
    """What the public surface has lost and gained since a tag."""
    lines = git("diff", "--unified=0", tag, "HEAD", "--", "Docs/api").splitlines()
    lost, gained = ([line[1:].strip() for line in lines if re.match(rf"[{sign}](?![{sign}])", line)] for sign in "-+")
    return [line for line in lost if line not in gained], [line for line in gained if line not in lost]


def lost(tag, new):
    """Before 1.0, a minor version may break the API, and then a major one."""
    major, minor = ([int(part) for part in text.split(".")[:2]] for text in (tag, new))
    places = 1 if minor[0] else 2
    if (gone := changes(tag)[0]) and minor[:places] == major[:places]:
        fail(f"since {tag} the public surface has lost:\n  " + "\n  ".join(gone) + f"\n{new} must keep that: raise the version")


def notes(new, tag):
    text = CHANGES.read_text()
    sections = list(SECTION.finditer(text))
    if not sections or sections[0][1] != new:
        fail(f"{CHANGES} does not begin with {new}")
    end = sections[1].start() if len(sections) > 1 else len(text)
    print(f"# swift-identity-client {new}\n\n{text[sections[0].end() : end].strip()}\n")
    if tag:
        gone, come = changes(tag)
        print(f"## The public surface since {tag}\n")
        for title, names in ("Gone", gone), ("New", come):
            print(f"{title}: {len(names)}\n" + "".join(f"\n- `{name}`" for name in names) + "\n")
    print(f"How to install and check it: {addresses()['repository']}#install-a-release")


def repository(folder, seconds):
    folder = pathlib.Path(folder)
    paragraphs = []
    for package in sorted(folder.glob("*.deb")):
        fields = subprocess.run(["dpkg-deb", "--field", package], check=True, capture_output=True, text=True).stdout
        content = package.read_bytes()
        paragraphs.append(
            f"{fields}Filename: ./{package.name}\nSize: {len(content)}\nSHA256: {hashlib.sha256(content).hexdigest()}\n"
        )
    index = "\n".join(paragraphs).encode()
    files = {"Packages": index, "Packages.gz": gzip.compress(index, mtime=0)}
    date = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S +0000")
    release = [
        "Origin: swift-identity-client", "Label: swift-identity-client", "Architectures: amd64", f"Date: {date}",
        "Description: identityctl, sign-in for shells and scripts", "SHA256:",
    ]
    for name, content in files.items():
        (folder / name).write_bytes(content)
        release.append(f" {hashlib.sha256(content).hexdigest()} {len(content)} {name}")
    (folder / "Release").write_text("\n".join(release) + "\n")


def main():
    command, *arguments = sys.argv[1:]
    if command == "version":
        print(version())
    else:
        {"prepare": prepare, "lost": lost, "notes": notes, "repository": repository}[command](*arguments)


main()
