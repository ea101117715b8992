"""Faults: what breaks, what `serve` must say of it (a pattern of cause, object and message), within how many seconds, and the step that mends."""

from life import *

def fill(n, path="/var/lib/longhorn"):
    free = int(node(n, f"df -B1 --output=avail {path} | tail -n 1"))
    node(n, f"fallocate -l {free - (8 << 20)} {path}/filler; dd if=/dev/zero of={path}/filler2 bs=4k oflag=direct 2>/dev/null || true")

def empty(n, path="/var/lib/longhorn"):
    node(n, f"rm -f {path}/filler {path}/filler2")

def where(replica):
    return int(replica["spec"]["nodeID"][-1])

def lonely():
    """A volume with one copy, attached on another node than its copy's; the copy's node."""
    create("solo", "128Mi", 1)
    wait("its place", 60, lambda: replicas("solo")[0]["spec"]["nodeID"])
    n = where(replicas("solo")[0])
    attach("solo", 1 if n != 1 else 2)
    put(1 if n != 1 else 2, "solo", 8)
    return n

def instance_manager(n):
    return next(p["metadata"]["name"] for p in get("pods -l longhorn.io/component=instance-manager")["items"] if p["spec"]["nodeName"] == f"node-{n}")

def kill_instance_manager():
    kill(1, "longhorn-instance-manager --debug daemon")

def kill_engine_repeatedly():
    """Each time it is up again: what ends within one start is one death."""
    for _ in range(6):
        wait("engine", 120, lambda: kill(2, " controller v2 "))
        time.sleep(15)

def wrong_keys():
    os.makedirs(WORK + "/s3/other", exist_ok=True)
    secret("wrong", "another")
    target("keys", "other", "wrong")

def other_uuid():
    n = where(replicas("solo")[0])
    node(n, "cd /var/lib/longhorn; cp longhorn-disk.cfg disk.cfg.old; sed -i 's/\"diskUUID\":\"......../\"diskUUID\":\"deadbeef/' longhorn-disk.cfg")

def old_uuid():
    node(where(replicas("solo")[0]), "cd /var/lib/longhorn; cat disk.cfg.old > longhorn-disk.cfg")

def without_share_image():
    wait("share manager", 240, lambda: get("pods share-manager-rwx")["status"]["phase"] == "Running", 2)
    for n in NODES:
        ctr(n, f"images rm --sync {tag('longhorn-share-manager')}")
    kubectl("delete pod share-manager-rwx --wait=false")

def share_image():
    for n in NODES:
        ctr(n, f"images import {WORK}/images.tar")

def delete_on_cordoned():
    sh("kubectl cordon node-2")
    kubectl(f"delete pod {instance_manager(2)} --wait=false")

def without_service():
    kubectl(f"get service longhorn-admission-webhook -o json > {WORK}/service.json")
    kubectl("delete service longhorn-admission-webhook")

def service():
    kubectl("delete service longhorn-admission-webhook --ignore-not-found")
    made = json.load(open(WORK + "/service.json"))
    made["metadata"] = {key: made["metadata"][key] for key in ("name", "namespace", "labels")}
    sh("kubectl apply -f -", input=json.dumps(made))

def without_backups():
    """And its engine ends, as with its node: it cannot attach any more."""
    kubectl("delete backups.longhorn.io --all --timeout=90s")
    kill(volume("v1-standby")["status"]["currentNodeID"][-1], " controller v1-standby ")

def other_backup():
    backup("v1", "s4")
    patch("volumes.longhorn.io v1-standby", {"spec": {"fromBackup": backups()[0]["status"]["url"]}})
    is_("v1-standby", "attached", "healthy", 300)

def failed_backup():
    os.rename(WORK + "/s3/backups", WORK + "/s3/away")
    snapshot("v1", "s5")
    act("v1", "snapshotBackup", name="s5")

def store():
    os.rename(WORK + "/s3/away", WORK + "/s3/backups")
    backup("v1", "s5")

def two_snapshots():
    patch("volumes.longhorn.io on-image", {"spec": {"snapshotMaxCount": 2}})
    for called in ("full-1", "full-2", "full-3"):
        act("on-image", "snapshotCRCreate", name=called)
        time.sleep(5)

def immutable(flag="+i"):
    for replica in replicas("exp"):
        node(where(replica), f"chattr {flag} /var/lib/longhorn/replicas/{replica['spec']['dataDirectoryName']}")

def expand_in_vain():
    create("exp", "64Mi")
    attach("exp", 1)
    is_("exp", "attached", "healthy")
    immutable()
    act("exp", "expand", size=str(128 << 20))

def kill_manager_repeatedly():
    for _ in range(4):
        wait("manager", 120, lambda: kill(3, " daemon --engine-image "))
        time.sleep(5)

def route(verb):
    for n, other in ((1, 3), (3, 1)):
        node(n, f"ip route {verb} blackhole 10.78.{other}.0/24")

def cut_repeatedly():
    for at in range(5):
        is_("v1", "attached", "healthy", 300)
        route("add")
        is_("v1", "attached", "degraded", 120)
        if at < 4:
            route("del")

def power_off():
    for _ in range(2):
        kill(where(replicas("solo")[0]), "")

def power_on():
    n = where(replicas("solo")[0])
    write(f"{WORK}/node-{n}/boot_id", f"{uuid.uuid4()}\n")
    inside(n, "iscsid", "/usr/local/sbin/iscsid")
    containerd(n)
    kubelet(n)
    is_("solo", "attached", "healthy", 400)

def kubelet_again():
    kubelet(3)
    wait("share manager", 240, lambda: get("sharemanagers.longhorn.io rwx")["status"]["state"] == "running", 2)

def broken_rollout():
    kubectl("set image daemonset/longhorn-manager longhorn-manager=docker.io/longhornio/longhorn-manager:v9.9.9")

def mended_rollout():
    kubectl("rollout undo daemonset/longhorn-manager")
    kubectl("rollout status daemonset/longhorn-manager --timeout=240s")
    API.clear()

FAULTS = [
    ("instance manager killed", "instance_manager_replaced/unknown .*node-1", 60, kill_instance_manager, lambda: is_("v1", "attached", "healthy", 300)),
    ("engine of v2 killed 6 times in two minutes", "attach_loop v2", 120, kill_engine_repeatedly, lambda: is_("v2", "attached", "healthy", 300)),
    ("backup target with wrong keys", "target_unavailable keys.*SignatureDoesNotMatch", 120, wrong_keys, lambda: secret("wrong")),
    ("bucket that does not exist", "target_unavailable bucket.*NoSuchBucket", 120, lambda: target("bucket", "nowhere"), lambda: os.makedirs(WORK + "/s3/nowhere")),
    ("backing image with a wrong checksum", "backing_image_failed checksum.*checksum is wrong", 180, lambda: backing_image("checksum", 1, checksum="0" * 128),
        lambda: kubectl("delete backingimages.longhorn.io checksum --timeout=60s")),
    ("another disk at a disk's path", "disk_uuid_mismatch", 120, lambda: lonely() and other_uuid(), old_uuid),
    ("disk full to the last byte, the only copy there", "disk_exhausted .*solo cannot be written", 180, lambda: fill(where(replicas("solo")[0])), lambda: empty(where(replicas("solo")[0]))),
    ("kubelet of node-3 ended", "(node_down|node_not_ready) .*node-3", 90, lambda: kill(3, "/kubelet --config"), kubelet_again),
    ("image of the share manager gone", "pod_not_started rwx", 120, without_share_image, share_image),
    ("snapshots at their limit", "at_limit on-image", 60, two_snapshots, lambda: patch("volumes.longhorn.io on-image", {"spec": {"snapshotMaxCount": 250}})),
    ("backing image that its URL does not have", "backing_image_failed missing", 180, lambda: backing_image("missing", 1, sourceParameters={"url": IMAGE_URL + ".no"}),
        lambda: kubectl("delete backingimages.longhorn.io missing --timeout=60s")),
    ("Secret of a backup target deleted", "target_unavailable keys.*Secret", 120, lambda: kubectl("delete secret wrong"), lambda: secret("wrong")),
    ("backup into a bucket that is gone", "backup_failed v1", 180, failed_backup, store),
    ("system backup without zip on the node", "system_backup_failed everything", 120, lambda: apply("SystemBackup", "everything", {"volumeBackupPolicy": "disabled"}),
        lambda: kubectl("delete systembackups.longhorn.io everything --timeout=60s")),
    ("backups of a standby volume deleted, then its engine ends", "restore_failed v1-standby", 300, without_backups, other_backup),
    ("expansion where the disks refuse writes", "(expansion_failed|salvage_pending) exp", 120, expand_in_vain, lambda: immutable("-i") or is_("exp", "attached", "healthy", 300)),
    ("manager of node-3 killed 4 times", "manager_crash_loop/.*node-3", 180, kill_manager_repeatedly, lambda: kubectl("rollout status daemonset/longhorn-manager --timeout=300s")),
    ("CSI plugin's liveness sidecar hangs on node-1", "plugin_crashing .*node-1", 300, lambda: kill(1, "/bin/livenessprobe", 19), lambda: kill(1, "/bin/livenessprobe", 18)),
    ("pods of node-1 and node-3 cut from each other 5 times", "flapping v1.*between node-1 and node-3", 60, cut_repeatedly, lambda: route("del")),
    ("minimum of free space set to 97 %", "disk_full .*storage-minimal|disk_full node-", 400, lambda: patch("settings.longhorn.io storage-minimal-available-percentage", {"value": "97"}),
        lambda: patch("settings.longhorn.io storage-minimal-available-percentage", {"value": "10"})),
    ("instance manager deleted on a cordoned node", "node_cordoned", 90, delete_on_cordoned, lambda: sh("kubectl uncordon node-2")),
    ("webhook's Service deleted", "webhook_unavailable/.*", 120, without_service, service),
    ("managers' image that nobody has", "(manager_missing|no_ready_endpoint)", 120, broken_rollout, mended_rollout),
    ("power of a node with the only copy cut", "volume_faulted/.* solo", 180, power_off, power_on),
]
