"""Files: what kind of content is this?"""
import json

import numpy as np

from program import MODELS, ROOT, WORK, Engine

PADDING, HALF = 256, 1024


def features(content):
    """[1, 2048] int32: the first and the last 1,024 bytes, stripped of white space outside, padded with 256."""
    begin, end = content[: HALF * 4].lstrip()[:HALF], content[-HALF * 4 :].rstrip()[-HALF:]
    row = list(begin) + [PADDING] * (HALF - len(begin)) + [PADDING] * (HALF - len(end)) + list(end)
    return np.array([row], np.int32)


def main():
    engine = Engine("magika/model.onnx", "bytes=1x2048")
    labels = json.loads((MODELS / "magika/config.min.json").read_text())["target_labels_space"]
    print("\nFiles: what is in them, by content alone?")
    for path in (ROOT / "src/ir/graph.cpp", ROOT / "README.md", WORK / "speech0.wav", MODELS / "scikit-image/page.png", ROOT / "Makefile"):
        scores = engine.run(bytes=features(path.read_bytes()))["target_label"][0]
        print(f"  {path.name:<14} {labels[scores.argmax()]} ({scores.max():.2f})")
    return engine
