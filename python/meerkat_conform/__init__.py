"""Records, replays and simulates a provider for the code of a test, and judges what that code sent.

The work is done by the programs recorder and conform of this package, which end with this process.
"""

from .session import ConformError, Finding, Session, Verdict, judge, record, replay, run, simulate

__all__ = ["ConformError", "Finding", "Session", "Verdict", "judge", "record", "replay", "run", "simulate"]
