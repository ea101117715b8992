"""The bed: Kubernetes' control plane and nodes, each a containerd and a kubelet in namespaces of their own, and Longhorn on them.

Runs in a network, mount and process namespace that `run` makes; what it starts ends with that.
"""

import hashlib, io, json, os, subprocess, sys, tarfile, time, uuid

WORK, KUBE, LONGHORN = os.environ["BENCH_WORK"], os.environ["BENCH_KUBE"], os.environ["LHE_LONGHORN"]
EXPORTER, STANDINS, BASE = os.environ["BENCH_EXPORTER"], os.environ["BENCH_STANDINS"], os.environ["BENCH_BASE"]
CGROUP, CONTROLLERS = os.environ["BENCH_CGROUP"], os.environ["BENCH_CONTROLLERS"].split()
HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPTS, MASTER, TOKEN, NODES = HERE + "/../standins/", "10.77.0.1", "bench-admin", (1, 2, 3)
os.environ["KUBECONFIG"] = WORK + "/kubeconfig"
os.environ["PATH"] = KUBE + ":" + os.environ["PATH"]

def sh(command, check=True, enter=(), **more):
    done = subprocess.run([*enter, "bash", "-ec" if check else "-c", command], capture_output=True, text=True, **more)
    if check and done.returncode:
        raise RuntimeError(f"{command}: {done.stdout}{done.stderr}")
    return (done.stdout + ("" if check else done.stderr)).strip()

def start(name, command):
    log = open(f"{WORK}/log/{name}.log", "ab")
    return subprocess.Popen(["bash", "-c", "exec " + command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

def wait(what, seconds, done, pause=0.5):
    begin = time.time()
    while time.time() - begin < seconds:
        try:
            if done():
                return round(time.time() - begin, 1)
        except (RuntimeError, KeyError, IndexError, json.JSONDecodeError, OSError):
            pass
        time.sleep(pause)
    raise RuntimeError(f"{what}: not within {seconds} s")

def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)

def pid(n):
    return open(f"{WORK}/node-{n}/pid").read().strip()

def node(n, command, check=True):
    return sh(command, check, ["nsenter", "-t", pid(n), "-n", "-m", "-p", "-u"])

def kubectl(arguments, check=True, **more):
    return sh("kubectl -n longhorn-system " + arguments, check, **more)

def get(what):
    return json.loads(kubectl(f"get {what} -o json"))

def kubeconfig(path, token):
    write(path, json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "bench",
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
        "clusters": [{"name": "bench", "cluster": {"server": f"https://{MASTER}:443", "certificate-authority": WORK + "/certs/apiserver.crt"}}],
        "users": [{"name": "bench", "user": {"token": token}}]}))

def servers():
    os.makedirs(WORK + "/log", exist_ok=True)
    sh(f"ip link set lo up; ip link add lhe0 type bridge; ip addr add {MASTER}/24 dev lhe0; ip addr add 10.96.0.1/32 dev lhe0; ip link set lhe0 up; ip route add 10.96.0.0/16 dev lhe0; echo 1 > /proc/sys/net/ipv4/ip_forward")
    sh(f"openssl ecparam -name prime256v1 -genkey -noout -out {WORK}/sa.key; openssl ec -in {WORK}/sa.key -pubout -out {WORK}/sa.pub")
    write(WORK + "/tokens.csv", TOKEN + ",admin,admin,system:masters\n")
    start("etcd", f"etcd --data-dir={WORK}/etcd --listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls=http://127.0.0.1:2379 --listen-peer-urls=http://127.0.0.1:2380 --logger=zap --log-level=warn --unsafe-no-fsync")
    start("kube-apiserver", f"kube-apiserver --etcd-servers=http://127.0.0.1:2379 --bind-address=0.0.0.0 --advertise-address={MASTER} --secure-port=443 --cert-dir={WORK}/certs --service-cluster-ip-range=10.96.0.0/24 --authorization-mode=RBAC --token-auth-file={WORK}/tokens.csv --service-account-issuer=https://kubernetes.default.svc --service-account-signing-key-file={WORK}/sa.key --service-account-key-file={WORK}/sa.pub --allow-privileged=true --kubelet-preferred-address-types=InternalIP --profiling=false --default-not-ready-toleration-seconds=30 --default-unreachable-toleration-seconds=30 --event-ttl=3h")
    wait("certificate", 120, lambda: os.path.exists(WORK + "/certs/apiserver.crt"))
    kubeconfig(WORK + "/kubeconfig", TOKEN)
    wait("kube-apiserver", 180, lambda: sh("kubectl get --raw /readyz") == "ok")
    start("kube-controller-manager", f"kube-controller-manager --kubeconfig={WORK}/kubeconfig --leader-elect=false --bind-address=127.0.0.1 --service-account-private-key-file={WORK}/sa.key --root-ca-file={WORK}/certs/apiserver.crt --use-service-account-credentials=false --cert-dir={WORK}/kcm --node-monitor-grace-period=20s --node-monitor-period=3s '--controllers=*,-nodeipam,-cloud-node-lifecycle,-service-lb-controller,-node-route-controller'")
    start("kube-scheduler", f"kube-scheduler --kubeconfig={WORK}/kubeconfig --leader-elect=false --bind-address=127.0.0.1 --cert-dir={WORK}/sched")
    start("services", f"python3 {HERE}/services.py")

def prepare(n):
    own = f"{WORK}/node-{n}"
    os.makedirs(own + "/cni", exist_ok=True)
    for controller in CONTROLLERS:
        os.makedirs(f"{controller}{CGROUP}/node-{n}", exist_ok=True)
    outer = start(f"node-{n}", "unshare --net --mount --pid --uts --fork --kill-child --mount-proc --propagation private bash -c 'mount --make-rshared /; trap : TERM; while :; do sleep 1000 & wait; done'")
    wait("namespaces", 10, lambda: write(own + "/pid", sh(f"pgrep -P {outer.pid}")) or node(n, "true") == "")
    sh(f"ip link delete v{n} 2>/dev/null || true; ip link add v{n} type veth peer name eth0 netns {pid(n)}; ip link set v{n} master lhe0 up; ip route replace 10.78.{n}.0/24 via 10.77.0.1{n}")
    node(n, f"hostname node-{n}; ip link set lo up; ip addr add 10.77.0.1{n}/24 dev eth0; ip link set eth0 up; ip route add default via {MASTER}; echo 1 > /proc/sys/net/ipv4/ip_forward")
    write(own + "/boot_id", f"{uuid.uuid4()}\n")
    if not os.path.exists(own + "/disk.img"):
        sh(f"truncate -s 6G {own}/disk.img; mkfs.ext4 -q -m 0 -E lazy_itable_init=1,lazy_journal_init=1 {own}/disk.img")
    # what a node writes goes to its own file systems; the initiator finds devices below /sys in tmpfs
    node(n, "mkdir -p /dev/longhorn; for d in /var/lib /var/log /run /usr/local/sbin /dev/longhorn /sys/block /sys/class/block; do mount -t tmpfs tmpfs $d; done;"
        f" mkdir -p /var/lib/kubelet /var/lib/longhorn /run/lock; mount -o loop {own}/disk.img /var/lib/longhorn; mount --bind {own}/boot_id /proc/sys/kernel/random/boot_id;"
        f" mount --make-rshared /; cp {SCRIPTS}iscsiadm /usr/local/sbin/; cp {STANDINS} /usr/local/sbin/iscsid")
    inside(n, "iscsid", "/usr/local/sbin/iscsid")
    write(own + "/cni/10-bench.conflist", json.dumps({"cniVersion": "0.4.0", "name": "bench", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": True, "hairpinMode": True,
        "ipam": {"type": "host-local", "dataDir": "/run/cni-ipam", "ranges": [[{"subnet": f"10.78.{n}.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}))
    write(own + "/containerd.toml", f'''version = 2
root = "{own}/containerd"
state = "/run/containerd"
[grpc]
address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "docker.io/bench/pause:1"
restrict_oom_score_adj = true
disable_apparmor = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "{own}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
''')
    write(own + "/kubelet.yaml", json.dumps({"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "failCgroupV1": False, "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"{CGROUP}/node-{n}", "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock", "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"}, "failSwapOn": False, "oomScoreAdj": 0, "makeIPTablesUtilChains": False, "enforceNodeAllocatable": ["pods"],
        "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1Mi", "imagefs.available": "1Mi"}, "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
        "nodeStatusUpdateFrequency": "5s", "nodeLeaseDurationSeconds": 15, "resolvConf": "", "clusterDNS": [MASTER], "clusterDomain": "cluster.local", "healthzPort": 0, "registryPullQPS": 0}))

def inside(n, name, command):
    return start(f"node-{n}-{name}", f"nsenter -t {pid(n)} -n -m -p -u {command}")

def ctr(n, arguments, check=True):
    return node(n, "ctr -a /run/containerd/containerd.sock -n k8s.io " + arguments, check)

def containerd(n):
    inside(n, "containerd", f"containerd --config {WORK}/node-{n}/containerd.toml")
    wait("containerd", 60, lambda: "Server" in ctr(n, "version"))

def kubelet(n):
    inside(n, "kubelet", f"{KUBE}/kubelet --config={WORK}/node-{n}/kubelet.yaml --kubeconfig={WORK}/kubeconfig --hostname-override=node-{n} --node-ip=10.77.0.1{n}")

def processes(n, pattern):
    """The processes of a node's pods and daemons whose command line has the pattern."""
    own, found = os.readlink(f"/proc/{pid(n)}/ns/uts"), []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = open(f"/proc/{name}/cmdline").read().replace("\0", " ")
            belongs = os.readlink(f"/proc/{name}/ns/uts") == own or f"{CGROUP}/node-{n}/" in open(f"/proc/{name}/cgroup").read()
        except OSError:
            continue
        # the one that unshared it is in its namespaces, too, and takes the node along
        if belongs and pattern in line and name != pid(n) and not line.startswith("unshare "):
            found.append(int(name))
    return found

def kill(n, pattern, signal=9):
    found = processes(n, pattern)
    for one in found:
        try:
            os.kill(one, signal)
        except ProcessLookupError:
            pass
    return found

# The images: a base of Debian's packages, and on it the programs of the release.
SBIN, BIN = "usr/local/sbin/", "usr/local/bin/"

def tag(name):
    return next(word.strip('"') for word in open(LONGHORN + "/longhorn.yaml").read().split() if f"/{name}:" in word)

def images(path):
    idle = [tag(name) for name in ("longhorn-ui", "csi-attacher", "csi-provisioner", "csi-node-driver-registrar", "csi-resizer", "csi-snapshotter", "support-bundle-kit")]
    new = tag("longhorn-engine").rsplit(".", 1)[0] + ".999"
    roles = {
        "manager": ([tag("longhorn-manager")], [], {SBIN + "longhorn-manager": "longhorn-manager", SBIN + "launch-manager": "launch-manager", SBIN + "nsmounter": "nsmounter"}, ["launch-manager"]),
        "instances": ([tag("longhorn-instance-manager")], ["/usr/bin/tini", "--"], {BIN + "longhorn-instance-manager": "longhorn-instance-manager", BIN + "instance-manager": "instance-manager",
            "usr/sbin/tgtd": STANDINS, BIN + "lhe-disk": STANDINS, 
            "usr/sbin/tgtadm": SCRIPTS + "tgtadm", BIN + "sg_raw": SCRIPTS + "sg_raw", BIN + "grpc_health_probe": SCRIPTS + "grpc_health_probe"}, ["longhorn"]),
        "engine": ([tag("longhorn-engine")], ["/usr/bin/tini", "--"], {BIN + "longhorn": "longhorn", BIN + "longhorn-instance-manager": "longhorn-instance-manager"}, ["longhorn"]),
        "newer": ([new], ["/usr/bin/tini", "--"], {BIN + "longhorn": "longhorn-newer", BIN + "longhorn-instance-manager": "longhorn-instance-manager"}, ["longhorn"]),
        "backing": ([tag("backing-image-manager")], [], {BIN + "backing-image-manager": "backing-image-manager"}, ["backing-image-manager"]),
        "share": ([tag("longhorn-share-manager")], ["/longhorn-share-manager"], {"longhorn-share-manager": "longhorn-share-manager"}, []),
        "probe": ([tag("livenessprobe")], ["/bin/livenessprobe"], {"bin/livenessprobe": STANDINS}, []),
        "idle": (idle + ["docker.io/bench/pause:1"], ["/bin/idle"], {"bin/idle": STANDINS}, []),
    }
    archive, list_of = tarfile.open(path, "w"), []

    def add(name, data):
        info = tarfile.TarInfo(name)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))

    def layer(file):
        digest = hashlib.file_digest(open(file, "rb"), "sha256").hexdigest()
        archive.add(file, f"{digest}.tar")
        return digest

    base = layer(BASE)
    for role, (tags, entry, files, command) in roles.items():
        files = {to: f if f.startswith("/") else f"{LONGHORN}/{f}" for to, f in files.items()}
        with tarfile.open(WORK + "/layer.tar", "w") as made:
            for to, source in files.items():
                made.add(os.path.realpath(source), to)
        layers = ([] if role == "idle" else [base]) + [layer(WORK + "/layer.tar")]
        config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Entrypoint": entry, "Cmd": command, "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]},
            "rootfs": {"type": "layers", "diff_ids": ["sha256:" + one for one in layers]}}).encode()
        name = hashlib.sha256(config).hexdigest() + ".json"
        add(name, config)
        list_of.append({"Config": name, "RepoTags": tags, "Layers": [one + ".tar" for one in layers]})
    add("manifest.json", json.dumps(list_of).encode())
    archive.close()
