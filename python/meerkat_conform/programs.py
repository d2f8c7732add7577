"""Finds and starts our programs, whose binaries are in the wheel for each platform."""

import os
import pathlib
import subprocess
import sys


class ConformError(Exception):
    """An error whose message is a sentence for the user."""


def find_binary(program):
    """Return the path of a program: in MEERKAT_BIN_DIR, else in this package."""
    file = program + (".exe" if os.name == "nt" else "")
    folder = os.environ.get("MEERKAT_BIN_DIR")
    path = pathlib.Path(folder) if folder else pathlib.Path(__file__).parent / "bin"
    if not (path / file).exists():
        raise ConformError(f"{path / file}: is missing; install the wheel of meerkat-conform for this platform,"
                           f" or build {program} with Go and set MEERKAT_BIN_DIR to its folder")
    return str(path / file)


def start_program(program, args, **options):
    """Start a program."""
    path = find_binary(program)
    try:
        return subprocess.Popen([path, *args], **options)
    except OSError as error:
        raise ConformError(f"{path}: cannot be run ({error.strerror}); install meerkat-conform again") from None


def _main(program):
    try:
        path = find_binary(program)
        if os.name == "nt":  # it cannot replace a process
            sys.exit(subprocess.call([path, *sys.argv[1:]]))
        os.execv(path, [path, *sys.argv[1:]])
    except (ConformError, OSError) as error:
        sys.exit(str(error))


def conform():
    """Run conform in place of this process."""
    _main("conform")


def recorder():
    """Run recorder in place of this process."""
    _main("recorder")
