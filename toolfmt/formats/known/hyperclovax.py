"""A JSON list of calls in a message of its own, with a header that names the recipient.

    -> tool/function_call
    [{"name": "get_weather", "arguments": {"city": "Paris"}}]

The prompt of HyperCLOVA X SEED Think 14B ends with `<|im_start|>assistant`, and the model continues from there: with a
newline and its text, with a space, the arrow and calls, or with `/think` and its reasoning. Each of these ends at
`<|im_end|>`; then the next may start, with its own header. The tokens of the headers are not content. The 32B and 8B
models of the family write another format (`glm4`).
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser

FORMAT = ToolCallFormat(
    name="hyperclovax",
    engine=JsonObject(
        opener="-> tool/function_call",
        enclosing=("\n[", "]"),
        separator=", ",
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, write the header `-> tool/function_call` and on the next line a JSON list: one object for each "
        "call, with the tool's name and its arguments."
    ),
    source=(
        "chat template of naver-hyperclovax/HyperCLOVAX-SEED-Think-14B",
        "NAVER-Cloud-HyperCLOVA-X/hcx-vllm-plugin, the model's tool and reasoning parsers for vLLM",
    ),
    aliases=("hcx", "hyperclovax_seed_think_14b"),
    families=("HyperCLOVA X SEED Think 14B",),
    model_types=("hyperclovax",),
    signatures=(r"-> tool/function_call",),
    runtime_parsers={"vLLM": RuntimeParser("hcx", only_in="NAVER's hcx-vllm-plugin")},
    reasoning=(("/think\n", "<|im_end|>"),),
    ignored_markers=("<|im_start|>assistant", "<|im_end|>", "<|stop|>", "<|endofturn|>"),
)
