"""What a PromQL expression names: enough of the language for the dashboard's."""

import re

SKIPPED = re.compile(r'"(?:[^"\\]|\\.)*"|\[[^\]]*\]|\$\w+|(?<![\w:])\d[\w.]*')
GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
SELECTOR = re.compile(r"([a-zA-Z_:][\w:]*)?\{([^}]*)\}")
NAME = re.compile(r"[a-zA-Z_:][\w:]*(?!\s*\()(?![\w:])")
KEYWORDS = frozenset({"and", "or", "unless", "bool", "offset", "sum", "max", "min", "by"})


def labels_and_metrics(expression: str) -> tuple[set[str], dict[str, set[str]]]:
    """Labels that it groups by, and its metrics with the labels that it selects them by."""
    # Strings first: a brace or a name in one means nothing.
    text = SKIPPED.sub(" ", expression)
    grouped = {label.strip() for inner in GROUPING.findall(text) for label in inner.split(",") if label.strip()}
    text = GROUPING.sub(" ", text)
    metrics: dict[str, set[str]] = {}
    for name, inner in SELECTOR.findall(text):
        metrics.setdefault(name, set()).update(re.findall(r"(\w+)\s*(?:=~|!=|!~|=)", inner))
    for name in NAME.findall(SELECTOR.sub(" ", text)):
        if name not in KEYWORDS:
            metrics.setdefault(name, set())
    return grouped, metrics
