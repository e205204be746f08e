"""Published faults of the engines, one file each, put back into vLLM's processes when they start.

With them the rig is held against the real engines: what each fault looks like from outside must be seen and named. A
pipeline or `rig run --bug` names them; nothing is broken where none is named. The machinery is that of the patches.
"""
