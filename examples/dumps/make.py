"""Make a dump in the style of EKS or of kubeadm, as `kubectl get … -A -o json` prints it.

python examples/dumps/make.py eks --nodes 24 > examples/eks.json
"""

import argparse
import json
import sys

import eks
import kubeadm
from objects import Object

STYLES = {"eks": eks.make, "kubeadm": kubeadm.make}


def text_of(dump: Object) -> str:
    """Write a dump with one object a line: kubectl's own takes twice the room."""
    items = ",\n".join(json.dumps(item, separators=(",", ":")) for item in dump["items"])
    return f'{{"apiVersion":"v1","kind":"List","metadata":{{"resourceVersion":""}},"items":[\n{items}\n]}}\n'


def main() -> None:
    """Write the dump to standard output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("style", choices=STYLES)
    parser.add_argument("--nodes", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    sys.stdout.write(text_of(STYLES[given.style](given.nodes, given.seed).as_list()))


if __name__ == "__main__":
    main()
