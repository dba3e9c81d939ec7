"""Common start and end markers of reasoning blocks, for the outputs of an unknown model.

All but two pairs are also in the record of a format; a test checks that none of those is missing here. Pairs that are
ambiguous outside of their own family are left out: headers of messages, ordinary text, and end markers that also end
something else.
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
