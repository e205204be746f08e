"""One reproduction: the calls, what they must lead to without a patch, and what they must lead to with one."""

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rig.engine.patches.registry import patched
from rig.engine.repro.bench import Bench, Setup

Play = Callable[[Bench], None]


@dataclass(frozen=True)
class Raised:
    """An exception of the engine: its type, its text, and the innermost function it came out of."""

    kind: str
    text: str
    function: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text} in {self.function}" if self.text else f"{self.kind} in {self.function}"


@dataclass(frozen=True)
class Outcome:
    """How one play ended: with an exception, or with what was wrong once everybody had had time to finish."""

    raised: Raised | None = None
    wrongs: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.raised is not None:
            return str(self.raised)
        return "no exception; " + ("; ".join(self.wrongs) or "nothing left behind, every client told once")


@dataclass(frozen=True)
class Expected:
    """What one play must end with. `wrong` is a part of a line that must be among the wrongs; None: none may be."""

    raised: Raised | None = None
    wrong: str | None = None

    def met_by(self, outcome: Outcome) -> bool:
        """Whether a play ended so."""
        if self.raised is not None or outcome.raised is not None:
            return self.raised == outcome.raised
        if self.wrong is None:
            return not outcome.wrongs
        return any(self.wrong in line for line in outcome.wrongs)

    def __str__(self) -> str:
        if self.raised is not None:
            return str(self.raised)
        return "no exception, books right" if self.wrong is None else f"no exception, but: {self.wrong}"


RIGHT = Expected()

Patches = tuple[str, ...]
UNPATCHED: Patches = ()


@dataclass(frozen=True)
class Case:
    """A scenario on one scheduler: what must come out for each choice of patches."""

    setup: Setup
    expected: Mapping[Patches, Expected]


@dataclass(frozen=True)
class Scenario:
    """A sequence of calls. `public` tells whether every one of them is a call that the released engine makes itself."""

    name: str
    summary: str
    play: Play
    cases: tuple[Case, ...]
    public: bool = False


def play(scenario: Scenario, setup: Setup, patches: Patches, say: Callable[[str], None]) -> Outcome:
    """Carry out the calls on a new scheduler with these patches, then let everybody finish."""
    with patched(patches):
        bench = Bench(setup, say)
        try:
            scenario.play(bench)
            bench.quiet()
            return Outcome(wrongs=tuple(bench.wrongs()))
        except Exception as error:  # noqa: BLE001  what the engine raises is what is looked for
            return Outcome(raised=raised(error))
        finally:
            bench.close()


def raised(error: Exception) -> Raised:
    """The exception as a reproduction states it."""
    frames = traceback.extract_tb(error.__traceback__)
    return Raised(type(error).__name__, str(error), frames[-1].name)
