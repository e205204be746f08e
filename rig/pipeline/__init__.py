"""The server under test: start it, know when it is ready, keep its logs, stop it, leave nothing behind."""
