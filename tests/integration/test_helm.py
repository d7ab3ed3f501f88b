#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Helm chart, and the objects in deploy/kubernetes that are rendered from it, agree with the daemon and with
Kubernetes.

Debian has neither helm nor a schema of Kubernetes. So these cases check the objects in deploy/kubernetes, and a digest
shows that they come from this chart. If helm is installed, the last case renders the chart with every value, and the
same checks run. KINDS and FIELDS have the fields that `kubernetes-validate --strict` of PyPI accepted, so the checks
find a misspelt field."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import yaml

from certificates import Authority
from harness import BUILD, DAEMON, ROOT, Server, Skip, case, check, equal, eventually, free_port, main, run
from replication import SMALL
from shard import Etcd, needs_etcd

CHART = ROOT / "deploy/helm/sherwood"
MODES = ("single", "shard", "cluster")
LABELS = {"app.kubernetes.io/name": "sherwood", "app.kubernetes.io/instance": "sherwood"}
# A kind has a version, fields that its spec must have, and fields that it may have.
KINDS = {
    "ServiceAccount": ("v1", "", ""),
    "ConfigMap": ("v1", "", ""),
    "Service": ("v1", "selector ports", "clusterIP publishNotReadyAddresses"),
    "PodDisruptionBudget": ("policy/v1", "maxUnavailable selector", ""),
    "NetworkPolicy": ("networking.k8s.io/v1", "podSelector policyTypes ingress", ""),
    "StatefulSet": ("apps/v1", "serviceName replicas selector template volumeClaimTemplates", "podManagementPolicy minReadySeconds"),
    "Job": ("batch/v1", "template", "backoffLimit ttlSecondsAfterFinished"),
    "ServiceMonitor": ("monitoring.coreos.com/v1", "selector endpoints", "jobLabel"),
    "PrometheusRule": ("monitoring.coreos.com/v1", "groups", ""),
}
FIELDS = {
    "object": "apiVersion kind metadata spec data automountServiceAccountToken imagePullSecrets",
    "pod": "serviceAccountName automountServiceAccountToken terminationGracePeriodSeconds securityContext topologySpreadConstraints"
           " initContainers containers volumes restartPolicy hostIPC hostPID nodeSelector tolerations priorityClassName",
    "securityContext of a pod": "runAsNonRoot runAsUser runAsGroup fsGroup fsGroupChangePolicy seccompProfile",
    "container": "name image command args env ports startupProbe livenessProbe readinessProbe lifecycle resources securityContext volumeMounts",
    "probe": "httpGet periodSeconds timeoutSeconds failureThreshold",
    "mount": "name mountPath readOnly",
    "volume": "name secret configMap hostPath",
}


def known(what, value):
    equal(set(value) - set(FIELDS[what].split()), set(), f"fields of a {what}")


def objects_of(text):
    return [each for each in yaml.safe_load_all(text) if each]


def rendered(mode):
    return objects_of((ROOT / f"deploy/kubernetes/{mode}.yaml").read_text(encoding="utf-8"))


def of_kind(objects, *kinds):
    return [each for each in objects if each["kind"] in kinds]


def templates(objects):
    """The pods' templates: of the servers, and of the job."""
    return [each["spec"]["template"] for each in of_kind(objects, "StatefulSet", "Job")]


def containers(objects):
    return [one for each in templates(objects) for one in each["spec"]["containers"]]


# --- what Kubernetes requires --------------------------------------------------------------------------


def check_container(container):
    known("container", container)
    for name in ("name", "image", "securityContext"):
        check(container[name], name)
    for mount in container["volumeMounts"]:
        known("mount", mount)
    for port in container.get("ports", ()):
        equal(set(port), {"name", "containerPort"}, "port")


def check_objects(objects):
    """Checks each object: its kind's version, a name, labels, the required fields and no others; names are unique."""
    for each in objects:
        known("object", each)
        version, needed, allowed = KINDS[each["kind"]]
        equal(each["apiVersion"], version, each["kind"])
        name, labels = each["metadata"]["name"], each["metadata"]["labels"]
        check(re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", name), name)
        equal(labels["app.kubernetes.io/name"], "sherwood", name)
        spec = set(each.get("spec", {}))
        check(set(needed.split()) <= spec <= {*needed.split(), *allowed.split()}, f"{each['kind']} {name}: {spec}")
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    equal(len(names), len(set(names)), f"names: {names}")
    for template in templates(objects):
        pod = template["spec"]
        known("pod", pod)
        known("securityContext of a pod", pod["securityContext"])
        for volume in pod["volumes"] or ():
            known("volume", volume)
        for container in pod["containers"]:
            check_container(container)


def selectors(objects):
    for each in objects:
        spec = each.get("spec", {})
        if each["kind"] == "Service":
            yield each, {k: v for k, v in spec["selector"].items() if k != "statefulset.kubernetes.io/pod-name"}
        elif each["kind"] == "NetworkPolicy":
            yield each, spec["podSelector"]["matchLabels"]
        elif each["kind"] in ("StatefulSet", "PodDisruptionBudget"):
            yield each, spec["selector"]["matchLabels"]


def check_joined(objects):
    """Checks that selectors match the servers and never the job, and that named ports, volumes, services and accounts
    exist."""
    sets, names = of_kind(objects, "StatefulSet"), {(each["kind"], each["metadata"]["name"]) for each in objects}
    servers = [each["spec"]["template"]["metadata"]["labels"].items() for each in sets]
    others = [each["spec"]["template"]["metadata"]["labels"].items() for each in of_kind(objects, "Job")]
    for each, selector in selectors(objects):
        check(any(selector.items() <= labels for labels in servers), f"{each['kind']} selects no server: {selector}")
        check(not selector or not any(selector.items() <= labels for labels in others), f"{each['kind']} selects the job")
    pods = {f"{each['metadata']['name']}-{i}" for each in sets for i in range(each["spec"]["replicas"])}
    for service in of_kind(objects, "Service"):
        pod = service["spec"]["selector"].get("statefulset.kubernetes.io/pod-name")
        check(pod is None or pod in pods and pod == service["metadata"]["name"], pod)
    for each in sets:
        headless, = [s for s in of_kind(objects, "Service") if s["metadata"]["name"] == each["spec"]["serviceName"]]
        equal((headless["spec"]["clusterIP"], headless["spec"]["publishNotReadyAddresses"]), ("None", True), "the headless service")
        budgets = [b for b in of_kind(objects, "PodDisruptionBudget") if b["spec"]["selector"] == each["spec"]["selector"]]
        equal(len(budgets), 1, f"budgets of {each['metadata']['name']}")
    for template in templates(objects):
        pod = template["spec"]
        check(("ServiceAccount", pod["serviceAccountName"]) in names, "service account")
        volumes = {volume["name"] for volume in pod["volumes"] or ()} | ({"data"} if template["metadata"]["labels"].items() in servers else set())
        for container in pod["containers"] + pod.get("initContainers", []):
            check({mount["name"] for mount in container["volumeMounts"]} <= volumes, "volumes")
        for volume in pod["volumes"] or ():
            check("configMap" not in volume or ("ConfigMap", volume["configMap"]["name"]) in names, volume)
    ports = {port["name"]: port["containerPort"] for each in sets for port in each["spec"]["template"]["spec"]["containers"][0]["ports"]}
    for service in of_kind(objects, "Service"):
        for port in service["spec"]["ports"]:
            equal(ports[port["targetPort"]], port["port"], service["metadata"]["name"])


def check_confined(objects):
    """Checks that the pods need no rights: no root, no capability, a read-only root file system, secrets for their
    group only."""
    image = (ROOT / "deploy/container/Containerfile").read_text(encoding="utf-8")
    user = tuple(map(int, re.search(r"^USER (\d+):(\d+)$", image, re.M).groups()))
    for template in templates(objects):
        context = template["spec"]["securityContext"]
        equal((context["runAsUser"], context["runAsGroup"]), user, "the image's user")
        check(context["runAsNonRoot"] and context["fsGroup"] == user[1], context)
        check(not template["spec"]["automountServiceAccountToken"], "no token of Kubernetes")
        for volume in template["spec"]["volumes"] or ():
            check("secret" not in volume or volume["secret"]["defaultMode"] == 0o440, volume)
    for container in containers(objects):
        equal(container["securityContext"], {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                             "capabilities": {"drop": ["ALL"]}}, container["name"])


# --- what the daemon requires --------------------------------------------------------------------------


class Place:
    """The folders of containers, in a temporary one."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        for name in ("data", "sockets"):
            (self.folder / name).mkdir()
        self.mount("users", {"password": "a secret\n", "users.acl": "user default on nopass ~* +@all\n"})

    def sign(self):
        """Makes the Secrets for TLS."""
        with Authority() as authority:
            for where in ("tls", "etcd"):
                certificate, key = authority.sign(where)
                files = {"tls.crt": certificate, "tls.key": key, "ca.crt": authority.ca}
                self.mount(where, {name: path.read_text(encoding="utf-8") for name, path in files.items()})

    def mount(self, where, files):
        """Writes a Secret or a ConfigMap as Kubernetes mounts it: the files are links to links."""
        place = self.folder / where
        (place / "..2026").mkdir(parents=True)
        place.chmod(0o1777)
        (place / "..data").symlink_to("..2026")
        for name, text in files.items():
            path = place / "..2026" / name
            path.write_text(text, encoding="utf-8")
            path.chmod(0o440)
            (place / name).symlink_to(f"..data/{name}")

    def here(self, argument, pod="sherwood-0"):
        """Returns an argument as the container gets it, with paths of this folder."""
        for variable, value in (("$(POD)", pod), ("$(NAMESPACE)", "default"), ("$(NUMBER)", pod[-1]),
                                ("/run/secrets", str(self.folder)), ("/var/lib/sherwood", f"{self.folder}/data"),
                                ("/run/sherwood", f"{self.folder}/sockets"), ("/etc/topology", f"{self.folder}/topology")):
            argument = argument.replace(variable, value)
        check("$(" not in argument, argument)
        return argument


def server_of(stateful):
    found, = stateful["spec"]["template"]["spec"]["containers"]
    return found


def check_commands(objects):
    """Checks that the daemon accepts the arguments of every server, and that the container defines their variables."""
    for stateful in of_kind(objects, "StatefulSet"):
        container = server_of(stateful)
        variables = {each["name"] for each in container["env"]}
        check(set(re.findall(r"\$\((\w+)\)", " ".join(container["args"]))) <= variables, variables)
        with tempfile.TemporaryDirectory(prefix="sherwood-helm-") as folder:
            place = Place(folder)
            if any("tls.crt" in each for each in container["args"]):
                place.sign()
            arguments = [place.here(each).replace("--backend=cuda", "--backend=auto") for each in container["args"]]
            said = run(DAEMON, *arguments, "--check-config", rc=None)
            if "built without libcurl" not in said:
                run(DAEMON, *arguments, "--check-config")
                options = dict(re.findall(r"^([a-z-]+) = (.*)$", said, re.M))
                ports = {port["name"]: str(port["containerPort"]) for port in container["ports"]}
                equal((options["port"], options["http-port"]), (ports["sherwood"], ports["http"]), "ports")
    unit = (ROOT / "deploy/sherwoodd.service").read_text(encoding="utf-8")
    stop = int(re.search(r"^TimeoutStopSec=(\d+)$", unit, re.M).group(1))
    for stateful in of_kind(objects, "StatefulSet"):
        *command, seconds = server_of(stateful)["lifecycle"]["preStop"]["exec"]["command"]
        equal(command, ["sleep"], "preStop")
        check(stateful["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= stop + int(seconds), "the time to stop")


CHECKS = (check_objects, check_joined, check_confined, check_commands)


# --- the schema of the values --------------------------------------------------------------------------
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}


def of_type(value, names):
    names = [names] if isinstance(names, str) else names
    return any(isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool)) for name in names)


def faults(value, schema, path="$"):
    """Returns the faults of a value, by the keywords of JSON Schema that the chart's schema uses."""
    words = {"$schema", "title", "type", "properties", "additionalProperties", "required", "items", "maxItems", "minLength", "minimum",
             "maximum", "pattern", "propertyNames", "not", "enum"}
    equal(set(schema) - words, set(), f"words of the schema at {path}")
    if not of_type(value, schema.get("type", list(TYPES))):
        return [f"{path}: not of type {schema['type']}"]
    found = []
    if isinstance(value, dict):
        properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        for name, each in value.items():
            if name in properties or isinstance(more, dict):
                found += faults(each, properties.get(name, more), f"{path}.{name}")
            elif not more:
                found.append(f"{path}.{name}: unknown")
            found += faults(name, schema.get("propertyNames", {}), f"{path}.{name}")
        found += [f"{path}.{name}: missing" for name in schema.get("required", ()) if name not in value]
    elif isinstance(value, list):
        found += [fault for i, each in enumerate(value) for fault in faults(each, schema.get("items", {}), f"{path}[{i}]")]
        found += [f"{path}: too long"] * (len(value) > schema.get("maxItems", len(value)))
    elif isinstance(value, str):
        found += [f"{path}: does not match"] * (re.search(schema.get("pattern", ""), value) is None)
        found += [f"{path}: too short"] * (len(value) < schema.get("minLength", 0))
    elif isinstance(value, int):
        found += [f"{path}: out of range"] * (not schema.get("minimum", value) <= value <= schema.get("maximum", value))
    found += [f"{path}: not in the list"] * ("enum" in schema and value not in schema["enum"])
    found += [f"{path}: forbidden"] * ("not" in schema and not faults(value, schema["not"], path))
    return found


def values_of(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@case
def values():
    """values.schema.json accepts and lists the values of the chart and of the samples, and refuses wrong ones"""
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    whole = values_of(CHART / "values.yaml")
    equal(set(schema["properties"]) - {"global"}, set(whole), "values")
    for name in ("etcd", "users", "tls", "storage", "local"):
        equal(set(schema["properties"][name]["properties"]), set(whole[name]), name)
    equal(faults(whole, schema), [], "values.yaml")
    for path in (ROOT / "deploy/helm").glob("*.yaml"):
        equal(faults(values_of(path), schema), [], path.name)
    for wrong in ({"members": 0}, {"members": 10}, {"members": "3"}, {"replicas": 3}, {"gpu": 1}, {"options": {"loops": 2}}, {"image": ""},
                  {"options": {"port": "7000"}}, {"etcd": {"endpoints": ["etcd"]}}, {"local": {"socketDirectory": "run"}},
                  {"storage": {"size": "many"}}, {"imagePullSecrets": [{}]}, {"tls": {"cert": "x"}}):
        equal(len(faults(wrong, schema)), 1, f"{wrong}: {faults(wrong, schema)}")
    known_options = run(DAEMON, "--help")
    for name in [*whole["options"], *schema["properties"]["options"]["propertyNames"]["not"]["enum"]]:
        check(f"--{name} " in known_options, f"{name} is no option")


@case
def current():
    """deploy/kubernetes is rendered from this chart, with the Makefile's version and deploy's monitoring files"""
    for mode in MODES:
        sources = {*(CHART / "templates").iterdir(), CHART / "values.yaml",
                   CHART / "values.yaml" if mode == "single" else ROOT / f"deploy/helm/{mode}.yaml"}
        names = sorted(path.relative_to(ROOT / "deploy/helm").as_posix() for path in sources)
        digest = hashlib.sha256(b"".join((ROOT / "deploy/helm" / name).read_bytes() for name in names)).hexdigest()
        text = (ROOT / f"deploy/kubernetes/{mode}.yaml").read_text(encoding="utf-8")
        equal(re.findall("^# sources: (.*)$", text, re.M), [digest], f"{mode}.yaml is old: run deploy/helm/render where helm is")
    version = re.search(r"^VERSION := (\S+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M).group(1)
    chart = values_of(CHART / "Chart.yaml")
    equal((chart["version"], chart["appVersion"]), (version, version), "the version in Chart.yaml")
    for name, home in (("sherwood.rules.yml", "prometheus"), ("sherwood.json", "grafana")):
        equal((CHART / "files" / name).resolve(), ROOT / "deploy" / home / name, name)


@case
def objects():
    """the objects of each mode have what Kubernetes and the daemon require"""
    for mode in MODES:
        for each in CHECKS:
            each(rendered(mode))
    equal([len(of_kind(rendered(mode), "StatefulSet")) for mode in MODES], [1, 1, 2], "sets of pods")
    equal([s["spec"]["replicas"] for mode in MODES for s in of_kind(rendered(mode), "StatefulSet")], [1, 3, 2, 2], "pods")


def pairs(arguments):
    """Returns --name=value as the flags of a Server."""
    return [part for argument in arguments for part in argument.split("=", 1)]


@case
def single():
    """a server with the arguments of its pod replies to the probes, asks for the password, and makes its files in the volume"""
    stateful, = of_kind(rendered("single"), "StatefulSet")
    with tempfile.TemporaryDirectory(prefix="sherwood-helm-") as folder:
        place = Place(folder)
        flags = pairs(place.here(each) for each in server_of(stateful)["args"])
        flags += ["--bind", "127.0.0.1", "--http-bind", "127.0.0.1", "--port", "0", "--http-port", "0", *SMALL]
        with Server(*flags) as server:
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                known("probe", server_of(stateful)[probe])
                where = server_of(stateful)[probe]["httpGet"]
                equal((server.http(where["path"])[0], where["port"]), (200, "http"), probe)
            check("NOAUTH" in server.redis_cli("GET", "1"), "no password, no keys")
            equal(server.redis_cli("-a", "a secret", "--no-auth-warning", "SET", "1", "2").strip(), "OK", "with it")
        check(any((place.folder / "data").iterdir()), "files in the volume")


class Pod:
    """A pod of the cluster, run as a daemon on its own port."""

    def __init__(self, stateful, number, etcd):
        self.name, self.port = f"{stateful['metadata']['name']}-{number}", free_port()
        self.arguments, self.etcd = server_of(stateful)["args"], ",".join(f"127.0.0.1:{port}" for port in etcd.clients)

    def start(self, place):
        (place.folder / "data" / self.name).mkdir()
        text = "\n".join(place.here(each, self.name) for each in self.arguments)
        text = text.replace(f"{self.name}.sherwood-headless.default:7379", f"127.0.0.1:{self.port}")
        text = re.sub(r"etcd://[^/]+/", f"etcd://{self.etcd}/", text).replace(f"{place.folder}/data", f"{place.folder}/data/{self.name}")
        flags = [*pairs(text.split("\n")), "--bind", "127.0.0.1", "--http-bind", "127.0.0.1", "--port", str(self.port), "--http-port", "0"]
        self.server = Server(*flags, *SMALL, ready=503, errors=".").start()
        return self.server


def write_topology(place, pods):
    """topology.json of the ConfigMap, with the addresses of these pods."""
    config, = of_kind(rendered("cluster"), "ConfigMap")
    text = config["data"]["topology.json"]
    for pod in pods:
        text, count = re.subn(rf'"ip": "{pod.name}", "port": 7379', f'"ip": "127.0.0.1", "port": {pod.port}', text)
        equal(count, 1, pod.name)
    place.mount("topology", {"topology.json": text})


def run_job(place, port, rc=0):
    job, = of_kind(rendered("cluster"), "Job")
    command = [place.here(each) for each in job["spec"]["template"]["spec"]["containers"][0]["command"]]
    equal((command[0], command[1], command[2]), ("sherwood-cli", "-h", "sherwood-s0-0.sherwood-headless.default"), "the job's command")
    return run(BUILD / "sherwood-cli", "-h", "127.0.0.1", "-p", port, *command[3:], rc=rc)


@case
@needs_etcd
def cluster():
    """the pods of a cluster are ready once the job has written the topology; together they serve every key"""
    sets = of_kind(rendered("cluster"), "StatefulSet")
    with Etcd() as etcd, tempfile.TemporaryDirectory(prefix="sherwood-helm-") as folder:
        place, pods = Place(folder), [Pod(each, number, etcd) for each in sets for number in range(each["spec"]["replicas"])]
        write_topology(place, pods)
        try:
            for pod in pods:
                pod.start(place)
            # Kubernetes repeats a job that failed: the node may not have heard from etcd yet.
            eventually(lambda: re.match("OK|the node keeps", run_job(place, pods[0].port, rc=None)), lambda: run_job(place, pods[0].port))
            for pod in pods:
                eventually(lambda pod=pod: pod.server.http("/readyz")[0] == 200, lambda pod=pod: f"{pod.name}: {pod.server.http('/readyz')}", 60)
            check("keeps its topology" in run_job(place, pods[0].port), "the job once more")
            for key in range(8):
                eventually(lambda key=key: "OK" in pods[0].server.redis_cli("-c", "-a", "a secret", "--no-auth-warning", "SET", key, "1"),
                           f"key {key}", 60)
        finally:
            for pod in pods:
                if hasattr(pod, "server"):
                    pod.server.kill()
                    shutil.rmtree(pod.server.directory, ignore_errors=True)


# --- with helm -----------------------------------------------------------------------------------------
EVERYTHING = {
    "shards": 2, "members": 3, "etcd": {"endpoints": ["e1:2379"], "secret": "etcd"}, "tls": {"secret": "tls"}, "gpu": True,
    "users": {"secret": "people", "name": "member", "acl": True}, "imagePullSecrets": [{"name": "registry"}], "monitoring": True,
    "local": {"socketDirectory": "/run/sherwood", "gpu": True, "mpsDirectory": "/run/nvidia-mps"}, "storage": {"className": "fast"},
    "options": {"capacity": "64M", "save": None, "read-durable": False}, "pod": {"priorityClassName": "high"},
}


def helm(*arguments, rc=0):
    result = subprocess.run(["helm", *map(str, arguments)], text=True, capture_output=True, check=False, timeout=120, cwd=ROOT / "deploy/helm",
                            env={**os.environ, "HELM_NO_PLUGINS": "1"})
    equal(result.returncode, rc, f"helm {arguments}: {result.stdout[-2000:]}{result.stderr[-2000:]}")
    return result.stdout if rc == 0 else result.stderr


def monitored(objects):
    """Checks that the ServiceMonitor's job is that of the rules, and that dashboard and rules are deploy's own."""
    monitor, = of_kind(objects, "ServiceMonitor")
    service, = [each for each in of_kind(objects, "Service")
                if monitor["spec"]["selector"]["matchLabels"].items() <= each["metadata"]["labels"].items()]
    equal(service["metadata"]["labels"][monitor["spec"]["jobLabel"]], "sherwood", "the job of the rules")
    equal({each["port"] for each in monitor["spec"]["endpoints"]} - {port["name"] for port in service["spec"]["ports"]}, set(), "ports")
    rules, = of_kind(objects, "PrometheusRule")
    equal(rules["spec"], values_of(ROOT / "deploy/prometheus/sherwood.rules.yml"), "rules")
    dashboard, = [each for each in of_kind(objects, "ConfigMap") if "sherwood.json" in each["data"]]
    equal(dashboard["data"]["sherwood.json"], (ROOT / "deploy/grafana/sherwood.json").read_text(encoding="utf-8"), "dashboard")


@case
def with_helm():
    """helm lints the chart, renders deploy/kubernetes unchanged, and refuses invalid values"""
    if not shutil.which("helm"):
        raise Skip("helm is not installed (Debian has no package)")
    for mode in MODES:
        chosen = ("--values", "sherwood/values.yaml" if mode == "single" else f"{mode}.yaml")
        helm("lint", "--strict", "sherwood", *chosen)
        equal(objects_of(helm("template", "sherwood", "sherwood", *chosen)), rendered(mode), f"{mode}.yaml")
    gpu = objects_of(helm("template", "sherwood", "sherwood", "--values", "gpu.yaml"))
    equal(server_of(of_kind(gpu, "StatefulSet")[0])["resources"]["limits"]["nvidia.com/gpu"], 1, "a GPU a pod")
    with tempfile.TemporaryDirectory(prefix="sherwood-helm-") as folder:
        path = pathlib.Path(folder, "values.yaml")
        path.write_text(yaml.safe_dump(EVERYTHING), encoding="utf-8")
        whole = objects_of(helm("template", "sherwood", "sherwood", "--values", path))
    little = objects_of(helm("template", "sherwood", "sherwood", "--set", "users.secret=,networkPolicy=false"))
    for each in CHECKS:
        for rendering in (gpu, whole, little):
            each(rendering)
    monitored(whole)
    for wrong, said in (("members=2", "set etcd.endpoints"), ("shards=2", "set etcd.endpoints"), ("members=11", "members"),
                        ("local.gpu=true", "set gpu and local.socketDirectory")):
        check(said in helm("template", "sherwood", "sherwood", "--set", wrong, rc=1), wrong)
    check("choose a shorter name" in helm("template", "s" * 40, "sherwood", rc=1), "a long name")


if __name__ == "__main__":
    main()
