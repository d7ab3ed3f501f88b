#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Containerfile and Kubernetes' objects: what they say of the daemon is held against the daemon.

A schema of Kubernetes is not to be had from Debian. `kubernetes-validate --strict deploy/kubernetes/sherwood.yaml`
of PyPI has one; the fields used here are those it has accepted (KNOWN), so that a misspelt one is found.
"""

import pathlib
import re
import tempfile

import yaml

from harness import DAEMON, ROOT, Server, case, check, equal, main, run

OBJECTS = list(yaml.safe_load_all((ROOT / "deploy/kubernetes/sherwood.yaml").read_text(encoding="utf-8")))
CONTAINERFILE = (ROOT / "deploy/container/Containerfile").read_text(encoding="utf-8")
VERSIONS = {"ServiceAccount": "v1", "ConfigMap": "v1", "Service": "v1", "Secret": "v1", "PodDisruptionBudget": "policy/v1",
            "NetworkPolicy": "networking.k8s.io/v1", "StatefulSet": "apps/v1"}
# Fields of an object by the kind, of what lies in it by the name of the field it is in.
KNOWN = {
    "spec of Service": "clusterIP publishNotReadyAddresses selector ports",
    "spec of PodDisruptionBudget": "maxUnavailable selector",
    "spec of NetworkPolicy": "podSelector policyTypes ingress",
    "spec of StatefulSet": "serviceName replicas podManagementPolicy selector template volumeClaimTemplates",
    "pod": "serviceAccountName automountServiceAccountToken terminationGracePeriodSeconds securityContext containers volumes",
    "pod's securityContext": "runAsNonRoot runAsUser runAsGroup fsGroup fsGroupChangePolicy seccompProfile",
    "container": "name image args env ports startupProbe livenessProbe readinessProbe resources securityContext volumeMounts",
    "container's securityContext": "allowPrivilegeEscalation readOnlyRootFilesystem capabilities",
    "probe": "httpGet periodSeconds timeoutSeconds failureThreshold",
    "volumeMount": "name mountPath readOnly",
}


def known(what, value):
    equal(set(value) - set(KNOWN[what].split()), set(), f"fields of a {what}")


def the(kind, name="sherwood"):
    found, = [o for o in OBJECTS if o["kind"] == kind and o["metadata"]["name"] == name]
    return found


def pod():
    return the("StatefulSet")["spec"]["template"]["spec"]


def container():
    found, = pod()["containers"]
    return found


def volume_at(path):
    """The volume that is mounted there."""
    mount, = [m for m in container()["volumeMounts"] if m["mountPath"] == path]
    found, = [v for v in pod()["volumes"] if v["name"] == mount["name"]]
    return found


def options_of(text):
    """{option: value} of a configuration."""
    return dict(re.findall(r"^([a-z-]+) = (.*)$", text, re.M))


@case
def objects():
    """every object has its kind's version, labels, and no field that its kind does not have"""
    for each in OBJECTS:
        equal(each["apiVersion"], VERSIONS[each["kind"]], each["kind"])
        equal(each["metadata"]["labels"], {"app.kubernetes.io/name": "sherwood"}, each["kind"])
        if f"spec of {each['kind']}" in KNOWN:
            known(f"spec of {each['kind']}", each["spec"])
    known("pod", pod())
    known("pod's securityContext", pod()["securityContext"])
    known("container", container())
    known("container's securityContext", container()["securityContext"])
    for mount in container()["volumeMounts"]:
        known("volumeMount", mount)


@case
def joined():
    """selectors find the pods, ports and volumes that are named exist, the headless service is the set's"""
    stateful = the("StatefulSet")["spec"]
    labels = stateful["template"]["metadata"]["labels"]
    selectors = [stateful["selector"]["matchLabels"], the("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
                 the("NetworkPolicy")["spec"]["podSelector"]["matchLabels"]]
    services = [o for o in OBJECTS if o["kind"] == "Service"]
    selectors += [service["spec"]["selector"] for service in services]
    for selector in selectors:
        equal({k: labels.get(k) for k in selector}, selector, "selector")
    equal(the("Service", stateful["serviceName"])["spec"]["clusterIP"], "None", "the headless service")
    ports = {port["name"]: port["containerPort"] for port in container()["ports"]}
    for service in services:
        for port in service["spec"]["ports"]:
            equal(ports[port["targetPort"]], port["port"], service["metadata"]["name"])
    for rule in the("NetworkPolicy")["spec"]["ingress"]:
        check(all(port["port"] in ports for port in rule["ports"]), rule)
    volumes = {volume["name"] for volume in pod()["volumes"]}
    volumes |= {claim["metadata"]["name"] for claim in stateful["volumeClaimTemplates"]}
    equal({mount["name"] for mount in container()["volumeMounts"]}, volumes, "volumes")
    for volume in pod()["volumes"]:
        if "configMap" in volume:
            the("ConfigMap", volume["configMap"]["name"])
    equal(pod()["serviceAccountName"], the("ServiceAccount")["metadata"]["name"], "service account")


@case
def configured():
    """the ConfigMap's configuration is accepted; ports, paths and the time to stop are the daemon's"""
    text, = the("ConfigMap")["data"].values()
    name, = the("ConfigMap")["data"]
    options = options_of(text)
    ports = {port["name"]: str(port["containerPort"]) for port in container()["ports"]}
    equal((options["port"], options["http-port"]), (ports["sherwood"], ports["http"]), "ports")
    mounts = {mount["name"]: mount["mountPath"] for mount in container()["volumeMounts"]}
    equal(options["data-dir"], mounts["data"], "the data directory is the volume")
    check(f'"--config", "{mounts["configuration"]}/{name}"' in CONTAINERFILE, "the image reads the ConfigMap")
    unit = (ROOT / "deploy/sherwoodd.service").read_text(encoding="utf-8")
    stop = int(re.search(r"^TimeoutStopSec=(\d+)$", unit, re.M).group(1))
    check(pod()["terminationGracePeriodSeconds"] >= stop, "the time to stop")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, name)
        secret = pathlib.Path(folder, "password")
        secret.write_text("a secret\n", encoding="utf-8")
        secret.chmod(0o440)
        path.write_text(text.replace(options["requirepass-file"], str(secret)), encoding="utf-8")
        equal(volume_at("/run/secrets/sherwood")["secret"]["defaultMode"], 0o440, "the password's mode")
        equal(options["requirepass-file"], "/run/secrets/sherwood/password", "the password")
        run(DAEMON, "--config", path, "--data-dir", folder, "--check-config")
        command = [part for pair in ((f"--{k}", v) for k, v in options.items()) for part in pair]
        small = {"--port": "0", "--http-port": "0", "--bind": "127.0.0.1", "--http-bind": "127.0.0.1", "--data-dir": folder,
                 "--requirepass-file": str(secret), "--capacity": "64K", "--max-capacity": "256K"}
        given = dict(zip(command[::2], command[1::2]))
        with Server(*[part for pair in {**given, **small}.items() for part in pair]) as server:
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                known("probe", container()[probe])
                where = container()[probe]["httpGet"]
                equal((server.http(where["path"])[0], where["port"]), (200, "http"), probe)
            check("NOAUTH" in server.redis_cli("GET", "1"), "no password, no keys")
            equal(server.redis_cli("-a", "a secret", "--no-auth-warning", "SET", "1", "2").strip(), "OK", "with it")
    limits = container()["resources"]["limits"]
    equal(limits["nvidia.com/gpu"], 1, "a GPU a pod")


@case
def confined():
    """the pod needs no rights: no root, no capability, a root file system that is not written to"""
    context = pod()["securityContext"]
    user = re.search(r"^USER (\d+):(\d+)$", CONTAINERFILE, re.M).groups()
    equal((str(context["runAsUser"]), str(context["runAsGroup"])), user, "the image's user")
    equal(re.search(r"--uid (\d+)", CONTAINERFILE).group(1), user[0], "the user that the image makes")
    check(context["runAsNonRoot"] and context["fsGroup"] == context["runAsGroup"], context)
    own = container()["securityContext"]
    equal((own["allowPrivilegeEscalation"], own["readOnlyRootFilesystem"], own["capabilities"]),
          (False, True, {"drop": ["ALL"]}), "the container")


@case
def images():
    """the Containerfile's stages, packages, ports and arguments are those of the packages and the daemon"""
    equal(re.findall(r"^FROM \S+ AS (\w+)$", CONTAINERFILE, re.M), ["base", "cpu", "cuda"], "stages")
    control = (ROOT / "deploy/debian/control.in").read_text(encoding="utf-8")
    packages = set(re.findall(r"^Package: (\S+)$", control, re.M))
    copied = {name for line in re.findall(r"^COPY (.*) /packages/$", CONTAINERFILE, re.M)
              for name in re.findall(r"(\S+)_\*\.deb", line)}
    equal(copied, {"sherwood-server", "sherwood-server-cuda", "sherwood-tools"}, "packages of the images")
    check(copied <= packages, f"{copied - packages} is no package")
    defaults = options_of(re.sub(r"(?m)^#", "", (ROOT / "deploy/sherwood.conf").read_text(encoding="utf-8")))
    exposed = re.search(r"^EXPOSE (.*)$", CONTAINERFILE, re.M).group(1).split()
    equal(exposed, [defaults["port"], defaults["http-port"]], "ports of the image")
    arguments = re.findall(r'"([^"]*)"', re.search(r"^CMD \[(.*)\]$", CONTAINERFILE, re.M).group(1))
    run(DAEMON, *arguments, "--check-config")


if __name__ == "__main__":
    main()
