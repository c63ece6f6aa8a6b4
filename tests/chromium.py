# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A page in headless Chromium, by the DevTools protocol over two pipes."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

PROGRAM = shutil.which("chromium") or shutil.which("chromium-headless-shell")


class Browser:
    """One tab. `events` are those that came so far."""

    def __init__(self, to, back):
        self.to, self.back = to, back
        self.count, self.session, self.events, self.rest = 0, None, [], b""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def receive(self):
        while b"\0" not in self.rest:
            data = os.read(self.back, 1 << 16)
            assert data, "Chromium has gone"
            self.rest += data
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.count:
                assert "error" not in answer, (method, answer)
                return answer["result"]
            self.events.append(answer)

    def wait(self, method):
        while not any(e.get("method") == method for e in self.events):
            self.events.append(self.receive())

    def show(self, path, width=1280, height=900, media="screen", dark=False, zoom=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=zoom, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", media=media, features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        url = path if "://" in str(path) else Path(path).resolve().as_uri()
        self.call("Page.navigate", url=url)
        self.wait("Page.loadEventFired")

    def ask(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def requests(self):
        """URLs that were asked for."""
        return [e["params"]["request"]["url"] for e in self.events
                if e.get("method") == "Network.requestWillBeSent"]

    def complaints(self):
        """What went to the console."""
        return [e for e in self.events if e.get("method") in
                ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")]


@contextlib.contextmanager
def browser():
    """Its process, with all that it started, is dead after the with block."""
    to_read, to_write = os.pipe()
    back_read, back_write = os.pipe()

    def place():  # the protocol is on 3 and 4, and either may be one of ours already
        first, second = os.dup(to_read), os.dup(back_write)
        os.dup2(first, 3)
        os.dup2(second, 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        with subprocess.Popen(
                [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                 "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
                 "--disable-background-networking", "--disable-component-update",
                 f"--user-data-dir={home}", "about:blank"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                close_fds=False, preexec_fn=place, start_new_session=True,
                env={**os.environ, "HOME": home}) as process:
            os.close(to_read)
            os.close(back_write)
            try:
                yield Browser(to_write, back_read)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                os.close(to_write)
                os.close(back_read)


LOOKS = {
    "light": {},
    "dark": {"dark": True},
    "phone": {"width": 360, "height": 800, "zoom": 2},
    "phone-dark": {"width": 360, "height": 800, "zoom": 2, "dark": True},
    "print": {"width": 800, "media": "print"},
}
