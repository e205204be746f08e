"""Tests of rig/compare."""
