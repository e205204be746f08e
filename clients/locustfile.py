"""Locust entry point: `locust -f clients/locustfile.py --host ws://127.0.0.1:8099`."""

from clients.users import VoiceCaller

__all__ = ["VoiceCaller"]
