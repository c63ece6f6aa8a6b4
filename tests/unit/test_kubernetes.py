#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The manifests of tools/kubernetes: what kustomize and the API server would refuse, and whether they
ask the program for what it has, with the capabilities that it says it needs. tests/net runs them."""

import re
import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import ROOT, case, main, pktledger, require, skip, table

KUBERNETES = ROOT / "tools/kubernetes"
PORT_OF_PACKETS, PORT_OF_METRICS = 28779, 28780
PODS = {"DaemonSet", "Job"}
# fields of what is used here; a name that is none of these is a mistake, or needs a look
KNOWN = {
    "DaemonSet": {"selector", "template"},
    "Job": {"completionMode", "completions", "parallelism", "backoffLimit", "activeDeadlineSeconds",
            "template"},
    "Service": {"clusterIP", "selector", "ports"},
    "PodMonitor": {"selector", "podMetricsEndpoints"},
    "Namespace": set(),
    "pod": {"restartPolicy", "automountServiceAccountToken", "hostNetwork", "hostPID", "dnsPolicy",
            "tolerations", "terminationGracePeriodSeconds", "topologySpreadConstraints", "affinity",
            "subdomain", "containers", "volumes"},
    "container": {"name", "image", "imagePullPolicy", "command", "args", "env", "ports",
                  "securityContext", "resources", "volumeMounts", "readinessProbe",
                  "livenessProbe"},
}


def load(path):
    try:
        import yaml
    except ImportError:
        skip("needs python3-yaml")
    return list(yaml.safe_load_all(path.read_text()))


def kustomizations():
    return sorted(path.parent for path in KUBERNETES.glob("*/kustomization.yaml"))


def manifests():
    """(path, document) of all."""
    return [(path, document) for path in sorted(KUBERNETES.glob("*/*.yaml"))
            if path.name != "kustomization.yaml" for document in load(path)]


def pods():
    """(path, document, spec of the pod) of those that have one."""
    return [(path, d, d["spec"]["template"]["spec"]) for path, d in manifests()
            if d["kind"] in PODS]


def commands(container):
    """Command lines of pktledger, as lists of words: of its arguments, or of a script."""
    if "command" not in container:
        return [container["args"]]
    script = container["args"][-1].replace("\\\n", " ")
    found = re.findall(r"^\s*pktledger (.*?)(?:>|\|\||&|$)", script, re.M)
    assert found, script
    return [[re.sub(r"\$\(\(.*?\)\)", "1", word) for word in shlex.split(
        re.sub(r"\$\(\(.*?\)\)", "1", line))] for line in found]


@case
def kustomizations_are_whole():
    """They name files that are there, all of them, and no file that is outside of their directory."""
    for directory in kustomizations():
        k = load(directory / "kustomization.yaml")[0]
        assert k["kind"] == "Kustomization", k
        named = set(k["resources"])
        for name in named:
            path = directory / name
            assert path.is_dir() or path.parent == directory and path.is_file(), path
        own = {p.name for p in directory.glob("*.yaml")} - {"kustomization.yaml"}
        text = (directory / "kustomization.yaml").read_text()
        assert own <= named | set(re.findall(r"# - (\S+)", text)), (own, named)
        if any(d["kind"] in PODS for p, d in manifests() if p.parent == directory):
            assert [i["name"] for i in k["images"]] == ["pktledger"], k
            assert k["namespace"] == "pktledger", k


@case
def fields_are_known():
    for path, d in manifests():
        where = f"{path.parent.name}/{path.name} {d['kind']}"
        assert set(d) <= {"apiVersion", "kind", "metadata", "spec"}, where
        assert set(d.get("spec", {})) <= KNOWN[d["kind"]], where
        assert re.fullmatch(r"[a-z][a-z0-9-]{0,62}", d["metadata"]["name"]), where
        assert "namespace" not in d["metadata"], f"{where}: kustomize gives it"
    for path, d, pod in pods():
        assert set(pod) <= KNOWN["pod"], path
        for container in pod["containers"]:
            assert set(container) <= KNOWN["container"], path
            mounted = {m["name"] for m in container.get("volumeMounts", [])}
            assert mounted == {v["name"] for v in pod.get("volumes", [])}, path


@case
def accepted_by_the_schemas_of_kubernetes():
    """Of the newest release and of an old one, where pip has brought them."""
    try:
        import kubernetes_validate
    except ImportError:
        skip("needs the kubernetes-validate of PyPI")
    for path, d in manifests():
        if d["kind"] == "PodMonitor":
            continue  # the operator's
        for version in "1.27", kubernetes_validate.latest_version():
            kubernetes_validate.validate(d, version, strict=True)


def matches(selector, labels):
    return selector.items() <= labels.items()


@case
def selectors_match():
    """Each finds pods of its own directory, and those that it should not find it does not."""
    for path, d in manifests():
        selector = d.get("spec", {}).get("selector")
        if not selector:
            continue
        selector = selector.get("matchLabels", selector)
        found = [o["metadata"]["name"] for _, o, _ in pods()
                 if matches(selector, o["spec"]["template"]["metadata"]["labels"])]
        assert len(found) == 1 and found[0].startswith(d["metadata"]["name"]), (path, found)
    for path, d, pod in pods():
        terms = [c["labelSelector"] for c in pod.get("topologySpreadConstraints", [])]
        for rules in pod.get("affinity", {}).values():
            for rule in rules.get("requiredDuringSchedulingIgnoredDuringExecution", []):
                terms.append(rule["labelSelector"])
            for rule in rules.get("preferredDuringSchedulingIgnoredDuringExecution", []):
                terms.append(rule["podAffinityTerm"]["labelSelector"])
        for term in terms:
            assert any(matches(term["matchLabels"], o["spec"]["template"]["metadata"]["labels"])
                       for p, o, _ in pods() if p.parent == path.parent), (path, term)
        if "subdomain" in pod:
            assert any(o["kind"] == "Service" and o["metadata"]["name"] == pod["subdomain"]
                       for p, o in manifests() if p.parent == path.parent), path


DIRECTORIES = [(name, name) for name in ("export", "senders", "mesh")]


def containers(directory):
    """(path, document, container, its command lines, the program's tables) of a directory."""
    tables = {c["name"]: c for c in pktledger("help", "-j").json["commands"]}
    for path, d, pod in pods():
        for container in pod["containers"] if path.parent.name == directory else []:
            lines = commands(container)
            missing = {words[0] for words in lines} - set(tables)
            require(not missing, f"this program has no command {', '.join(missing)}")
            yield path, d, container, lines, tables


def needed(words, rows):
    """Capabilities of a command line by the program's own table, and those that are of use."""
    given = {word.split("=")[0] for word in words}
    rows = [n for n in rows if not n["when"]
            or any(w.split()[0] in given for w in n["when"].split(", "))]
    names = {n["name"] for n in rows if not n["without"]}
    return names, names | {n["name"] for n in rows}


@table(DIRECTORIES)
def capabilities(directory):
    """All that the program needs, nothing that it has no use for, and no other privilege."""
    for path, d, container, lines, tables in containers(directory):
        pod, context = d["spec"]["template"]["spec"], container["securityContext"]
        assert context["capabilities"]["drop"] == ["ALL"], path
        assert context["runAsUser"] == 0, f"{path}: added ones are root's only"
        assert not context["privileged"] and not context["allowPrivilegeEscalation"], path
        assert context["readOnlyRootFilesystem"], path
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}, path
        assert pod["automountServiceAccountToken"] is False, path
        assert d["kind"] == "DaemonSet" or not {"hostNetwork", "hostPID"} & set(pod), path
        added = {f"CAP_{name}" for name in context["capabilities"]["add"]}
        least, most = set(), set()
        for words in lines:
            need, use = needed(words, tables[words[0]]["capabilities"])
            least |= need
            most |= use
        assert least <= added <= most, (path, added, least, most)
        if d["kind"] == "Job":
            assert added == least, (path, added, least)


@table(DIRECTORIES)
def options(directory):
    """Each command and each option exists, and takes such a value."""
    for path, _, container, lines, tables in containers(directory):
        values = {e["name"]: e.get("value", "127.0.0.1") for e in container.get("env", [])}
        for words in lines:
            known = set()
            for option in (o for g in tables[words[0]]["groups"] for o in g["options"]):
                known |= {f"--{option['name']}", f"-{option['letter']}"}
            for word in words[1:]:
                assert not word.startswith("-") or word in known, (path, word)
            line = [re.sub(r"\$\(?(\w+)\)?", lambda m: values.get(m[1], "127.0.0.1"), w)
                    for w in words]
            assert not any("$" in w for w in line), line
            result = pktledger(*line, "--help")
            assert result.status == 0, (path, line, result.err)


@case
def ports_are_the_programs():
    for path, d in manifests():
        if d["kind"] == "Service":
            assert d["spec"]["clusterIP"] == "None", "a virtual address is not the path of packets"
            assert [(p["port"], p["protocol"]) for p in d["spec"]["ports"]] == [
                (PORT_OF_PACKETS, "UDP")], path
    for path, d, pod in pods():
        for container in pod["containers"]:
            probe = container.get("readinessProbe", {}).get("exec", {}).get("command")
            if probe:
                assert f":{PORT_OF_PACKETS:04X} " in probe, path
            for port in container.get("ports", []):
                assert port["containerPort"] == (PORT_OF_METRICS if d["kind"] == "DaemonSet"
                                                 else PORT_OF_PACKETS), path
    for path, d in manifests():
        for endpoint in d["spec"].get("podMetricsEndpoints", []) if "spec" in d else []:
            names = {p["name"] for f, _, pod in pods() if f.parent == path.parent
                     for c in pod["containers"] for p in c["ports"]}
            assert endpoint["port"] in names, path


@case
def counts_agree():
    """As many senders as the receiver waits for; a mesh of as many as it is said to be."""
    job = {d["metadata"]["name"]: (d["spec"], pod["containers"][0]) for _, d, pod in pods()}
    senders, _ = job["pktledger-senders"]
    _, receiver = job["pktledger-receiver"]
    mesh, node = job["pktledger-mesh"]
    value = {c["name"]: {e["name"]: e.get("value") for e in c["env"]} for c in (receiver, node)}
    assert senders["completions"] == senders["parallelism"] == int(value["recv"]["STREAMS"])
    assert mesh["completions"] == mesh["parallelism"] == int(value["mesh"]["NODES"])
    assert senders["completionMode"] == mesh["completionMode"] == "Indexed"


if __name__ == "__main__":
    main()
