"""Fixes for faults of the engines, one file each, put into vLLM's processes when they start.

A pipeline names its patches; `rig.engine.patches.plugin` is loaded by vLLM in every process and applies them there.
Nothing is changed where none is named.
"""
