"""A faster cross-encoder, whose last layer computes only the first token, because the score needs no
other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pgrecall.search.model_loading import max_positions

SAMPLES = (
    ("who signs the contract?", "Mira signs the harbour contract on Friday."),
    ("who signs the contract?", "The ferry was late, so we missed half of the concert."),
    ("how do I rotate the keys", "Rotate them on the first Monday; the old ones stay valid for a day."),
    ("rain", "It rained."),
    ("What did Ana plan for May 2023?", "Ana: I can't wait! We leave on 12 May :) [image: a tent by a lake]"),
    ("which version does the build need", "## Build\n- Python >= 3.11, 2 GB of disk\n- run `make all` (C11)"),
)
"""Pairs of several kinds and lengths, to compare a changed model with the original."""

LOGIT_TOLERANCE = 1e-3
"""Largest accepted change of a sample's logit; a model that reads the wrong token is off by whole units."""


def encoded_samples(model: Any, tokenizer: Any) -> dict[str, Any]:
    """Returns the samples as padded tensors on the model's device, truncated to its limit."""
    limit = max_positions(model.config.to_dict())
    encoded = tokenizer(list(SAMPLES), padding=True, truncation=True, max_length=limit, return_tensors="pt")
    return {name: tensor.to(model.device) for name, tensor in encoded.items()}


def read_first_token_only(model: Any, tokenizer: Any) -> bool:
    """Narrows the last layer to the first token; returns False and leaves ``model`` unchanged if that fails.

    The head of a BERT reads only the first token, so the last layer need not compute the others: a seventh of
    all multiplications of six layers. The logits of the samples must stay the same.
    """
    import torch

    layer = _last_layer(model)
    if layer is None:
        return False
    samples, outputs = encoded_samples(model, tokenizer), []
    watch = layer.register_forward_hook(lambda _layer, _given, output: outputs.append(output))
    with torch.inference_mode():
        expected = model(**samples).logits
    watch.remove()
    layer.forward = _narrowed(layer, in_tuple=isinstance(outputs[0], tuple))
    try:
        with torch.inference_mode():
            same = bool(torch.allclose(model(**samples).logits, expected, rtol=0, atol=LOGIT_TOLERANCE))
    except (AttributeError, IndexError, RuntimeError, TypeError):  # a different architecture
        same = False
    if not same:
        del layer.forward  # restores the method of its class
    return same


def _last_layer(model: Any) -> Any:
    """Returns the last layer of a model with the structure of BERT, else None."""
    inner = getattr(model, model.base_model_prefix, None)
    layers = getattr(getattr(inner, "encoder", None), "layer", None)
    return layers[-1] if layers and hasattr(layers[-1], "feed_forward_chunk") else None


def _narrowed(layer: Any, *, in_tuple: bool) -> Callable[..., Any]:
    """Returns a ``forward`` that computes only the first token, which attends to all of them."""
    from torch.nn.functional import scaled_dot_product_attention

    attention = layer.attention.self

    def forward(hidden: Any, attention_mask: Any = None, *_: Any, **__: Any) -> Any:
        first = hidden[:, :1]
        query, key, value = (
            part.unflatten(-1, (-1, attention.attention_head_size)).transpose(1, 2)
            for part in (attention.query(first), attention.key(hidden), attention.value(hidden))
        )
        row = None if attention_mask is None else attention_mask[:, :, :1]
        heads = scaled_dot_product_attention(query, key, value, attn_mask=row)
        narrow = layer.attention.output(heads.transpose(1, 2).flatten(2), first)
        output = layer.feed_forward_chunk(narrow)
        return (output,) if in_tuple else output

    return forward
