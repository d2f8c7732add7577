"""Sessions: proxies that record what their clients send, so that it can be judged."""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import typing

from .programs import ConformError, start_program

# Lines of the recorder that say which of its flags would help.
_ASIDE = re.compile(r"--mode refresh$|^recorder:   (to record|only --match)")


@dataclasses.dataclass(frozen=True)
class Finding:
    """A breach that was found in what a client sent."""

    check: str  # conform explain SIG-005 explains SIG-005/fields
    message: str
    fix: str
    place: str = ""  # the cassette or the case
    exchange: typing.Optional[int] = None  # in it, from 0
    path: str = ""  # the member of the request

    def __str__(self):
        exchange = "" if self.exchange is None else f"exchange {self.exchange}"
        where = ", ".join(filter(None, [self.place, exchange, self.path]))
        return f"{self.check}: {self.message}\n  at: {where}\n  fix: {self.fix}"


@dataclasses.dataclass
class Verdict:
    """What was found. It is true if nothing failed."""

    ok: bool = True
    findings: typing.List[Finding] = dataclasses.field(default_factory=list)
    failures: typing.List[str] = dataclasses.field(default_factory=list)  # what the recorder said
    report: typing.Optional[dict] = None  # by the schema that it names

    def __bool__(self):
        return self.ok

    def __str__(self):
        # A request that was not recorded is most often the finding itself.
        return "\n".join(map(str, self.findings or self.failures))


class Session:
    """A proxy that records what its clients send. base_url has the addresses for SDKs."""

    def __init__(self, name, args=(), ingress="mitm,base-url"):
        self.name, self.args, self.ingress = name, list(args), ingress
        self.variables, self.remove, self.base_url, self.url = {}, [], {}, ""
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="conform-"))
        self._programs, self._cassette, self._keep_as = [], self._folder / "requests.yaml", None

    def _start(self, command, args):
        args = [command, "-q", "--json", "--stop-on-eof", "--listen", "127.0.0.1:0", *args]
        child = start_program("recorder", args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, encoding="utf-8")
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(line.rstrip("\n") for line in child.stderr), daemon=True)
        reader.start()
        self._programs.insert(0, (child, reader, lines))  # the one that clients talk to ends first
        ready = child.stdout.readline()
        if not ready:
            child.wait()
            reader.join()
            raise ConformError("\n".join(lines) or f"recorder: ended with {child.returncode}")
        return json.loads(ready)

    def _record(self, args):
        ready = self._start("record", ["--cassette", str(self._cassette), "--ingress", self.ingress, *args, *self.args])
        self.variables, self.remove, self.url = ready["variables"], ready["remove"], ready["url"]
        self.base_url = _base_urls(self.variables)

    def _record_source(self, ready):
        """Put a recording proxy before a source that is no provider, so that what it is asked is judged."""
        sources = _base_urls(ready["variables"])
        sources["openai"] = re.sub("/v1$", "", sources["openai"])
        self._record(["--on-secret", "mask", *_upstreams(sources)])
        for owner in ("ANTHROPIC", "OPENAI", "GEMINI", "GOOGLE"):
            self.variables[owner + "_API_KEY"] = "made-up"

    @property
    def is_open(self):
        """Whether the session has not ended."""
        return bool(self._programs)

    @property
    def env(self):
        """The environment for a program that is to use this session."""
        env = {**os.environ, **self.variables}
        return {name: value for name, value in env.items() if name not in self.remove}

    def stop(self, keep=True):
        """End the session and judge what was sent. keep=False drops what was recorded."""
        try:
            failures, verdict = self._end_programs(), Verdict()
            if self._cassette.exists():
                verdict = judge(self._cassette)
                verdict.findings = [dataclasses.replace(finding, place=self.name) for finding in verdict.findings]
                if keep and self._keep_as:
                    self._keep_as.parent.mkdir(parents=True, exist_ok=True)
                    # The folder may be on another disk.
                    beside = self._keep_as.with_name(f"{self._keep_as.name}.{os.getpid()}.tmp")
                    shutil.copyfile(self._cassette, beside)
                    os.replace(beside, self._keep_as)
            if any("nothing was asked for" in line for line in failures):
                failures = [f"{self.name}: nothing was sent; a client must use the variables of the session,"
                            " such as ANTHROPIC_BASE_URL"]
            verdict.failures, verdict.ok = failures, verdict.ok and not failures
            return verdict
        finally:
            self.close()

    def _end_programs(self):
        failures = []
        for child, reader, lines in self._programs:
            child.stdin.close()
            failed = child.wait()
            reader.join()
            child.stdout.close()
            child.stderr.close()
            if failed:
                failures += [line for line in lines if not _ASIDE.search(line)]
        self._programs = []
        return failures

    def close(self):
        """End the session without a verdict and remove its files."""
        self._end_programs()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _base_urls(variables):
    names = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL", "gemini": "GEMINI_BASE_URL"}
    return {provider: variables[name] for provider, name in names.items() if name in variables}


def _upstreams(upstream):
    return [arg for provider, url in (upstream or {}).items() for arg in ("--upstream", f"{provider}={url}")]


def _opened(session, open_it):
    try:
        open_it()
    except BaseException:
        session.close()
        raise
    return session


def record(cassette, mode="once", upstream=None, **options):
    """Record the requests that reach the session into a cassette.

    once refuses a cassette that exists, new_episodes adds to it, all replaces it.
    """
    cassette = pathlib.Path(cassette)
    if mode == "once" and cassette.exists():
        raise ConformError(f"{cassette}: exists; replay it, or record it again with mode all")
    session = Session(str(cassette), **options)
    session._keep_as = cassette

    def open_it():
        known = mode == "new_episodes" and cassette.exists()
        if known:
            shutil.copyfile(cassette, session._cassette)
        session._record([*(["--missing"] if known else []), *_upstreams(upstream)])

    return _opened(session, open_it)


def replay(cassette, match=None, **options):
    """Answer requests from a cassette; nothing is sent to a provider."""
    session = Session(str(cassette), **options)
    args = ["--cassette", str(cassette), "--ingress", "base-url", "--allow-unused"]
    args += ["--match", match] if match else []
    return _opened(session, lambda: session._record_source(session._start("replay", args)))


def simulate(scenario=None, seed=None, level=None, **options):
    """Answer requests as the providers do, as strictly, without a key."""
    session = Session("simulator", **options)
    flags = {"--scenario": scenario, "--seed": seed, "--level": level}
    args = [arg for flag, value in flags.items() if value is not None for arg in (flag, str(value))]
    return _opened(session, lambda: session._record_source(session._start("simulate", args)))


def judge(*paths, args=()):
    """Judge recordings: cassettes, HAR files and those of other tools, or folders of them."""
    return _run_conform(["check", "--json", *args, "--", *map(str, paths)])


def run(command, args=()):
    """Run an agent through the cases and judge what it sent. The command holds {prompt}."""
    return _run_conform(["run", "--json", *args, "--", *command])


def _run_conform(args):
    child = start_program("conform", args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, encoding="utf-8")
    out, err = child.communicate()
    if child.returncode not in (0, 1, 3):
        raise ConformError(err.strip() or f"conform: ended with {child.returncode}")
    report = json.loads(out)
    findings = [Finding(found["check"], found["message"], found["fix"], part.get("case") or part.get("path", ""),
                        found.get("exchange"), found.get("path", ""))
                for part in report.get("recordings") or report.get("results") or []
                for found in part.get("findings") or []
                if found["verdict"] == "fail" and not found.get("cause")]
    return Verdict(ok=child.returncode != 1, findings=findings, report=report)
