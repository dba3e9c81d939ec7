"""The protocols of chat endpoints: how a request is written, and how a response and a stream are read.

Sources: OpenAI API reference "Chat Completions", Anthropic API reference "Messages" and "Streaming", Ollama
docs/api.md "Generate a chat completion" (November 2026).
"""

from toolfmt.cli.doctor.protocols.anthropic_messages import AnthropicMessages
from toolfmt.cli.doctor.protocols.chat_completions import ChatCompletions
from toolfmt.cli.doctor.protocols.chat_protocol import ChatProtocol, ChatRequest
from toolfmt.cli.doctor.protocols.ollama_chat import OllamaChat

__all__ = ["AnthropicMessages", "ChatCompletions", "ChatProtocol", "ChatRequest", "OllamaChat"]
