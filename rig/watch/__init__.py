"""Watchers of the running server, one sampler per file; each writes what it sees into the run's journal."""
