"""Many live tails in one process of its own, each checked line by line. Standard library only."""
import multiprocessing
import os
import re
import selectors
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from websocket import WebSocket  # noqa: E402

SKIPPED = re.compile(rb'"skipped":(\d+)')
ERROR = re.compile(rb'^\{"error":')


class Tail:
    """One rank's tail: what came, and whether it was in order. `number` finds a line's number."""

    def __init__(self, address, job, rank, number, slow, **parameters):
        self.rank, self.number, self.slow = rank, number, slow
        self.lines, self.skipped, self.next, self.problem = 0, 0, 0, None
        self.buffer, self.message, self.resting = bytearray(), b"", 0.0
        socket = WebSocket(address, "/api/v1/tail", timeout=120, job=job, rank=rank, start="-1h",
                           **parameters)
        self.socket, self.keep = socket.socket, socket  # the file object holds the descriptor open
        self.socket.setblocking(False)
        self.buffer += socket.file.peek()  # what came with the head of the answer

    def take(self, message):
        if ERROR.match(message):
            self.problem = message[:300].decode(errors="replace")
        numbers = [int(n) for n in self.number.findall(message)]
        hit = SKIPPED.search(message, message.rfind(b"]"))
        skipped = int(hit[1]) if hit else 0
        # A reader that was told of skipped lines goes on further up, never further down.
        if numbers and not self.problem:
            first = numbers[0]
            whole = numbers == list(range(first, first + len(numbers))) or self.skipped + skipped
            rising = all(a < b for a, b in zip(numbers, numbers[1:]))
            at_place = first == self.next or (self.skipped + skipped and first > self.next)
            if not (whole and rising and at_place):
                self.problem = f"rank {self.rank}: {self.next} expected, got {numbers[:5]}"
            self.next = numbers[-1] + 1
        self.lines += len(numbers)
        self.skipped += skipped

    def parse(self):
        at, data = 0, self.buffer
        while len(data) - at >= 2:
            size, head = data[at + 1] & 0x7F, 2
            if size > 125:
                head = 4 if size == 126 else 10
                if len(data) - at < head:
                    break
                size = int.from_bytes(data[at + 2:at + head], "big")
            if len(data) - at < head + size:
                break
            opcode, final = data[at] & 0x0F, data[at] & 0x80
            body = bytes(data[at + head:at + head + size])
            at += head + size
            if opcode == 9:
                self.keep.send(body, 10)
            elif opcode == 8:
                self.problem = f"closed: {body[2:].decode(errors='replace')}"
            else:
                self.message += body
                if final:
                    self.take(self.message)
                    self.message = b""
        del data[:at]

    def read(self, now):
        """Takes what is there: a slow one a little, then it rests."""
        try:
            data = self.socket.recv(4096 if self.slow else 1 << 20)
            if not data:
                self.problem = self.problem or "cut"
            self.buffer += data
        except BlockingIOError:
            return
        except OSError as problem:
            self.problem = str(problem)
        self.parse()
        if self.slow:
            self.resting = now + 0.25


def follow(pipe, address, job, tails, number):
    """`tails`: [(rank, slow, parameters)]. Sends a report when asked, until told to end."""
    selector = selectors.DefaultSelector()
    pattern = re.compile(number)
    readers = [Tail(address, job, rank, pattern, slow, **parameters)
               for rank, slow, parameters in tails]
    for one in readers:
        one.parse()
        selector.register(one.socket, selectors.EVENT_READ, one)
    selector.register(pipe, selectors.EVENT_READ, None)
    pipe.send("connected")
    resting, hurry = [], False
    while True:
        for key, _ in selector.select(timeout=0.05):
            one = key.data
            if one is None:
                asked = pipe.recv()
                if asked == "end":
                    return
                if asked == "hurry":  # the slow ones are slow no more
                    hurry = True
                    for slow in readers:
                        slow.slow = False
                else:
                    pipe.send([(t.rank, t.lines, t.skipped, t.problem) for t in readers])
                continue
            one.read(time.monotonic())
            if one.problem:
                selector.unregister(one.socket)
            elif one.slow:
                selector.unregister(one.socket)
                resting.append(one)
        now = time.monotonic()
        for one in [t for t in resting if hurry or t.resting <= now]:
            resting.remove(one)
            selector.register(one.socket, selectors.EVENT_READ, one)


class TailReaders:
    """The process; ask() for its report: [(rank, lines, skipped, problem)]."""

    def __init__(self, address, job, tails, number):
        context = multiprocessing.get_context("fork")
        self.pipe, far = context.Pipe()
        self.process = context.Process(target=follow, args=(far, address, job, tails, number),
                                       daemon=True)
        self.process.start()
        far.close()
        if self.pipe.recv() != "connected":
            raise AssertionError("the tails did not begin")

    def ask(self):
        self.pipe.send("report")
        return self.pipe.recv()

    def hurry(self):
        self.pipe.send("hurry")

    def end(self):
        self.pipe.send("end")
        self.process.join(10)
