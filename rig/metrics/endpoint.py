"""GET /metrics while a run goes on. Its port is taken before anything is started."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import Metric as Family

from rig.config.metrics import Metrics
from rig.errors import UsageError
from rig.metrics.board import Collect, Source


class Endpoint:
    """What is served; nothing until somebody gives it a source."""

    def __init__(self, host: str, port: int) -> None:
        """Listen. Raises UsageError when the address cannot be had."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(Source(self._collect))
        self._source: Collect | None = None
        try:
            self._server, self._thread = start_http_server(port, host, registry)
        except (OSError, UnicodeError) as error:
            # A name that can be no host fails before anybody is asked for it.
            why = error.strerror if isinstance(error, OSError) else "no name of a host"
            problem = f"cannot serve /metrics on {host} port {port}: {why}"
            raise UsageError(f"{problem}; give another with --metrics-port") from error
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._server.server_port}/metrics"

    def show(self, source: Collect) -> None:
        """Ask this from now on; it is asked in threads of the server."""
        self._source = source

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _collect(self) -> Iterable[Family]:
        return [] if self._source is None else self._source()


@contextmanager
def serving(settings: Metrics) -> Iterator[Endpoint | None]:
    """The endpoint of a run, None where it is off. Raises UsageError when the address cannot be had."""
    if not settings.enabled:
        yield None
        return
    endpoint = Endpoint(settings.host, settings.port)
    try:
        yield endpoint
    finally:
        endpoint.close()
