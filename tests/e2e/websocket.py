"""A WebSocket client, as much as the tests need. Standard library only."""
import base64
import contextlib
import os
import socket
import struct
import urllib.parse


class Closed(Exception):
    """The server closed, or the connection broke."""


class WebSocket:
    def __init__(self, address, path, timeout=30, **parameters):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=timeout)
        query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {path}{query} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\n"
                             f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                             "Sec-WebSocket-Version: 13\r\n\r\n").encode())
        self.file = self.socket.makefile("rb", buffering=1 << 20)
        self.status = int(self._line().split()[1])
        headers = {}
        while line := self._line().strip():
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        if self.status != 101:
            self.body = self.file.read(int(headers.get("content-length", 0)))
            self.close()

    def _line(self):
        line = self.file.readline()
        if not line:
            raise Closed("no answer")
        return line.decode()

    def _read(self, size):
        try:
            data = self.file.read(size)
        except OSError as problem:
            if isinstance(problem, TimeoutError):
                raise
            raise Closed(str(problem)) from problem
        if data is None or len(data) < size:
            raise Closed("cut")
        return data

    def send(self, data, opcode=1):
        mask = os.urandom(4)
        size = len(data)
        head = bytes([0x80 | opcode])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 1 << 16:
            head += bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", size)
        body = bytes(b ^ mask[i % 4] for i, b in enumerate(data))
        self.socket.sendall(head + mask + body)

    def receive(self):
        """The next text or binary message as bytes."""
        message = b""
        while True:
            first, second = self._read(2)
            size = second & 0x7F
            if size == 126:
                size = struct.unpack(">H", self._read(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self._read(8))[0]
            data = self._read(size) if size else b""
            opcode = first & 0x0F
            if opcode == 9:
                self.send(data, 10)
            elif opcode == 8:
                raise Closed(data[2:].decode(errors="replace"))
            elif opcode in (0, 1, 2):
                message += data
                if first & 0x80:
                    return message

    def cut(self):
        """As a broken network does it; from any thread."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def close(self):
        """Cuts the connection without a word."""
        self.file.close()
        self.socket.close()
