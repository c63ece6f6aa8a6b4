#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the containers of tools/kubernetes run, taken from the manifests and run in namespaces that
stand for pods: with their capabilities and no others, and names that resolve when a pod is ready."""


import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import (BINARY, PATIENCE, ROOT, TIMEOUT, assert_balanced, assert_ok, assert_valid, lost,
                 main, pktledger, require, skip, thorough, until)
from ends import inside
from labs import Hosts, share

KUBERNETES = ROOT / "tools/kubernetes"
COUNT = 4000
DROPPED = 3  # the number, of so many (EACH), that the router drops
ENTRYPOINT = ["pktledger"]
# in its mount namespace: its hosts file, its name, and its capabilities only
POD = """
    mount --bind "$1" /etc/hosts
    hostname "$2"
    shift 2
    exec setpriv --bounding-set="$CAPS" --inh-caps="$CAPS" --ambient-caps=-all --no-new-privs "$@"
"""


def container_of(kind, name):
    """The container of a Job or a DaemonSet, by its name."""
    try:
        import yaml
    except ImportError:
        skip("needs python3-yaml")
    for path in KUBERNETES.glob("*/*.yaml"):
        for document in yaml.safe_load_all(path.read_text()):
            if (document["kind"], document.get("metadata", {}).get("name")) == (kind, name):
                return document["spec"]["template"]["spec"]["containers"][0]
    raise AssertionError(f"no {kind} {name}")


class Cluster(Hosts):
    """Hosts with pods on them; `files` is the root of all."""

    links = (("a", 7), ("b", 8), ("c", 9), ("d", 10))

    def __enter__(self):
        require(shutil.which("setpriv") and shutil.which("unshare"), "needs util-linux")
        self.files = Path(tempfile.mkdtemp(prefix="pl-pods-"))
        self.hosts = self.files / "hosts"
        self.hosts.write_text("127.0.0.1 localhost\n")
        super().__enter__()
        self.keep.callback(shutil.rmtree, self.files)
        return self

    def pod(self, host, name, container, **env):
        """Starts a container; paths are those of the pod's own directory."""
        directory = self.files / name
        (directory / "ledgers").mkdir(parents=True)
        (directory / "termination-log").touch()
        values = {e["name"]: e["value"] for e in container["env"] if "value" in e}
        values.update(env, COUNT=str(COUNT), RATE="8k")
        args = [re.sub(r"\$\((\w+)\)", lambda m: values.get(m[1], m[0]), arg).replace(
            "/ledgers", str(directory / "ledgers")).replace(
            "/dev/termination-log", str(directory / "termination-log"))
            for arg in container["args"]]
        caps = ",".join(["-all"] + [f"+{c.lower()}" for c in
                                    container["securityContext"]["capabilities"]["add"]])
        pod = subprocess.Popen(
            ["unshare", "--mount", "--uts", "/bin/sh", "-eu", "-c", POD, "pod", str(self.hosts),
             name, *container.get("command", ENTRYPOINT), *args],
            env={"PATH": f"{BINARY.parent}:/usr/sbin:/usr/bin:/sbin:/bin", "CAPS": caps, **values},
            preexec_fn=self.inside(host), start_new_session=True, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        pod.log, pod.name = directory / "termination-log", name
        self.keep.callback(self.end, pod)
        return pod

    @staticmethod
    def end(pod):
        """With all that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pod.pid, signal.SIGKILL)
        pod.communicate()

    def serve_name(self, host, name, container):
        """As a headless Service does: there is a name when the probe says that it is ready."""
        probe = container["readinessProbe"]["exec"]["command"]
        net = dict(self.links)[host]

        def look():
            for _ in range(1000 * PATIENCE):
                if not subprocess.run(probe, preexec_fn=self.inside(host), check=False).returncode:
                    with self.hosts.open("a") as file:
                        file.write(f"198.18.{net}.1 {name}\n")
                    return
                time.sleep(0.02)

        thread = threading.Thread(target=look)
        thread.start()
        self.keep.callback(thread.join)

    def logs(self, pods):
        """What `kubectl logs` would print of all, as one file."""
        path = self.files / "all.ledger"
        with path.open("w") as file:
            for pod in pods:
                out, err = pod.communicate(timeout=TIMEOUT)
                assert pod.returncode == 0, (pod.name, pod.log.read_text(), err)
                file.write(out)
        return str(path)


def report(*args):
    """As the comment at the top of kustomization.yaml says."""
    result = assert_ok(pktledger("report", "-j", "--join", *args))
    assert_valid(result.json)
    return result.json


def assert_losses(document):
    """Of each sender what the router has dropped; a busy host may fill the receiver's buffer, too."""
    for sender in document["senders"]:
        assert_balanced(sender, COUNT)
        assert lost(sender)["wire"] == share(DROPPED, COUNT), lost(sender)
        assert lost(sender).keys() <= {"wire", "rcvbuf"}, lost(sender)


@thorough
def senders_and_their_receiver():
    with Cluster() as cluster:
        cluster.drop("m", "forward", DROPPED)
        receiver = container_of("Job", "pktledger-receiver")
        sender = container_of("Job", "pktledger-senders")
        cluster.serve_name("b", "pktledger-receiver", receiver)
        pods = [cluster.pod("b", "pktledger-receiver", receiver)]
        pods += [cluster.pod(host, f"pktledger-senders-{i}", sender) for i, host in enumerate("acd")]
        document = report(cluster.logs(pods))["documents"][0]
        assert_balanced(document, 3 * COUNT)
        assert_losses(document)
        names = [s["start"]["hosts"]["tx"]["name"] for s in document["senders"]]
        assert sorted(names) == [f"pktledger-senders-{i}" for i in range(3)], names


@thorough
def a_mesh_of_all():
    with Cluster() as cluster:
        cluster.drop("m", "forward", DROPPED)
        node = container_of("Job", "pktledger-mesh")
        pods = []
        for i, host in enumerate("abc"):
            cluster.serve_name(host, f"pktledger-mesh-{i}.pktledger-mesh", node)
            pods.append(cluster.pod(host, f"pktledger-mesh-{i}", node, JOB_COMPLETION_INDEX=str(i)))
        out = report("--matrix", cluster.logs(pods))
        names = {f"pktledger-mesh-{i}" for i in range(3)}
        pairs = {(p["from"], p["to"]): p for p in out["matrix"]["pairs"]}
        assert pairs.keys() == {(a, b) for a in names for b in names if a != b}, pairs.keys()
        assert all(pair["balanced"] and pair["sent"] == COUNT for pair in pairs.values()), pairs
        for document in out["documents"]:
            assert_losses(document)


@thorough
def metrics_of_a_node():
    """The DaemonSet's pod answers where its port says."""
    with Cluster() as cluster:
        container = container_of("DaemonSet", "pktledger-export")
        address = "127.0.0.1", container["ports"][0]["containerPort"]
        pod = cluster.pod("a", "pktledger-export", container, HOST_IP=address[0])
        text = b""

        def scrape():
            nonlocal text
            assert pod.poll() is None, pod.communicate()
            with contextlib.suppress(ConnectionError), inside(
                    cluster.netns("a")), socket.create_connection(address) as s:
                s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                while data := s.recv(65536):
                    text += data
            return text

        until(scrape, 20, "no metrics")
        assert b"200 OK" in text and b"pktledger_build_info" in text, text


if __name__ == "__main__":
    main()
