#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`export`: what is scraped is what was lost, to the packet; whoever else calls does no harm."""

import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import chromium
from html_check import Page
from lib import (PATIENCE, case, crowded, main, pktledger, require, rootless, started, thorough,
                 until)
from prometheus import RULES, dashboard_labels, dashboard_queries, rules
from test_owners import ID, cgroup, cgroup2, receiver
from ends import PORT, inside, read_all, shell, udp
from test_chaos import directory
from traced import NAME, RX, TX, V4, UNABLE, lab, send

USAGE = 2
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
TEXT = "text/plain; version=0.0.4; charset=utf-8"


# The exporter


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Exporter:
    def __init__(self, process, port, tls=None):
        self.process = process
        self.port = port
        self.tls = tls

    def ask(self, path="/metrics", method="GET", body=None, **headers):
        """Status, headers and text."""
        at = {"host": "127.0.0.1", "port": self.port, "timeout": 30 * PATIENCE}
        caller = (http.client.HTTPSConnection(context=self.tls, **at) if self.tls
                  else http.client.HTTPConnection(**at))
        with contextlib.closing(caller):
            caller.request(method, path, body, headers)
            answer = caller.getresponse()
            return answer.status, dict(answer.headers), answer.read().decode()

    def scrape(self, accept="*/*"):
        """What was lost until now: scrapes that follow each other fast get the same."""
        now = time.time()

        def fresh():
            found = self.scrape_once(accept)
            return found if found[("pktledger_collected_time_seconds",)] >= now else None
        return until(fresh, 30, "what was collected after the call")

    def scrape_once(self, accept="*/*"):
        status, headers, text = self.ask(Accept=accept)
        assert status == 200, text
        assert headers["Content-Type"] == (OPENMETRICS if "openmetrics" in accept else TEXT), headers
        return samples(text, "openmetrics" in accept)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        _, err = self.process.communicate(timeout=30 * PATIENCE)
        return self.process.returncode, err


@contextlib.contextmanager
def exporting(*args, tls=None):
    """Serves when this is entered; ends well."""
    port = free_port()
    with started("export", "--listen", f"127.0.0.1:{port}", *args) as process:
        exporter = Exporter(process, port, tls)
        with contextlib.suppress(ConnectionRefusedError):
            until(lambda: process.poll() is not None or is_answered(exporter), 30, "an answer")
        if process.poll() is not None:
            said = process.stderr.read()
            require(process.returncode != UNABLE, said.strip())
            raise AssertionError(f"export ended: {said}")
        yield exporter
        status, said = exporter.stop()
        assert status == 0, (status, said)


def is_answered(exporter):
    try:
        return exporter.ask("/")[0] in (200, 401)
    except ConnectionRefusedError:
        return False


SAMPLE = re.compile(r'(\w+)(?:\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)+)\})? (-?[\d.]+)')


def samples(text, is_openmetrics=False):
    """{(name, label=value ...): number}; every line must be of the format."""
    found, lines = {}, text.split("\n")
    assert lines.pop() == "", "no LF at the end"
    if is_openmetrics:
        assert lines.pop() == "# EOF"
    for line in lines:
        if re.fullmatch(r"# (TYPE \w+ (counter|gauge|info)|HELP \w+ [^\\]+|UNIT \w+ \w+)", line):
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, line
        labels = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', sample[2] or "")
        key = (sample[1], *(f"{name}={value}" for name, value in labels))
        assert key not in found, f"twice: {line}"
        found[key] = float(sample[3])
    return found


def total(found, name, *labels):
    """The sum over all series that have these labels."""
    return sum(value for key, value in found.items() if key[0] == name and set(labels) <= set(key))


# Numbers


def lose(packets=100):
    """At a port that nobody has, and at a full socket; returns how many at each."""
    with udp(RX, socket.AF_INET, ("", PORT), rcvbuf=2304) as sock:
        full = send(V4, packets) - read_all(sock)
    return {"udp_lookup": send(V4, packets), "rcvbuf": full}


def assert_told(found, lost):
    for stage, packets in lost.items():
        where = f"stage={stage}", f"netns={RX}", "ifname=v-rx"
        assert total(found, "pktledger_lost_packets_total", *where) == packets, (stage, lost, found)
        assert total(found, "pktledger_lost_bytes_total", *where) == packets * 128, (stage, found)
        assert total(found, "pktledger_stage_lost_packets_total", f"stage={stage}") == packets, found


@case
def exported_is_what_was_lost():
    with lab(), exporting(f"udp port {PORT}") as exporter:
        before = exporter.scrape()
        assert not total(before, "pktledger_lost_packets_total"), before
        assert ("pktledger_stage_lost_packets_total", "stage=rcvbuf") in before, before
        lost = lose()
        found = exporter.scrape()
        assert_told(found, lost)
        for stage, packets in lose().items():
            lost[stage] += packets
        assert_told(exporter.scrape("application/openmetrics-text"), lost)
        assert {key for key in found if key[0] == "pktledger_observed"} == {
            ("pktledger_observed", f"what={what}") for what in ("places", "reasons", "sockets", "xdp")}
        assert not total(found, "pktledger_missed_events_total", "kind=without_cause"), found


@case
def exported_namespace_is_not_held():
    """It goes with its name, and the exporter serves on."""
    with lab() as ends, exporting("--netns", TX) as exporter:
        subprocess.run(["ip", "netns", "del", TX], check=True)
        until(lambda: "v-rx" not in ends.do("rx", "ip", "-br", "link"), 20, "the peer is gone")
        exporter.scrape()


@case
def a_textfile_is_always_whole():
    with lab(), tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "pktledger.prom")

        def reported(stage):
            if not path.exists():
                return None
            text = path.read_text()
            assert text.endswith('"} 1\n') and text.count("pktledger_build_info{") == 1, text
            return total(samples(text), "pktledger_lost_packets_total", f"stage={stage}")

        with started("export", "--textfile", path, "-I", "100ms", f"udp port {PORT}") as process:
            until(lambda: reported("rcvbuf") is not None or process.poll() is not None, 30,
                  "a file")
            require(process.poll() != UNABLE, "cannot trace here")
            lost = lose()
            until(lambda: all(reported(s) == n for s, n in lost.items()), 10, f"{lost} in {path}")
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30 * PATIENCE)
            assert process.returncode == 0, process.returncode
        assert [p.name for p in Path(directory).iterdir()] == [path.name]
        assert path.stat().st_mode & 0o777 == 0o644


@thorough
def a_textfile_on_a_full_disk():
    """The last one stays, and is replaced when there is room again."""
    with directory("16k") as where:
        path, fill = where / "pktledger.prom", where / "fill"
        with started("export", "--textfile", path, "-I", "100ms", "udp port 9") as process:
            until(lambda: path.exists() or process.poll() is not None, 30, "a file")
            require(process.poll() != UNABLE, "cannot trace here")
            with open(fill, "wb", buffering=0) as file, contextlib.suppress(OSError):
                while file.write(bytes(1024)):
                    pass
            said = [process.stderr.readline(), process.stderr.readline()]
            assert "No space left on device (retrying at each interval)" in said[-1], said
            assert path.read_text().endswith('"} 1\n')
            fill.unlink()
            said.append(process.stderr.readline())
            assert "can be written again" in said[-1], said
            assert os.listdir(where) == [path.name]
            process.send_signal(signal.SIGINT)
            assert process.wait(30 * PATIENCE) == 0


# The page


def headline(text):
    """The number of lost packets that it begins with. EXPR does not apply to suspected losses, which a
    neighbour's interface counts."""
    found = re.search(r'(?:<h1>|"headlines":\[")(?:([\d,]+) packets? lost|[\d,]+ packets? suspected lost'
                      '|Nothing was lost so far)', text)
    assert found, re.findall(r"<h1>.*|\"headlines.{200}", text)
    return int((found[1] or "0").replace(",", ""))


@case
def the_page_shows_what_was_lost():
    with lab(), exporting(f"udp port {PORT}") as exporter:
        lost = lose()

        def drawn():
            status, headers, text = exporter.ask("/")
            assert status == 200 and headers["Content-Type"].startswith("text/html"), headers
            return text if headline(text) == sum(lost.values()) else None
        page = until(drawn, 10, "all losses on the page")
        for stage in lost:
            assert stage in page.split("In full")[0], f"{stage} is not shown without the script"
        Page(page)
        status, headers, state = exporter.ask("/live")
        assert status == 200 and headers["Content-Type"] == "application/json", headers
        assert len(json.loads(state)["documents"]) == 1
        assert headline(state) == sum(lost.values())
        for host, status in (("evil.example", 421), ("evil.example:80", 421), ("localhost:1", 200),
                             ("[::1]:28780", 200), ("127.0.0.1", 200), ("127.0.0.1.evil.org", 421)):
            assert exporter.ask("/", Host=host)[0] == status, host


def certificate(directory):
    """Of 127.0.0.1, and its key."""
    require(shutil.which("openssl"), "needs openssl")
    cert, key = f"{directory}/cert.pem", f"{directory}/key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=export", "-addext", "subjectAltName=IP:127.0.0.1", "-out", cert, "-keyout", key],
                   check=True, capture_output=True)
    return cert, key


def basic(password):
    return "Basic " + base64.b64encode(f"me:{password}".encode()).decode()


@case
def by_tls_and_with_a_token():
    token = "0123456789abcdef" * 4
    with tempfile.TemporaryDirectory() as directory:
        cert, key = certificate(directory)
        path = Path(directory, "token")
        path.write_text(token + "\n")
        path.chmod(0o600)
        trusted = ssl.create_default_context(cafile=cert)
        with exporting("--tls-cert", cert, "--tls-key", key, "--token-file", path,
                       tls=trusted) as exporter, contextlib.ExitStack() as silent:
            for _ in range(100):  # who says nothing keeps nobody out
                silent.enter_context(socket.create_connection(("127.0.0.1", exporter.port)))
            status, headers, text = exporter.ask("/metrics", Authorization=f"Bearer {token}")
            assert status == 200 and "pktledger_build_info" in text, (status, headers, text)
            for said, status in (("bearer " + token, 200), (basic(token), 200), (basic("x"), 401),
                                 ("Bearer " + token[:-1], 401), ("Bearer " + token + "0", 401),
                                 (f"Bearer {token[:-1]}0", 401), ("Basic !", 401), ("Bearer", 401),
                                 (token, 401), ("", 401)):
                for page in "/", "/live", "/metrics":
                    assert exporter.ask(page, Authorization=said)[0] == status, (said, page)
            status, headers, text = exporter.ask("/")
            assert status == 401 and "token" in text and "lost" not in text, (headers, text)
            with contextlib.suppress(OSError):  # in the clear nothing is answered
                assert b"HTTP" not in call(exporter.port, b"GET / HTTP/1.0\r\n\r\n", wait=True)
            old = ssl.create_default_context(cafile=cert)
            old.set_ciphers("ALL:@SECLEVEL=0")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
            try:
                Exporter(None, exporter.port, old).ask("/")
                raise AssertionError("TLS 1.1 was spoken")
            except OSError:
                pass
        key_of_another = certificate(tempfile.mkdtemp(dir=directory))[1]
        result = pktledger("export", "--tls-cert", cert, "--tls-key", key_of_another)
        assert result.status == USAGE and "its private key" in result.err, result


@thorough
def the_page_is_live_in_chromium():
    require(chromium.PROGRAM, "needs chromium")
    with lab(), exporting(f"udp port {PORT}") as exporter, chromium.browser() as browser:
        browser.show(f"http://127.0.0.1:{exporter.port}/")
        def shown():
            return headline(browser.ask("document.querySelector('h1').outerHTML"))
        assert shown() == 0
        lost = sum(lose().values())
        until(lambda: shown() == lost, 10, "the losses on the page that is open")
        browser.ask("document.querySelector('footer button').click()")
        lost += sum(lose().values())
        time.sleep(3)  # updates come meanwhile, and are not shown
        assert shown() < lost, "the page went on while it was held"
        browser.ask("document.querySelector('footer button').click()")
        until(lambda: shown() == lost, 10, "the losses after the pause")
        until(lambda: re.fullmatch("updated [0-4] s ago", browser.ask(
            "document.querySelector('footer output').textContent")), 10, "that it is live")
        assert not browser.complaints(), browser.complaints()
        for name, look in chromium.LOOKS.items():
            browser.show(f"http://127.0.0.1:{exporter.port}/", **look)
            assert browser.ask("document.documentElement.scrollWidth <= innerWidth"), name


@crowded
def viewers_that_never_read():
    with exporting() as exporter, contextlib.ExitStack() as viewers:
        for _ in range(100):
            viewer = viewers.enter_context(socket.create_connection(("127.0.0.1", exporter.port)))
            viewer.sendall(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
        assert exporter.scrape() and exporter.ask("/")[0] == 200
        before = Path(f"/proc/{exporter.process.pid}/statm").read_text().split()[1]
        for _ in range(300):
            assert exporter.ask("/live")[0] == 200
        after = Path(f"/proc/{exporter.process.pid}/statm").read_text().split()[1]
        assert int(after) - int(before) < 1024, f"grew from {before} to {after} pages"


def call(port, data=b"", wait=False):
    """Says something, as it is; returns what is answered until the end if that is waited for."""
    with socket.create_connection(("127.0.0.1", port), 30 * PATIENCE) as sock:
        with contextlib.suppress(OSError):  # it may hang up at any time
            sock.sendall(data)
            if wait:
                sock.shutdown(socket.SHUT_WR)
                return b"".join(iter(lambda: sock.recv(65536), b""))
    return b""


GARBAGE = [b"", b"\n" * 1000, b"\0" * 100000, b"GET", b"GET /metrics\r\n\r\n", os.urandom(50000),
           b"GET /metrics HTTP/1.1\r\n" + b"X: " + b"y" * 1000000 + b"\r\n\r\n",
           b"GET /" + b"a" * 1000000 + b" HTTP/1.1\r\n\r\n",
           b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551615\r\n\r\nx",
           b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
           b"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: " + b",;q=" * 2000 + b"\r\n\r\n"]


@crowded
def callers_of_all_kinds():
    with exporting("udp port 9") as exporter:
        for garbage in GARBAGE:
            call(exporter.port, garbage)
            call(exporter.port, garbage, wait=len(garbage) > 100)
        with contextlib.ExitStack() as callers:  # more than are let in, and none says a word
            for _ in range(200):
                callers.enter_context(socket.create_connection(("127.0.0.1", exporter.port), 30))
            assert exporter.scrape()
        assert exporter.ask("/", "HEAD")[::2] == (200, "")
        assert exporter.ask("/metric")[0] == 404
        status, headers, _ = exporter.ask("/metrics", "POST", b"x" * 100000)
        assert status == 405 and headers["Allow"] == "GET, HEAD", headers
        assert b" 200 OK\r\n" in call(exporter.port, b"GET /metrics HTTP/1.0\r\n\r\n", wait=True)
        assert exporter.scrape()


@thorough
def slow_callers_are_sent_away():
    """One that says a byte a second, and one that does not read what it asked for."""
    with exporting() as exporter, socket.create_connection(("127.0.0.1", exporter.port)) as slow:
        begun, said = time.monotonic(), b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 100
        with contextlib.suppress(OSError):
            for byte in said:
                slow.sendall(bytes([byte]))
                time.sleep(1)  # Prometheus scrapes once per second
                assert time.monotonic() - begun < 40 * PATIENCE, "it is still listened to"
        assert exporter.scrape()


# Prometheus


@thorough
@rootless
def promtool_accepts_the_metrics():
    require(shutil.which("promtool"), "needs promtool")
    with lab(), exporting() as exporter:
        lose(10)
        text = exporter.ask()[2]
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr


@thorough
@rootless
def node_exporter_reads_the_textfile():
    program = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
    require(program, "needs node_exporter")
    with lab(), tempfile.TemporaryDirectory() as directory:
        port = free_port()
        file = Path(directory, "pktledger.prom")
        with started("export", "--textfile", file, "-I", "100ms", f"udp port {PORT}"), \
                subprocess.Popen(
                    [program, "--collector.disable-defaults", "--collector.textfile",
                     f"--collector.textfile.directory={directory}",
                     f"--web.listen-address=127.0.0.1:{port}"], stderr=subprocess.DEVNULL) as reader:
            try:
                until(file.exists, 30, "a file")
                lost = lose()

                def reported():
                    found = node_samples(port)
                    return all(found.get(s) == n for s, n in lost.items()) and found

                assert until(reported, 20, f"{lost} by node_exporter")["error"] == 0
            finally:
                reader.terminate()


def node_samples(port):
    """Of ours the losses by stage, and whether it was content."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            text = answer.read().decode()
    except OSError:
        return {}
    found = re.findall(r'^pktledger_stage_lost_packets_total\{stage="(\w+)"\} (\d+)', text, re.M)
    return {**{stage: int(n) for stage, n in found},
            "error": int(re.search(r"^node_textfile_scrape_error (\d)", text, re.M)[1])}


class Prometheus:
    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}"

    def is_ready(self):
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=10) as answer:
                return answer.status == 200
        return False

    def ask(self, path, **parameters):
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=30 * PATIENCE) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{url}: {error.read().decode()}") from None

    def query(self, expression):
        return self.ask("query", query=expression)["result"]


@contextlib.contextmanager
def prometheus(target):
    """One of our own, which scrapes `target` each second and has the alerts."""
    require(shutil.which("prometheus"), "needs prometheus")
    port = free_port()
    with tempfile.TemporaryDirectory() as directory:
        config = Path(directory, "prometheus.yml")
        config.write_text(json.dumps({  # JSON is YAML
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [{"job_name": "pktledger", "static_configs": [
                {"targets": [f"127.0.0.1:{target}"]}]}]}))
        log = open(Path(directory, "log"), "w+b")  # pylint: disable=consider-using-with
        with log, subprocess.Popen(
                ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={directory}/data",
                 f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log,
                start_new_session=True) as process:
            try:
                p = Prometheus(port)
                until(lambda: p.is_ready() or process.poll() is not None, 60, "Prometheus")
                assert process.poll() is None, Path(log.name).read_text()
                yield p
            finally:
                process.terminate()
                process.wait(60 * PATIENCE)


@contextlib.contextmanager
def pod():
    """A receiver in a pod, whose socket is full."""
    uid = "0a1b2c3d-0000-4000-8000-00000000abcd"
    with cgroup(cgroup2(), NAME, f"pod{uid}", ID) as group, receiver("sleeps", PORT + 1, group):
        yield f"pod-{uid}"


def lose_everywhere():
    """Losses of each kind that the dashboard has a panel for. Returns those of the full socket."""
    send(V4, 50, PORT + 1)  # of the pod
    send(V4, 200, PORT + 2, size=1400)  # more than the qdisc takes, and nobody has the port
    with inside(TX):
        with socket.socket() as tcp:
            tcp.settimeout(1)
            tcp.connect_ex((V4, PORT + 3))  # suspect: no listener
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as many:  # benign: no member
            many.sendto(b"x", ("ff02::4242", PORT, 0, socket.if_nametoindex("v-tx")))


@thorough
def services_and_processes():
    """Labels of both: of systemd's service, and of the process if it was asked for."""
    with lab(), cgroup(cgroup2(), f"{NAME}.service") as group, receiver("sleeps", group=group):
        for option, process in ([], None), (["--process"], "process=python"):
            with exporting(*option) as exporter:
                def labelled(wanted=process):
                    send(V4, 200)  # the first loss finds whose it was
                    return [key for key in exporter.scrape() if f"unit={NAME}.service" in key
                            and (not wanted or "process=" in str(key))]
                series = until(labelled, 20, "a loss of the service")
            assert "stage=rcvbuf" in series[0], series
            names = [label for key in series for label in key if label.startswith("process=")]
            assert bool(names) == bool(process), series
            assert all(name.startswith(process) for name in names), series


@thorough
def every_query_returns_data():
    wanted = {*dashboard_queries(), *(expr for _, expr, _ in rules())}
    with lab(), pod() as name, exporting() as exporter, prometheus(exporter.port) as p:
        done = shell(TX, "tc", "qdisc", "add", "dev", "v-tx", "root", "tbf", "rate", "20mbit",
                     "burst", "5kb", "limit", "20kb")
        require(done.returncode == 0, done.stderr)
        missing = set(wanted)

        def answered():
            lose_everywhere()
            time.sleep(1)
            missing.difference_update([q for q in missing if p.query(q)])
            return not missing

        until(answered, 60, f"data for {missing}")
        for metric, label in dashboard_labels():
            assert p.ask(f"label/{label}/values", **{"match[]": metric}), (metric, label)
        assert p.query(f'pktledger_lost_packets_total{{pod="{name}",container="{ID[:12]}"}}'), name
        alerts = p.ask("rules")["groups"][0]["rules"]
        assert {a["name"] for a in alerts} == {n for n, _, _ in rules()}, alerts
        assert all(a["health"] == "ok" for a in alerts), alerts


@thorough
def prometheus_has_the_true_number():
    with lab(), exporting(f"udp port {PORT}") as exporter, prometheus(exporter.port) as p:
        sums = {}
        for _ in range(3):
            for stage, packets in lose().items():
                sums[stage] = sums.get(stage, 0) + packets

        def reported(stage):
            found = p.query(f'sum(pktledger_lost_packets_total{{stage="{stage}",netns="{RX}"}})')
            return found and float(found[0]["value"][1])

        until(lambda: all(reported(s) == n for s, n in sums.items()), 20, f"{sums} in Prometheus")
        assert p.query("up")[0]["value"][1] == "1"
        assert p.query("pktledger_build_info"), "the information of the build"


if __name__ == "__main__":
    main()
