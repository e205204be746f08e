"""The event bus: journal lines over MQTT, so that producers on other hosts and live views work. See docs/bus.md."""
