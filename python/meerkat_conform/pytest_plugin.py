"""A pytest plug-in: def test_loop(cassette): …"""

import os
import pathlib
import re

import pytest

import meerkat_conform
from meerkat_conform import ConformError

_MODES = ("none", "once", "new_episodes", "all", "rewrite")
_session = pytest.StashKey()


def pytest_addoption(parser):
    """Add the options, unless pytest-recording has added the first, which says the same."""
    group = parser.getgroup("conform")
    try:
        group.addoption("--record-mode", choices=_MODES, default=None,
                        help="what the fixture cassette does: none replays (default in CI), once records where there is"
                             " no cassette (default elsewhere), new_episodes adds to it, all and rewrite replace it")
    except ValueError:
        pass


def pytest_configure(config):
    """Declare the mark."""
    config.addinivalue_line("markers", "conform(**options): options of the session, for example match='anchored'")


def _mode(config):
    in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    mode = config.getoption("--record-mode") or ("none" if in_ci else "once")
    return "all" if mode == "rewrite" else mode


def _open_cassette(request, options):
    name = re.sub(r"[^\w.-]+", "-", request.node.name)
    default = pathlib.Path(os.path.relpath(request.path.parent)) / "cassettes" / request.path.stem / f"{name}.yaml"
    cassette, mode = pathlib.Path(options.pop("cassette", default)), _mode(request.config)
    if mode == "none" and not cassette.exists():
        raise ConformError(f"{cassette}: does not exist, and --record-mode=none records nothing;"
                           " run the test with --record-mode=once and a key")
    if mode == "none" or (mode == "once" and cassette.exists()):
        options.pop("upstream", None)
        return meerkat_conform.replay(cassette, **options)
    options.pop("match", None)
    return meerkat_conform.record(cassette, mode=mode, **options)


def _serve(request, monkeypatch, open_it):
    mark = request.node.get_closest_marker("conform")
    try:
        session = open_it(dict(mark.kwargs if mark else {}))
    except ConformError as error:
        pytest.fail(str(error), pytrace=False)
    request.node.stash[_session] = session
    for name in session.remove:
        monkeypatch.delenv(name, raising=False)
    for name, value in session.variables.items():
        monkeypatch.setenv(name, value)
    yield session
    session.close()  # of a test that was not judged


@pytest.fixture
def cassette(request, monkeypatch):
    """A session that replays the cassette of the test, or records it, as --record-mode says."""
    yield from _serve(request, monkeypatch, lambda options: _open_cassette(request, options))


@pytest.fixture
def simulator(request, monkeypatch):
    """A session that the simulated providers answer."""
    yield from _serve(request, monkeypatch, lambda options: meerkat_conform.simulate(**options))


class Conform:
    """Judges recordings and agents, and fails the test with what was found."""

    def check(self, *paths, args=()):
        """Judge recordings."""
        return self._pass_or_fail(meerkat_conform.judge(*paths, args=args))

    def run(self, command, args=()):
        """Run an agent through the cases; the command holds {prompt}."""
        return self._pass_or_fail(meerkat_conform.run(command, args=args))

    def _pass_or_fail(self, verdict):
        if not verdict:
            pytest.fail(str(verdict), pytrace=False)
        return verdict


@pytest.fixture
def conform():
    """The judge: conform.check("loop.yaml"), conform.run(["my-agent", "{prompt}"])."""
    return Conform()


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item):
    """Judge what a test has sent that passed so far."""
    session = item.stash.get(_session, None)
    if session and not (verdict := session.stop()):
        missed = "\nto record what is missing: --record-mode=new_episodes" if "no answer to" in str(verdict) else ""
        pytest.fail(str(verdict) + missed, pytrace=False)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Judge also what a test has sent that failed by itself, and keep no recording of it."""
    outcome = yield
    report, session = outcome.get_result(), item.stash.get(_session, None)
    if session and report.when == "call" and report.failed and session.is_open:
        verdict = session.stop(keep=False)
        if verdict.findings:
            report.sections.append(("conform", str(verdict)))
