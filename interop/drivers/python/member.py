"""What the Python drivers share: the arguments they take and the lines they print."""

import argparse
import json
import os
import signal
import sys
import time

HEARTBEAT_MS = 500
REBALANCE_MS = 10000
MAX_POLL = 100


class Stop:
    """Becomes true at SIGTERM or an interrupt."""

    def __init__(self):
        self.asked = False
        signal.signal(signal.SIGTERM, self._ask)
        signal.signal(signal.SIGINT, self._ask)

    def _ask(self, *_):
        self.asked = True

    def __bool__(self):
        return self.asked


def parse():
    p = argparse.ArgumentParser()
    for name in ("bootstrap", "topic", "group", "member"):
        p.add_argument("--" + name, required=True)
    p.add_argument("--instance", default="")
    p.add_argument("--variant", default="")
    return p.parse_args()


def session_ms(args):
    """A static member is started again within its session, also on a busy machine."""
    return 30000 if args.instance else 6000


def emit(**line):
    line["t"] = time.time_ns() // 1000
    os.write(1, (json.dumps(line) + "\n").encode())


def record(topic, partition, offset, key):
    emit(event="record", topic=topic, partition=partition, offset=offset, key=None if key is None else key.decode())


def assigned(partitions):
    emit(event="assigned", partitions=sorted(partitions))


def revoked(partitions):
    emit(event="revoked", partitions=sorted(partitions))


def committed(offsets):
    if offsets:
        emit(event="committed", offsets={str(p): o for p, o in offsets.items()})


def problem(what, error):
    print(what + ":", error, file=sys.stderr, flush=True)
