"""From a detector's heat map to boxes around lines of text."""
import numpy as np

THRESHOLD = 0.3
SMALLEST = 3  # pixels of a side


def components(mask):
    """Bounding boxes of 4-connected regions, by union of row runs."""
    parent, boxes, previous = [], [], []

    def root(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for y, row in enumerate(mask):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(np.int8), [0]])))
        current = []
        for begin, end in zip(edges[::2], edges[1::2]):
            label = len(parent)
            parent.append(label)
            boxes.append([begin, y, end, y + 1])
            for other_begin, other_end, other in previous:
                if other_begin < end and begin < other_end:
                    a, b = root(label), root(other)
                    if a != b:
                        x, z = boxes[a], boxes[b]
                        boxes[b] = [min(x[0], z[0]), min(x[1], z[1]), max(x[2], z[2]), max(x[3], z[3])]
                        parent[a] = b
            current.append((begin, end, label))
        previous = current
    return [boxes[i] for i in range(len(parent)) if parent[i] == i]


def find_boxes(heat, scale, size):
    """(left, top, right, bottom) in image pixels, top to bottom; the detector sees shrunken lines, so each box grows by half its height."""
    found = []
    for left, top, right, bottom in components(heat > THRESHOLD):
        if right - left < SMALLEST or bottom - top < SMALLEST:
            continue
        grow = (bottom - top) * 0.5
        found.append((max((left - grow) * scale[0], 0), max((top - grow) * scale[1], 0),
                      min((right + grow) * scale[0], size[0]), min((bottom + grow) * scale[1], size[1])))
    return sorted(found, key=lambda box: (round(box[1] / 12), box[0]))
