"""report.html: one self-contained page a run, for people. Docs: docs/reading-a-report.md."""
