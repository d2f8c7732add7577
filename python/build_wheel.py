"""Writes the wheels: python3 python/build_wheel.py VERSION BINARIES OUT.

BINARIES has a folder for each platform, named as Go names it (linux_amd64), with the programs. A wheel
is a zip file; the standard library writes it, the same bytes each time.
"""

import base64
import hashlib
import pathlib
import sys
import zipfile

TAGS = {
    "linux_amd64": "manylinux2014_x86_64.musllinux_1_1_x86_64",
    "linux_arm64": "manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin_amd64": "macosx_12_0_x86_64", "darwin_arm64": "macosx_12_0_arm64",
    "windows_amd64": "win_amd64", "windows_arm64": "win_arm64",
}
ENTRY_POINTS = """[console_scripts]
conform = meerkat_conform.programs:conform
recorder = meerkat_conform.programs:recorder

[pytest11]
meerkat_conform = meerkat_conform.pytest_plugin
"""
METADATA = """Metadata-Version: 2.1
Name: meerkat-conform
Version: {version}
Summary: Does your LLM agent talk to its provider correctly? Judge it, record and replay its provider in tests.
License: Apache-2.0
Requires-Python: >=3.9
Project-URL: Source, https://github.com/meerkat-go/conformance
Classifier: Framework :: Pytest
Description-Content-Type: text/markdown

{readme}"""


def build_wheel(version, source, binaries, tag, out):
    info = f"meerkat_conform-{version}.dist-info"
    modules = sorted((source / "meerkat_conform").glob("*.py"))
    programs = [path for path in sorted(binaries.iterdir()) if path.stem in ("conform", "recorder")]
    files = {f"meerkat_conform/{path.name}": path.read_bytes() for path in modules}
    files |= {f"meerkat_conform/bin/{path.name}": path.read_bytes() for path in programs}
    tags = "".join(f"Tag: py3-none-{one}\n" for one in tag.split("."))
    files |= {
        f"{info}/METADATA": METADATA.format(version=version, readme=(source / "README.md").read_text()).encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: build_wheel.py\nRoot-Is-Purelib: false\n{tags}".encode(),
        f"{info}/entry_points.txt": ENTRY_POINTS.encode(),
        f"{info}/licenses/LICENSE": (source.parent / "LICENSE").read_bytes(),
    }
    digest = lambda data: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    with zipfile.ZipFile(out / f"meerkat_conform-{version}-py3-none-{tag}.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if "/bin/" in name else 0o100644) << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)


def main(version, binaries, out):
    source, out = pathlib.Path(__file__).resolve().parent, pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for platform, tag in TAGS.items():
        if (folder := pathlib.Path(binaries) / platform).exists():
            build_wheel(version, source, folder, tag, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
