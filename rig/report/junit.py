"""junit.xml: one test case a check, for CI systems that show such files.

A fail is a <failure>. An unknown is an <error>: the test could not be carried out. It is not <skipped>, because CI
systems show a skipped case as green, and an unknown run is no pass.
"""

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rig.clock import to_s
from rig.report.banner import banner
from rig.report.judgement import Judgement
from rig.verdict import CheckResult, Verdict

TAGS = {Verdict.FAIL: "failure", Verdict.UNKNOWN: "error"}

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(judgement: Judgement) -> bytes:
    """The whole file."""
    history, checks = judgement.history, judgement.checks
    suite = Element(
        "testsuite",
        name=history.folder.resolve().name,
        tests=str(len(checks)),
        failures=str(sum(check.verdict is Verdict.FAIL for check in checks)),
        errors=str(sum(check.verdict is Verdict.UNKNOWN for check in checks)),
        skipped="0",
        time=f"{to_s(history.last_ns - history.origin_ns):.3f}",
    )
    if (broken := banner(history)) is not None:
        SubElement(SubElement(suite, "properties"), "property", name="engine_bugs", value=_clean(broken))
    for check in checks:
        _case(suite, check)
    root = Element("testsuites")
    root.append(suite)
    indent(root)
    whole: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return whole + b"\n"


def _case(suite: Element, check: CheckResult) -> None:
    case = SubElement(suite, "testcase", classname="rig.checks", name=check.check)
    if check.verdict is Verdict.PASS:
        SubElement(case, "system-out").text = _clean(check.summary)
        return
    told = SubElement(case, TAGS[check.verdict], message=_clean(check.summary), type=str(check.verdict))
    lines = [f"{'' if one.at_s is None else f'{one.at_s:.2f} s: '}{one.text}" for one in check.findings]
    if check.more > 0:
        lines.append(f"and {check.more} later ones that were only counted")
    told.text = _clean("\n".join(lines))


def _clean(text: str) -> str:
    """Without the control characters that XML cannot hold; a log line may have them."""
    return _NOT_XML.sub("\ufffd", text)
