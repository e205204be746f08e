"""Everything that runs inside vLLM's processes, loaded through entry points."""
