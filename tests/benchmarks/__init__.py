"""Tests of what the benchmarks compute; what they measure depends on the machine and is not tested."""
