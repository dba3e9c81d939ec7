"""Harmony: the output is a sequence of messages in channels; a message to a function is a call.

    <|channel|>analysis<|message|>Need the weather.<|end|><|start|>assistant
    <|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Paris"}<|call|>

(without the line breaks). The recipient is in the channel, as above, or in the role, as in the templates:
`<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>`. `analysis` is reasoning, `final` and
commentary without a recipient are content, and the markers of their messages are dropped. One call per message;
gpt-oss stops at `<|call|>`, which many runtimes strip.
"""

from dataclasses import replace

from toolfmt.formats.engines.channels import Channels
from toolfmt.formats.format import ToolCallFormat

_SPACES = (" ", "  ", "\u00a0", "\u202f")
"""The model sometimes writes a non-breaking space."""
_ENGINE = Channels(
    header="<|channel|>commentary to=",
    closer="<|call|>",
    also=tuple(
        f"<|channel|>{channel}{space}to=" for channel in ("commentary", "analysis", "final") for space in _SPACES
    ),
    start_only_openers=("to=", *(f"{space}to=" for space in _SPACES[2:])),
    also_closers=("<|end|>", "<|return|>"),
    namespace="functions.",
    message="<|message|>",
    marks=("<|channel|>", "<|constrain|>"),
    others=("assistant", "user"),
    channel=" <|constrain|>json",
    between="<|start|>assistant",
)
FORMAT = ToolCallFormat(
    name="gpt_oss",
    engine=_ENGINE,
    variants={"recipient in the role": replace(_ENGINE, header=" to=", channel="<|channel|>commentary json")},
    page=__doc__ or "",
    instructions=(
        "To call a tool, write <|channel|>commentary to=functions.NAME <|constrain|>json<|message|>, then the "
        "arguments as a JSON object, then <|call|>. One call a message."
    ),
    source=(
        "openai/harmony, docs/format.md",
        "chat templates of openai/gpt-oss-120b, unsloth/gpt-oss-20b, llm-jp/llm-jp-4-8b-instruct, 4.1-8b-thinking",
    ),
    aliases=("gpt-oss", "gptoss", "harmony", "openai", "llm_jp_harmony"),
    families=("gpt-oss", "LLM-jp 4", "InternVL 3.5 gpt-oss"),
    model_types=("gpt_oss",),
    signatures=(r"(?s)\A(?!.*<rfl:).*<\|channel\|>(?:analysis|commentary|final)",),
    runtime_parsers={"vLLM": "openai", "SGLang": "gpt-oss", "mlx-swift-lm": "gpt_oss", "llama.cpp": "auto"},
    reasoning=(("<|channel|>analysis<|message|>", "<|end|>"), ("<|channel|>analysis<|message|>", "<|start|>assistant")),
    ignored_markers=(
        *(
            f"<|channel|>{channel}{kind}<|message|>"
            for channel in ("final", "commentary")
            for kind in ("", " json", " <|constrain|>json", "<|constrain|>json")
        ),
        "<|start|>assistant<|message|>",
        "<|channel|>commentary?<|message|>",
        "<|channel|>commentary?commentary?",  # seen in place of a header
        *(
            f"<|channel|>{channel} to={reader}<|message|>"
            for channel in ("final", "commentary")
            for reader in ("user", "all")
        ),
        "<|channel|>commentary to=assistant",  # gpt-oss sometimes writes this before another header
        "<|start|>assistant",
        "<|end|>",
        "<|return|>",
        "<|call|>",
    ),
    ignored_at_start=("<|message|>",),
)
