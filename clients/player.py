"""The loudspeaker of a caller, simulated: how much of a reply has been played at a given moment. No clock, no I/O."""

from clients.wire import OUTPUT_RATE_HZ
from rig.clock import NS_PER_S


class Player:
    """Plays one reply at 24 kHz as it arrives; when it runs dry it waits, and goes on with the next chunk."""

    def __init__(self) -> None:
        self._samples = 0
        self.silent_from_ns = 0

    def feed(self, samples: int, t_ns: int) -> None:
        """A chunk arrived."""
        self._samples += samples
        self.silent_from_ns = max(self.silent_from_ns, t_ns) + samples * NS_PER_S // OUTPUT_RATE_HZ

    def stop(self, t_ns: int) -> None:
        """The reply was cut: what has not been played is thrown away."""
        self._samples -= self._waiting_samples(t_ns)
        self.silent_from_ns = min(self.silent_from_ns, t_ns)

    def played_ms(self, t_ns: int) -> int:
        """Milliseconds of the reply played until `t_ns`."""
        return (self._samples - self._waiting_samples(t_ns)) * 1_000 // OUTPUT_RATE_HZ

    def _waiting_samples(self, t_ns: int) -> int:
        left_ns = max(0, self.silent_from_ns - t_ns)
        return left_ns * OUTPUT_RATE_HZ // NS_PER_S
