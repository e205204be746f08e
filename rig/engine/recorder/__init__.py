"""The flight recorder: what an engine core did last, in a file that outlives it."""
