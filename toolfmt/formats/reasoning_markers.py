"""Reasoning blocks as families mark them: what an unknown model's answer may begin with, whatever its template shows.

All but two spellings stand in a format's record too; a test holds that none of those is missing here. Left out are
pairs that only their own family's answers can be told by: headers of messages, words of prose, closers that end
anything else as well.
"""

THINK = ("<think>", "</think>")

_DOUBAO = "think_never_used_51bce0c785ca2f68081bfa7d91973934"

COMMON = (
    THINK,
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
    ("<|think|>", "<|/think|>"),
    ("<seed:think>", "</seed:think>"),
    (f"<{_DOUBAO}>", f"</{_DOUBAO}>"),
    ("<mm:think>", "</mm:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<think:opensource>", "</think:opensource>"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<SPECIAL_69>", "<SPECIAL_70>"),
    ("<|start_think|>", "<|end_think|>"),
    ("<|thought_start|>", "<|thought_end|>"),
    ("<|think:start|>", "<|think:end|>"),
    ("<ifm|think>", "</ifm|think>"),
    ("<ifm|think_fast>", "</ifm|think_fast>"),
    ("<ifm|think_faster>", "</ifm|think_faster>"),
)
