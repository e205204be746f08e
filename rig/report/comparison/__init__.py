"""Two or more runs, or groups of runs, side by side: comparison.html for people and comparison.md for texts."""

from rig.report.comparison.content import Comparison, Side, compare
from rig.report.comparison.write import COMPARISON_FILES, TEXT_FILE, write_comparison

__all__ = ["COMPARISON_FILES", "TEXT_FILE", "Comparison", "Side", "compare", "write_comparison"]
