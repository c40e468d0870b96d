"""`python tiny_model.py CLASS FOLDER`: a BERT with random weights, small enough to be made in a test."""

import sys
from pathlib import Path

try:
    import torch
    import transformers
except ModuleNotFoundError:
    sys.exit(1)  # the command that follows says what is missing

torch.manual_seed(11)
kind, folder = sys.argv[1], Path(sys.argv[2])
words = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "ferry",
    "leaves",
    "to",
    "harbour",
    "at",
    "noon",
]
(folder / "vocab.txt").write_text("\n".join(words) + "\n")
transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=48).save_pretrained(folder)
config = transformers.BertConfig(
    vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
    max_position_embeddings=48, num_labels=1, initializer_range=0.4,
)  # fmt: skip
getattr(transformers, kind)(config).save_pretrained(folder)
