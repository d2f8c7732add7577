#!/usr/bin/env python3
"""Reads cassettes of format 1, as docs/cassette-format.md specifies them.

Written from that text alone, with the standard library alone, to show that it
is enough. Prints each file's interactions and digest, or with --json everything
that was read; names each file that breaks the format on stderr and exits 1.
"""
import base64, hashlib, json, re, sys
from urllib.parse import parse_qs

META = ["format", "provenance", "tool", "created", "redaction", "matching", "declared"]
ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
UNIT = {"h": 3600e9, "m": 60e9, "s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1}


class Broken(Exception):
    pass


def need(ok, what):
    if not ok:
        raise Broken(what)


def quoted(text):
    """§4.1: the bytes of a quoted string, and what follows it."""
    if text.startswith('!!binary "'):
        raw, _, rest = text[10:].partition('"')
        return base64.b64decode(raw, validate=True), rest
    m = re.match(r'"((?:[^"\\\n]|\\.)*)"', text)
    need(m, f"no quoted string: {text[:40]!r}")

    def plain(e):
        kind = e.group(1)
        return ESCAPES[kind] if kind in ESCAPES else chr(int(kind[1:], 16))

    text_of = re.sub(r'\\(["\\nrt]|x[0-9a-f]{2}|u[0-9a-f]{4})', plain, m.group(1))
    return text_of.encode(), text[m.end():]


class Lines:
    """The lines of an item, each without its LF, read in order."""

    def __init__(self, item):
        self.left = item.decode().split("\n")[:-1][::-1]

    def next(self, start=""):
        need(self.left and self.left[-1].startswith(start), f"expected {start!r}")
        return self.left.pop()[len(start):]

    def has(self, start):
        return bool(self.left) and self.left[-1].startswith(start)

    def quoted(self, start):
        value, rest = quoted(self.next(start))
        need(rest == "", f"after a quoted string: {rest!r}")
        return value

    def body(self):  # §4.2
        style = self.next("        body: ")
        if style not in ("|-", "|", "|+"):
            value, rest = quoted(style)
            need(rest == "", "after a body")
            return value
        lines = []
        while self.left and (self.left[-1] == "" or self.left[-1].startswith(" " * 12)):
            lines.append(self.left.pop()[12:])
        text = "\n".join(lines) + ("" if style == "|-" else "\n")
        ends = len(text) - len(text.rstrip("\n"))
        need({"|-": ends == 0, "|": ends == 1, "|+": ends > 1}[style], "block style")
        return text.encode()

    def headers(self):  # §3.1
        if self.has("        headers: {}"):
            need(self.next() == "        headers: {}", "headers")
            return {}
        need(self.next("        headers:") == "", "headers")
        out = {}
        while self.has(" " * 12):
            if self.has(" " * 12 + "? "):
                name, after = self.quoted(" " * 12 + "? "), self.next(" " * 12 + ":")
            else:
                name, rest = quoted(self.next(" " * 12))
                need(rest[:1] == ":", "no colon after a name")
                after = rest[1:]
            need(not out or name > list(out)[-1], "names out of order")
            values = out[name] = []
            need(after in ("", " []"), "after a name")
            while after == "" and self.has(" " * 16 + "- "):
                values.append(self.quoted(" " * 16 + "- "))
        return out


def timeline(value, size):  # §5
    need(value.startswith("v1 "), "timeline version")
    numbers, n, shift = [], 0, 0
    for byte in base64.b64decode(value[3:], validate=True):
        n, shift = n | (byte & 0x7F) << shift, shift + 7
        if byte < 0x80:
            numbers.append(n)
            n, shift = 0, 0
    chunks, at = [], 0
    for step, length in zip(numbers[::2], numbers[1::2]):
        at += step
        chunks.append((at, length))
    need(shift == 0 and len(numbers) % 2 == 0 and sum(c[1] for c in chunks) == size, "timeline")
    return chunks


def duration(text):  # §3, in nanoseconds
    parts = re.findall(r"([0-9.]+)(ms|µs|ns|h|m|s)", text)
    need(text == "0s" or "".join(a + b for a, b in parts) == text.lstrip("-"), "duration")
    return round(sum(float(a) * UNIT[b] for a, b in parts))


def interaction(item):
    lines = Lines(item)
    need(lines.next() == "    - request:", "item")
    request = {"body": lines.body()}
    need(lines.next() == "        form: {}", "form")
    headers = lines.headers()
    request["url"], request["method"] = lines.quoted("        url: "), lines.quoted("        method: ")
    need(lines.next() == "      response:", "response")
    response = {"body": lines.body(), "headers": lines.headers()}
    lines.quoted("        status: ")
    response["code"] = int(lines.next("        code: "))
    out = {"request": request, "response": response, "duration_ns": duration(lines.next("        duration: "))}
    need(not lines.left, "more than an item")
    reserved = {k[11:].lower().decode(): v[0].decode() for k, v in headers.items() if k.lower().startswith(b"x-cassette-")}
    request["headers"] = {k: v for k, v in headers.items() if not k.lower().startswith(b"x-cassette-")}
    if "timeline" in reserved:
        reserved["timeline"] = timeline(reserved["timeline"], len(response["body"]))
    if "trailer" in reserved:
        reserved["trailer"] = parse_qs(reserved["trailer"], keep_blank_values=True, strict_parsing=True)
    return out | reserved


def head(data):  # §2
    end = data.index(b"\ninteractions:\n") + len(b"\ninteractions:\n")
    lines = data[:end].decode().split("\n")
    need(lines[:2] == ["---", "meta:"] and lines[-3:] == ["version: 1", "interactions:", ""], "head")
    meta = {}
    for line in lines[2:-3]:
        name, _, value = line.partition(": ")
        need(name[:4] == "    " and name[4:] in META, f"unknown key {name}")
        meta[name[4:]] = quoted(value)[0].decode()
    need(list(meta) == [k for k in META if k in meta] and meta.get("format") == "1", "meta")
    return meta, end


def read(data):
    meta, at = head(data)
    seal, items = hashlib.sha256(data[:at]).digest(), []
    while not data.startswith(b"# closed ", at):  # §7
        mark = data.index(b"\n      # sealed ", at) + 1
        item = data[at:mark]
        seal = hashlib.sha256(seal + item).digest()
        line = f"      # sealed {len(items)} {len(item)} {seal.hex()}\n".encode()
        need(data.startswith(line, mark), f"the seal of interaction {len(items)}")
        items.append(interaction(item))
        at = mark + len(line)
    lack = re.fullmatch(rb"# closed (?:0|[1-9][0-9]*)(?: lost ([1-9][0-9]*))?( recovered)? [0-9a-f]{64}\n", data[at:])
    need(lack, "the closing line")
    lost, recovered = int(lack[1] or 0), bool(lack[2])
    closing = f"# closed {len(items)} {f'lost {lost} ' if lost else ''}{'recovered ' if recovered else ''}".encode()
    digest = hashlib.sha256(seal + closing).hexdigest()
    need(data[at:] == closing + digest.encode() + b"\n", "the closing line")
    need(items, "no interactions")
    return {"meta": meta, "digest": "sealed:" + digest, "lost": lost, "recovered": recovered, "interactions": items}


def showable(v):
    """JSON has no bytes: each becomes the character of its number."""
    if isinstance(v, dict):
        return {showable(k): showable(x) for k, x in v.items()}
    if isinstance(v, (list, tuple)):
        return [showable(x) for x in v]
    return v.decode("latin-1") if isinstance(v, bytes) else v


def main(args):
    code = 0
    for path in (a for a in args if a != "--json"):
        try:
            with open(path, "rb") as f:
                cassette = read(f.read())
        except (Broken, ValueError, OSError) as e:
            print(f"{path}: {e}", file=sys.stderr)
            code = 1
            continue
        if "--json" in args:
            print(json.dumps({"path": path} | showable(cassette)))
        else:
            lacks = f", {cassette['lost']} lost" * bool(cassette["lost"]) + ", recovered" * cassette["recovered"]
            print(f"{path}: {len(cassette['interactions'])} interactions{lacks}, {cassette['digest']}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
