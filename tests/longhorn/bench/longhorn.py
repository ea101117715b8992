"""Longhorn of the bed: installed from its manifest, driven through its own API; and the exporter beside it."""

import json, os, re, time, urllib.error, urllib.request
from bed import *

API = []

def install():
    for n in NODES:
        prepare(n)
        containerd(n)
        ctr(n, f"images import {WORK}/images.tar")
        kubelet(n)
    wait("nodes", 120, lambda: len(get("nodes")["items"]) == len(NODES))
    sh(f"kubectl apply --server-side -f {LONGHORN}/longhorn.yaml")
    # no network leads out of here
    for name in ("upgrade-checker", "allow-collecting-longhorn-usage-metrics"):
        wait(name, 300, lambda: patch(f"settings.longhorn.io {name}", {"value": "false"}), 2)
    wait("Longhorn", 600, lambda: [i["status"]["currentState"] for i in get("instancemanagers.longhorn.io")["items"]] == ["running"] * len(NODES)
        and get("daemonsets longhorn-csi-plugin")["status"].get("numberReady") == len(NODES), 3)
    for n in NODES:  # CSI's registrar is idle here: what it would have written
        patch(f"csinode node-{n}", {"spec": {"drivers": [{"name": "driver.longhorn.io", "nodeID": f"node-{n}", "topologyKeys": ["kubernetes.io/hostname"]}]}})

def call(method, path, body=None):
    if not API:
        for pod in get("pods -l app=longhorn-manager")["items"]:
            if all(c["ready"] for c in pod["status"].get("containerStatuses", [{"ready": False}])):
                API.append(f"http://{pod['status']['podIP']}:9500/v1")
                break
    request = urllib.request.Request(API[0] + path, json.dumps(body or {}).encode() if method == "POST" else None, {"Content-Type": "application/json"}, method=method)
    try:
        return json.loads(urllib.request.urlopen(request, timeout=120).read() or b"{}")
    except urllib.error.HTTPError as refused:
        return {"error": refused.code, "message": refused.read().decode()[:500]}
    except OSError:
        API.clear()
        raise

def create(name, size="512Mi", copies=2, **more):
    more = {"frontend": "blockdev", **more}
    return call("POST", "/volumes", {"name": name, "size": str(int(re.match(r"\d+", size)[0]) << 20), "numberOfReplicas": copies, "dataEngine": "v1", **more})

def act(name, action, /, **body):
    return call("POST", f"/volumes/{name}?action={action}", body)

def attach(name, n, **more):
    wait(f"{name} accepts", 60, lambda: "error" not in act(name, "attach", hostId=f"node-{n}", attacherType="longhorn-api", disableFrontend=False, **more), 1)
    return is_(name, "attached")

def detach(name):
    act(name, "detach", hostId="")
    return is_(name, "detached")

def volume(name):
    return get(f"volumes.longhorn.io {name}")

def is_(name, state=None, robustness=None, seconds=150):
    return wait(f"{name} {state or ''} {robustness or ''}", seconds, lambda: all(w in (None, volume(name)["status"].get(k)) for k, w in (("state", state), ("robustness", robustness))))

def put(n, name, megabytes=16, seek=0):
    return node(n, f"timeout 60 dd if=/dev/urandom of=/dev/longhorn/{name} bs=1M count={megabytes} seek={seek} oflag=direct conv=notrunc 2>&1 | tail -n 1", check=False)

def replicas(name):
    return get(f"replicas.longhorn.io -l longhornvolume={name}")["items"]

def patch(what, fields):
    return sh(f"kubectl -n longhorn-system patch {what} --type merge --patch-file /dev/stdin", input=json.dumps(fields))

def apply(kind, name, spec, version="longhorn.io/v1beta2", **more):
    return sh("kubectl apply -f -", input=json.dumps({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "longhorn-system"}, **({"spec": spec} if spec else {}), **more}))

def exporter():
    sh(f"for n in monitoring longhorn-system; do kubectl get ns $n || kubectl create ns $n; done; helm template lhe {os.environ['BENCH_CHART']} -n monitoring > {WORK}/chart.yaml")
    sh(f"kubectl apply -f {WORK}/chart.yaml", check=False)
    account = json.loads(sh("kubectl -n monitoring get serviceaccounts -o json"))
    name = next(a["metadata"]["name"] for a in account["items"] if a["metadata"]["name"] != "default")
    sh("kubectl -n monitoring delete deployments,networkpolicies --all", check=False)
    kubeconfig(WORK + "/exporter.kubeconfig", sh(f"kubectl -n monitoring create token {name} --duration=12h"))
    start("serve", f"{EXPORTER} serve --kubeconfig {WORK}/exporter.kubeconfig --web.listen-address 127.0.0.1:10945")

def report():
    return json.loads(urllib.request.urlopen("http://127.0.0.1:10945/api/v1/report", timeout=10).read())
