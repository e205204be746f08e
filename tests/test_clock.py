"""Times are integer nanoseconds, and converting them loses nothing that matters."""

import subprocess
import sys

from rig import clock


def test_seconds_become_the_nearest_integer_nanosecond() -> None:
    # 0.1 is not exact in binary; 0.1 s is 100_000_000 ns all the same.
    assert clock.from_s(0.1) == 100_000_000
    assert clock.from_s(0) == 0
    assert clock.from_s(7 * 86_400) == 604_800_000_000_000
    assert isinstance(clock.from_s(1), int)


def test_nanoseconds_become_seconds_and_milliseconds() -> None:
    assert clock.to_s(1_500_000_000) == 1.5
    assert clock.to_ms(1_500_000) == 1.5


def test_the_monotonic_clock_never_goes_back() -> None:
    stamps = [clock.monotonic_ns() for _ in range(1_000)]
    assert stamps == sorted(stamps)


def test_processes_of_one_host_share_the_clock_and_the_boot() -> None:
    code = "from rig import clock; print(clock.monotonic_ns(), clock.boot_id())"
    before_ns = clock.monotonic_ns()
    stamp_ns, boot = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert before_ns < int(stamp_ns) < clock.monotonic_ns()
    assert boot == clock.boot_id()


def test_a_label_is_utc_to_the_second() -> None:
    # 2026-01-31T12:00:00Z is 1769860800 s after the epoch.
    assert clock.utc_label(1_769_860_800_999_999_999) == "2026-01-31T12:00:00Z"
