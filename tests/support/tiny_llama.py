"""A Llama model of transformers with random weights, for tests that need torch."""

from __future__ import annotations

from typing import Any


def tiny_llama(tokenizer: Any) -> Any:
    """Return a model with two layers for this tokenizer."""
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
    )
    return transformers.LlamaForCausalLM(config)
