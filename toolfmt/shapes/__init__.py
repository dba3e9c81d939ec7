"""Events as the streams that clients read: one class a protocol, all of one interface.

    shape = Chat("chatcmpl-1", "my-model", created)
    for piece in generated:
        send(shape.push(parser.feed(piece)))
    send(shape.push(parser.finish()) + shape.finish("stop"))

`Chat` (OpenAI's Chat Completions), `Messages` (Anthropic), `Responses` (OpenAI) and `Ollama`. Standard library only.
"""

from toolfmt.shapes.chat import Chat
from toolfmt.shapes.messages import Messages
from toolfmt.shapes.ollama import Ollama
from toolfmt.shapes.responses import Responses
from toolfmt.shapes.shape import FinishReason, Payload, RejectedCalls, Shape, Usage

__all__ = ["Chat", "FinishReason", "Messages", "Ollama", "Payload", "RejectedCalls", "Responses", "Shape", "Usage"]
