"""Reproduction rig for multi-stage omni realtime serving on vLLM-Omni."""
