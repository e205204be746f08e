"""Telling: what a run came to, for people (report.md), programs (verdict.json, summary.json) and CI (junit.xml)."""

from rig.report.judgement import Judgement, judge_folder
from rig.report.write import write_all

__all__ = ["Judgement", "judge_folder", "write_all"]
