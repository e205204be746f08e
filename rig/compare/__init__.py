"""Comparing two variants of a server from the same calls: what each run showed, how sure that is, what it decides.

Pure functions of what is on disk; the statistics need numpy and the standard library only.
"""
