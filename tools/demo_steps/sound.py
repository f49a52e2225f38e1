"""A sound: where in a recording does somebody speak?"""
import subprocess
import wave

import numpy as np

from program import WORK, Engine

RATE = 16000
STEP, CONTEXT = 512, 64  # the detector's window: 32 ms of new samples after 4 ms of old ones
SENTENCES = ["Tutti is what a score says", "when everyone plays at once"]


def speak():
    """A recording: silence, a sentence, silence, another, silence; espeak-ng speaks and sox resamples."""
    parts = [np.zeros(RATE, np.float32)]
    for index, sentence in enumerate(SENTENCES):
        raw, wav = WORK / f"speech{index}.raw.wav", WORK / f"speech{index}.wav"
        subprocess.run(["espeak-ng", "-w", raw, sentence], check=True)
        subprocess.run(["sox", raw, "-r", str(RATE), "-c", "1", "-b", "16", wav], check=True)
        with wave.open(str(wav)) as file:
            samples = np.frombuffer(file.readframes(file.getnframes()), np.int16)
        parts += [samples.astype(np.float32) / 32768, np.zeros(RATE, np.float32)]
    return np.concatenate(parts)


def windows(samples):
    """[L, 576]: each row is one step with its left context."""
    steps = len(samples) // STEP
    padded = np.concatenate([np.zeros(CONTEXT, np.float32), samples[: steps * STEP]])
    return np.stack([padded[i * STEP : i * STEP + CONTEXT + STEP] for i in range(steps)])


def main():
    engine = Engine("silero-vad/silero_vad_16k_sequence.onnx", "input=32x576")
    samples = speak()
    state = np.zeros((1, 1, 128), np.float32)
    probability = engine.run(input=windows(samples), h=state, c=state)["speech_probs"].ravel()
    print(f"\nA sound: {len(samples) / RATE:.1f} s with two spoken sentences. Speech, as the detector hears it (0.1 s a column):")
    columns = np.array_split(probability, max(int(len(samples) / RATE * 10), 1))
    print("  " + "".join(" .:-=+*#%@"[min(int(c.max() * 10), 9)] for c in columns))
    talking = probability > 0.5
    edges = np.flatnonzero(np.diff(np.concatenate([[0], talking.astype(int), [0]])))
    spans = ", ".join(f"{a * STEP / RATE:.1f}-{b * STEP / RATE:.1f} s" for a, b in zip(edges[::2], edges[1::2]))
    print(f"  somebody speaks at {spans}")
    return engine
