"""A producer in a process of its own: `producer.py FOLDER NAME PORT RUN COUNT`; COUNT 0 goes on until killed.

It records one small event a millisecond, or COUNT as fast as it can, and ends in order: with COUNT 0 at the end of its
standard input, or when it is refused.
"""

import os
import sys
import threading
import time
from pathlib import Path

from rig.bus.address import Address
from rig.bus.publisher import Publisher
from rig.bus.wire import Place
from rig.events.journal import Journal
from rig.events.types import Surprise

ROLE = "caller"


def wait_for_end_of_input(ended: threading.Event) -> None:
    os.read(0, 1)
    ended.set()


def main() -> None:
    folder, name, port, run, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
    refusals: list[str] = []
    asked_to_end = threading.Event()
    threading.Thread(target=wait_for_end_of_input, args=(asked_to_end,), daemon=True).start()
    journal = Journal(folder, name, ROLE)
    publisher = Publisher(journal.path, Place(run, ROLE, name), Address("127.0.0.1", port), refusals.append)
    publisher.start()
    number = 0
    while not refusals and (number < count if count else not asked_to_end.is_set()):
        journal.record(Surprise, call="c", connection=0, what=f"{number} " + "x" * 100)
        number += 1
        if count == 0:
            time.sleep(0.001)
    journal.close()
    delivered = publisher.close(limit_s=20.0 if count else 3.0)
    print(refusals[0] if refusals else ("delivered" if delivered else "not delivered"))


if __name__ == "__main__":
    main()
