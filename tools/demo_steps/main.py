"""The demo: real models, real input, compiled and checked by Tutti on this machine's CPU."""
import sys
import time

import files
import picture
import sound
import text
from program import Failed, call


def main():
    started = time.time()
    print(f"Tutti {call('version')['version']}: compiling real models and running them on real input.")
    engines = []
    for step in (sound, picture, text, files):
        made = step.main()
        engines += made if isinstance(made, list) else [made]
    print("\n  model                     as ONNX     engine    built in   verified           one run (median)")
    for engine in engines:
        print(engine.line())
    print(f"\nEach engine was compared with the reference interpreter before it was saved. {time.time() - started:.0f} s in all.")
    print("What to try next:\n"
          "  build/release/bin/tutti inspect models/magika/model.onnx --layers\n"
          "  build/release/bin/tutti build YOUR_MODEL.onnx && build/release/bin/tutti bench YOUR_MODEL.tutti\n"
          "  build/release/bin/tutti --help")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        print(f"error: {failure}", file=sys.stderr)
        sys.exit(1)
