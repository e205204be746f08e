"""The golden server: vLLM-Omni's duplex protocol with exactly known audio, its own record of the truth, and faults.

Pure parts: `commands`, `vad`, `voice`, `replay`, `session`, `admission`. With a clock and sockets: `live`, `server`.
"""
