"""Publishing one journal while it is being written, without being in its writer's way.

The journal file is the spool. The publisher follows it by offset, sends one batch at a time with QoS 1 and moves on
when the broker has acknowledged it; so its memory is one batch, however long the broker is away. It runs in a thread,
which under Locust's gevent is a greenlet. What the collector misses (a broker died with batches that it had
acknowledged) it asks for again, and the publisher goes back in the file.
"""

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from rig.bus import wire
from rig.bus.address import Address
from rig.clock import NS_PER_S, from_s, monotonic_ns
from rig.errors import BusError
from rig.events.bus import ProducerState

POLL_S = 0.1
CLOSE_LIMIT_S = 3.0
RECONNECT_S = 1
CONNECT_LIMIT_S = 5.0
KEEPALIVE_S = 10
HEADER_LIMIT_BYTES = 64 << 10


class Publisher:
    """Follows the journal `spool` of `place`. Without `confirmed` the broker's word is enough to be done.

    Raises BusError when the journal has no header, UsageError for an unusable password or certificate file.
    """

    def __init__(
        self,
        spool: Path,
        place: wire.Place,
        address: Address,
        on_refused: Callable[[str], None] | None = None,
        *,
        confirmed: bool = True,
    ) -> None:
        self._place = place
        self._confirmed = confirmed
        self._address = address
        self._on_refused = on_refused
        self._fd = os.open(spool, os.O_RDONLY | os.O_CLOEXEC)
        header, newline, _ = os.pread(self._fd, HEADER_LIMIT_BYTES, 0).partition(b"\n")
        if not newline:
            raise BusError(f"{spool} does not begin with a journal header")
        self.spool_id = wire.spool_id(header)
        self._changed = threading.Condition()
        self._connected = False
        self._acknowledged: set[int] = set()
        self._offset = 0
        self._seek: int | None = None
        self._ending = False
        self._closed_at: int | None = None
        self._delivered = False
        self._stopped = False
        self._left = False
        self._client = self._make_client(address)
        self._pump = threading.Thread(target=self._run, name=f"bus {place.producer}", daemon=True)

    def start(self) -> None:
        """Begin; a broker that is away is tried again and again."""
        self._client.connect_async(self._address.host, self._address.port, KEEPALIVE_S)
        self._client.loop_start()
        self._pump.start()

    def close(self, limit_s: float = CLOSE_LIMIT_S) -> bool:
        """Send the rest, say that the journal is closed, and end. Whether the collector confirmed to have it all.

        The journal must have been closed. Takes at most about `limit_s`; harmless twice.
        """
        deadline_ns = monotonic_ns() + from_s(limit_s)
        with self._changed:
            self._ending = True
            self._changed.notify_all()
            while not self._delivered and not self._stopped and monotonic_ns() < deadline_ns:
                self._changed.wait(max(0.0, (deadline_ns - monotonic_ns()) / NS_PER_S))
            first, self._left = not self._left, True
            self._stopped = True
            self._changed.notify_all()
        if first:
            self._leave()
        return self._delivered

    def _leave(self) -> None:
        self._pump.join()
        self._client.disconnect()
        self._client.loop_stop()
        os.close(self._fd)

    def _make_client(self, address: Address) -> mqtt.Client:
        # The id holds the spool's: a second producer of the same name is told so, and does not push the first one out.
        client = mqtt.Client(CallbackAPIVersion.VERSION2, f"{self._place.producer}-{self.spool_id}")
        client.connect_timeout = CONNECT_LIMIT_S
        client.reconnect_delay_set(RECONNECT_S, RECONNECT_S)
        if address.user is not None:
            client.username_pw_set(address.user, address.password())
        context = address.tls_context()
        if context is not None:
            client.tls_set_context(context)
            client.tls_insecure_set(address.insecure)
        client.will_set(self._place.topic("status"), self._status(ProducerState.LOST), qos=1, retain=True)
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_publish = self._on_publish
        client.on_message = self._on_message
        return client

    def _status(self, state: ProducerState, size: int | None = None) -> bytes:
        return wire.encode(wire.Status(state, self.spool_id, socket.gethostname(), os.getpid(), size))

    # ---- following the file

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._stopped:
                    return
                if not self._connected:
                    self._changed.wait(POLL_S)
                    continue
                if self._seek is not None:
                    self._offset, self._seek, self._closed_at = self._seek, None, None
            self._send_next()

    def _send_next(self) -> None:
        # `_ending` is read first: what was written before it was set must be in what is read now.
        ending = self._ending
        data = self._read(ending)
        if data:
            batch = wire.Batch(self.spool_id, self._offset, data)
            if self._publish("events", wire.encode_batch(batch)):
                self._offset += len(data)
        elif ending and self._closed_at != self._offset:
            # Set first: the collector may answer before the broker's acknowledgement has been seen.
            self._closed_at = self._offset
            told = self._publish("status", self._status(ProducerState.CLOSED, self._offset), retain=True)
            if told and not self._confirmed:
                with self._changed:
                    self._delivered = True
                    self._changed.notify_all()
        else:
            with self._changed:
                if not self._stopped and self._seek is None and self._ending == ending:
                    self._changed.wait(POLL_S)

    def _read(self, ending: bool) -> bytes:
        data = os.pread(self._fd, wire.BATCH_BYTES, self._offset)
        if len(data) == wire.BATCH_BYTES or ending:
            return data[: data.rfind(b"\n") + 1] or data
        # A line that is still being written stays for the next time.
        return data[: data.rfind(b"\n") + 1]

    def _publish(self, kind: wire.Kind, payload: bytes, retain: bool = False) -> bool:
        """Publish and wait for the broker. Without a connection the client keeps the message and sends it later."""
        mid = self._client.publish(self._place.topic(kind), payload, qos=1, retain=retain).mid
        with self._changed:
            while mid not in self._acknowledged:
                if self._stopped:
                    return False
                self._changed.wait(POLL_S)
            self._acknowledged.discard(mid)
        return True

    # ---- what the client tells, in its own thread

    def _on_connect(
        self, client: mqtt.Client, _data: Any, _flags: mqtt.ConnectFlags, code: ReasonCode, _more: Properties | None
    ) -> None:
        if code.is_failure:
            return
        client.subscribe(self._place.topic("control"), qos=1)
        client.publish(self._place.topic("status"), self._status(ProducerState.ONLINE), qos=1, retain=True)
        with self._changed:
            self._connected = True
            self._closed_at = None
            self._changed.notify_all()

    def _on_disconnect(self, *_: Any) -> None:
        with self._changed:
            self._connected = False

    def _on_publish(self, _client: mqtt.Client, _data: Any, mid: int, *_: Any) -> None:
        with self._changed:
            self._acknowledged.add(mid)
            self._changed.notify_all()

    def _on_message(self, _client: mqtt.Client, _data: Any, message: mqtt.MQTTMessage) -> None:
        try:
            control = wire.decode_control(bytes(message.payload))
        except BusError:
            return
        if control.spool != self.spool_id:
            return
        with self._changed:
            if control.do == "resend":
                self._seek = control.offset
            elif control.do == "done":
                self._delivered = self._ending and control.offset == self._closed_at
            else:
                self._stopped = True
            self._changed.notify_all()
        if control.do == "refuse" and self._on_refused is not None:
            self._on_refused(control.why)
