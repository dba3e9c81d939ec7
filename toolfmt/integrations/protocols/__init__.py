"""Convert events to the streams of client protocols: one class per protocol, all with the same interface.

    shape = Chat("chatcmpl-1", "my-model", created)
    for piece in generated:
        send(shape.push(parser.feed(piece)))
    send(shape.push(parser.finish()) + shape.finish("stop"))

`Chat` (OpenAI's Chat Completions), `Messages` (Anthropic), `Responses` (OpenAI) and `Ollama`. Standard library only.
"""

from toolfmt.integrations.protocols.chat import Chat
from toolfmt.integrations.protocols.messages import Messages
from toolfmt.integrations.protocols.ollama import Ollama
from toolfmt.integrations.protocols.responses import Responses
from toolfmt.integrations.protocols.stream_encoder import FinishReason, Payload, RejectedCalls, StreamEncoder, Usage

__all__ = [
    "Chat",
    "FinishReason",
    "Messages",
    "Ollama",
    "Payload",
    "RejectedCalls",
    "Responses",
    "StreamEncoder",
    "Usage",
]
