"""Strict configuration: every mistake names file, line, key and the nearest right name."""
