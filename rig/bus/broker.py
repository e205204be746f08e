"""The embedded broker as a process of its own: `python -m rig.bus.broker PORT`, on 127.0.0.1.

The broker (rumqttd in the wheel `iotcore`) has no way to be stopped within a process, so it gets one that can be killed
and started again. It ends with its parent: at the end of its standard input, or by signal when the parent dies.
"""

import ctypes
import logging
import os
import signal
import sys
import threading

from iotcore import IotCoreBroker

HOST = "127.0.0.1"
PR_SET_PDEATHSIG = 1
MAX_PAYLOAD_BYTES = 1 << 20
MAX_CONNECTIONS = 1_000


def main() -> None:
    """Serve until killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # rumqttd logs every packet as an error.
    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("rumqttd").setLevel(logging.CRITICAL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    broker = IotCoreBroker(
        listen=HOST, port=int(sys.argv[1]), max_payload_size=MAX_PAYLOAD_BYTES, max_connections=MAX_CONNECTIONS
    )
    broker.run_forever()


def _end_with_parent() -> None:
    # Unbuffered, and not through sys.stdin: nothing may hold a lock when the process goes.
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
