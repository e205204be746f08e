"""Recorded callers, played to any server of the protocol, and what they hear made comparable."""
