"""The HTML page of a report, read without a browser."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.report.growing_prompts import PrefixStep, Stability
from toolfmt.inspect.report.report import (
    Answer,
    Difference,
    Effect,
    Finding,
    MarkerTokens,
    Portability,
    Report,
    RuntimeSupport,
    SampleSpan,
    Tokens,
    ToolCost,
    Variable,
)
from toolfmt.inspect.report.verdicts import Advice

TEMPLATE = (
    "{% if tools %}<tools>{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}</tools>{% endif %}\n"
    "{% for message in messages %}<|{{ message.role }}|>\n{{ message.content or '' }}"
    "{% for call in message.tool_calls or [] %}"
    '<tool_call>\n{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}\n'
    "</tool_call>\n{% endfor %}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)

HOSTILE = '</style></code><script>alert(1)</script><img src=x onerror=alert(2)>" onload="alert(3)'

UNSEEN = "\x00\x1b[31m\u202e\u2066\u200b\r\ud800"

BAD = HOSTILE + UNSEEN


def filled(report: Report) -> Report:
    """The report with something in every section, all of it as a hostile model directory could have it."""
    answers = {"one_thing": Answer("yes", BAD, 3), "another": Answer("error", BAD), "third": Answer("no", "n" * 500)}
    sections = replace(
        report.sections,
        details=answers,
        definitions=answers,
        safety=answers,
        variables=(Variable(BAD, None, (), 3), Variable("enable_thinking", BAD, (Effect("adds", "{}", (BAD,)),))),
        stability=Stability(
            (PrefixStep("answer", 10, 10), PrefixStep("tool result", 5, 20, BAD, BAD, 7), PrefixStep("none", 0, 0)),
            0.83,
        ),
        tokens=Tokens((MarkerTokens(BAD, (BAD, "x"), True),), 10, (ToolCost(BAD, 96),), 284, True, 4096, 1024, (BAD,)),
        engines=(Portability("minijinja", 24, 21, (Difference(BAD, 54, BAD),)), Portability("llama.cpp", 24, 24)),
        runtime_support=(
            RuntimeSupport("transformers", BAD, BAD, True, BAD),
            RuntimeSupport("llama.cpp", "", None, None, BAD),
        ),
        advice=(Advice("vLLM", BAD, remark=BAD), Advice("Ollama", BAD, status="fails", remark=BAD, typed=False)),
        sample=(
            *report.sections.sample,
            SampleSpan("frame", BAD),
            SampleSpan("tools", f"\n{BAD}\n" + "x" * 2_000, BAD),
        ),
    )
    error = Finding("TF013", BAD, BAD, 3, BAD, "error")
    return replace(
        report,
        path=f"/models/{BAD}",
        model_type=BAD,
        sections=sections,
        findings=(Finding("TF014", "a-warning", BAD, None, BAD), error),
        notes=(Finding("TF004", "clock-used", BAD, 7, BAD, "note"),),
        profile=replace(report.profile, stop=(BAD, "<|end|>"), prefill=BAD),
    )


GOOD = inspect_template(TEMPLATE, model_type="qwen3")

FULL = filled(GOOD)


class Page(HTMLParser):
    """The elements of a page, their text by the names of the classes around it, and its attributes."""

    VOID = frozenset({"meta", "rect"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.headings: list[tuple[str, str]] = []
        self.unclosed: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attributes]
        if re.fullmatch(r"h\d", tag):
            self.headings.append((tag, ""))
        if tag not in self.VOID:
            self.unclosed.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert (tag, self.unclosed.pop()) == (tag, tag)

    def handle_data(self, data: str) -> None:
        if self.unclosed and re.fullmatch(r"h\d", self.unclosed[-1]):
            tag, text = self.headings[-1]
            self.headings[-1] = tag, text + data


# The lowest contrast of any text to the nearest background color.
LOWEST_CONTRAST = """
(() => {
  const channels = colour => colour.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = element => {
    for (; element; element = element.parentElement) {
      const colour = channels(getComputedStyle(element).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let lowest = 21;
  while (walker.nextNode()) {
    if (!walker.currentNode.data.trim()) continue;
    const element = walker.currentNode.parentElement;
    const both = [channels(getComputedStyle(element).color), ground(element)];
    const [dark, light] = both.map(luminance).sort((a, b) => a - b);
    lowest = Math.min(lowest, (light + 0.05) / (dark + 0.05));
  }
  return lowest;
})()
"""

OVERFLOW = "document.scrollingElement.scrollWidth - innerWidth"
