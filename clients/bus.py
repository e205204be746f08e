"""The callers' end of the event bus: one publisher for each journal of a Locust process.

Under gevent the publisher's threads are greenlets, and its socket waits in the hub like every other.
"""

from argparse import Namespace
from collections.abc import Callable

from rig.bus.address import Address, of_environment
from rig.bus.publisher import Publisher
from rig.bus.wire import Place
from rig.errors import UsageError
from rig.events.journal import Journal

OWN_OPTIONS = ("rig_bus_url", "rig_bus_run", "rig_bus_user", "rig_bus_password_env", "rig_bus_ca_file",
               "rig_bus_insecure", "rig_journal_dir")  # fmt: skip


def own_options(options: Namespace | None) -> dict[str, str]:
    """What this process was told itself. A worker gets its master's options later; on another host its own count."""
    values = {} if options is None else vars(options)
    return {name: values[name] for name in OWN_OPTIONS if values.get(name)}


def settings(options: Namespace, own: dict[str, str]) -> dict[str, str]:
    """The options of the bus that count. With an own URL nothing of the master's way in is used."""
    whole = own_options(options)
    if "rig_bus_url" in own:
        whole = {name: whole[name] for name in ("rig_bus_run", "rig_journal_dir") if name in whole}
    return {**whole, **own}


def address_of(chosen: dict[str, str]) -> Address | None:
    """The broker; None without one. Raises UsageError."""
    address = of_environment({name.upper(): value for name, value in chosen.items()})
    if address is not None and "rig_bus_run" not in chosen:
        raise UsageError("--rig-bus-url needs --rig-bus-run: the name of the results folder of the run")
    return address


def publish(
    journal: Journal, producer: str, role: str, chosen: dict[str, str], on_refused: Callable[[str], None]
) -> Publisher | None:
    """Begin to publish a journal where a bus is named. Raises UsageError."""
    address = address_of(chosen)
    if address is None:
        return None
    publisher = Publisher(journal.path, Place(chosen["rig_bus_run"], role, producer), address, on_refused)
    publisher.start()
    return publisher
