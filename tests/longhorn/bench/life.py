"""Ordinary life of a Longhorn: steps after which `serve` must have said nothing at warning or critical."""

from longhorn import *

# true on the bed's nodes, which may lack an NFS client or packages
TRUE_HERE = {"disk_unavailable/node_environment"}
IMAGE_URL = f"http://{MASTER}:8000/image.raw"

def snapshot(name, called):
    act(name, "snapshotCRCreate", name=called)
    wait(f"snapshot {called}", 60, lambda: get(f"snapshots.longhorn.io {called}")["status"]["readyToUse"])

def secret(name="s3", word="benchsecret"):
    apply("Secret", name, None, version="v1", stringData={"AWS_ACCESS_KEY_ID": "benchkey", "AWS_SECRET_ACCESS_KEY": word, "AWS_ENDPOINTS": f"http://{MASTER}:9000"})

def target(name="default", bucket="backups", keys="s3"):
    os.makedirs(WORK + "/s3/backups", exist_ok=True)
    apply("BackupTarget", name, {"backupTargetURL": f"s3://{bucket}@us-east-1/", "credentialSecret": keys, "pollInterval": "30s"})

def backups():
    return [b for b in get("backups.longhorn.io")["items"] if b["status"].get("state") == "Completed"]

def backup(name, of):
    act(name, "snapshotBackup", name=of)
    wait("backup", 180, lambda: any(b["status"]["snapshotName"] == of for b in backups()))

def backing_image(name, minimum=2, **more):
    apply("BackingImage", name, {"sourceType": "download", "sourceParameters": {"url": IMAGE_URL}, "minNumberOfCopies": minimum, "dataEngine": "v1", **more})

def copies(name):
    return [c for c in (get(f"backingimages.longhorn.io {name}")["status"].get("diskFileStatusMap") or {}).values() if c["state"] == "ready"]

def claim(name):
    """A PersistentVolume and a claim, as Longhorn's UI makes them."""
    act(name, "pvCreate", pvName=name, fsType="ext4")
    wait("pv", 60, lambda: sh(f"kubectl get pv {name}"))
    act(name, "pvcCreate", namespace="default", pvcName=name)

def create_and_write():
    for n in NODES:
        create(f"v{n}", copies=3 if n < 3 else 2)
    claim("v1")
    for n in NODES:
        attach(f"v{n}", n)
        is_(f"v{n}", "attached", "healthy")
        put(n, f"v{n}", 48)

def snapshots_and_purge():
    for at in (1, 2, 3):
        snapshot("v1", f"s{at}")
        put(1, "v1", 8, 10 * at)
    kubectl("delete snapshots.longhorn.io s2 --timeout=60s")
    act("v1", "snapshotPurge")
    time.sleep(8)

def remove_a_replica():
    act("v2", "replicaRemove", name=replicas("v2")[0]["metadata"]["name"])
    is_("v2", "attached", "degraded", 30)
    is_("v2", "attached", "healthy", 240)

def expand():
    act("v3", "expand", size=str(768 << 20))
    wait("expansion", 90, lambda: node(3, "blockdev --getsize64 /dev/longhorn/v3") == str(768 << 20))
    put(3, "v3", 4, 760)

def back_up_and_restore():
    """A backup, a restore, a standby volume that follows the next backup, and a restore whose volume is deleted on the way."""
    secret()
    target()
    wait("backup target", 90, lambda: get("backuptargets.longhorn.io default")["status"]["available"])
    backup("v1", "s3")
    url = backups()[0]["status"]["url"]
    wait("v1-restored is made", 60, lambda: "error" not in create("v1-restored", fromBackup=url), 2)
    create("v1-standby", fromBackup=url, standby=True, frontend="")
    wait("restored", 240, lambda: volume("v1-restored")["status"]["state"] == "detached" and not volume("v1-restored")["status"].get("restoreRequired"), 2)
    create("cut-short", fromBackup=url)
    snapshot("v1", "s4")
    backup("v1", "s4")
    wait("the standby volume", 120, lambda: volume("v1-standby")["status"]["lastBackup"] in {b["metadata"]["name"] for b in backups() if b["status"]["snapshotName"] == "s4"}, 2)
    kubectl("delete volumes.longhorn.io cut-short --timeout=90s")

def backing_images():
    sh(f"mkdir -p {WORK}/www; head -c 24M /dev/urandom > {WORK}/www/image.raw")
    start("www", f"python3 -m http.server 8000 --bind {MASTER} -d {WORK}/www")
    backing_image("image")
    wait("two copies", 150, lambda: len(copies("image")) == 2, 2)
    create("on-image", "64Mi", backingImage="image")
    attach("on-image", 2)
    backing_image("image-clone", sourceType="clone", sourceParameters={"backing-image": "image", "encryption": "ignore"})
    wait("two copies", 150, lambda: len(copies("image-clone")) == 2, 2)

def shared():
    create("rwx", accessMode="rwx")
    claim("rwx")
    # what a CSI attacher asks for, once a pod wants it
    ticket = {"id": "bench", "type": "csi-attacher", "nodeID": "node-1", "parameters": {"disableFrontend": "false"}}
    patch("volumeattachments.longhorn.io rwx", {"spec": {"attachmentTickets": {"bench": ticket}}})
    wait("share manager", 180, lambda: get("sharemanagers.longhorn.io rwx")["status"]["state"] == "running", 2)

def upgrade_engines():
    newer = tag("longhorn-engine").rsplit(".", 1)[0] + ".999"
    name = "ei-" + sh(f"echo -n {newer} | sha512sum | cut -c1-8")
    apply("EngineImage", name, {"image": newer})
    wait("engine image", 180, lambda: get(f"engineimages.longhorn.io {name}")["status"]["state"] == "deployed", 2)
    act("v1", "engineUpgrade", image=newer)
    wait("v1", 150, lambda: volume("v1")["status"]["currentImage"] == newer, 2)
    put(1, "v1", 4)

def recurring_job():
    apply("RecurringJob", "minutely", {"name": "minutely", "task": "snapshot", "cron": "* * * * *", "retain": 2, "concurrency": 2, "groups": ["default"], "labels": {}})
    wait("a run", 200, lambda: get("recurringjobs.longhorn.io minutely")["status"].get("executionCount"), 5)
    kubectl("delete recurringjobs.longhorn.io minutely")

def detach_attach_trim():
    detach("v2")
    attach("v2", 2)
    node(2, "mkfs.ext4 -q /dev/longhorn/v2; mkdir -p /var/lib/kubelet/v2; mount /dev/longhorn/v2 /var/lib/kubelet/v2; dd if=/dev/zero of=/var/lib/kubelet/v2/file bs=1M count=64; rm /var/lib/kubelet/v2/file; sync")
    act("v2", "trimFilesystem")
    node(2, "umount /var/lib/kubelet/v2")

def second_disk():
    """A second disk, its replica moved off by eviction, the disk removed; a backing image's copy evicted."""
    node(2, f"mkdir -p /var/lib/disk2; truncate -s 2G {WORK}/node-2/disk2.img; mkfs.ext4 -q -m 0 {WORK}/node-2/disk2.img; mount -o loop {WORK}/node-2/disk2.img /var/lib/disk2")
    disk = lambda spec: patch("nodes.longhorn.io node-2", {"spec": {"disks": {"second": spec}}})
    usual = {"path": "/var/lib/disk2/", "diskType": "filesystem", "storageReserved": 0, "tags": ["second"], "allowScheduling": True, "evictionRequested": False}
    disk(usual)
    wait("disk", 90, lambda: all(c["status"] == "True" for c in get("nodes.longhorn.io node-2")["status"]["diskStatus"]["second"]["conditions"]))
    create("evicted", "64Mi", 1, diskSelector=["second"])
    attach("evicted", 2)
    patch("volumes.longhorn.io evicted", {"spec": {"diskSelector": []}})
    disk({**usual, "allowScheduling": False, "evictionRequested": True})
    wait("eviction", 200, lambda: not get("nodes.longhorn.io node-2")["status"]["diskStatus"]["second"].get("scheduledReplica"), 2)
    disk(None)
    # its only replica would hold up the drain of whatever node it moved to
    detach("evicted")
    kubectl("delete volumes.longhorn.io evicted --timeout=60s")
    holder = next(iter(get("backingimages.longhorn.io image-clone")["spec"]["diskFileSpecMap"]))
    patch("backingimages.longhorn.io image-clone", {"spec": {"diskFileSpecMap": {holder: {"evictionRequested": True, "dataEngine": "v1"}}}})
    wait("two copies", 180, lambda: len(copies("image-clone")) >= 2 and holder not in get("backingimages.longhorn.io image-clone")["spec"]["diskFileSpecMap"], 2)

def settings_and_restart():
    for name, value in (("replica-auto-balance", "best-effort"), ("storage-minimal-available-percentage", "10"), ("log-level", "Debug")):
        patch(f"settings.longhorn.io {name}", {"value": value})
    kubectl("rollout restart daemonset/longhorn-manager")
    kubectl("rollout status daemonset/longhorn-manager --timeout=240s")
    patch("settings.longhorn.io replica-auto-balance", {"value": "disabled"})
    API.clear()

def drain_and_uncordon():
    detach("v3")
    try:
        sh("kubectl drain node-3 --ignore-daemonsets --delete-emptydir-data --force --timeout=200s --pod-selector='app!=csi-attacher,app!=csi-provisioner'")
        time.sleep(20)
    finally:
        sh("kubectl uncordon node-3")
    wait("instance manager", 120, lambda: all(i["status"]["currentState"] == "running" for i in get("instancemanagers.longhorn.io")["items"]), 2)
    attach("v3", 3)
    for name in ("v1", "v2", "v3", "on-image"):
        is_(name, "attached", "healthy", 300)

def node_returns_after_90_s():
    """Of a node where no volume is attached, the kubelet ends."""
    detach("v3")
    kill(3, "/kubelet --config")
    time.sleep(90)
    kubelet(3)
    wait("node-3", 120, lambda: all(c["status"] == "True" for c in get("nodes.longhorn.io node-3")["status"]["conditions"] if c["type"] == "Ready"))
    attach("v3", 3)
    is_("v3", "attached", "healthy", 300)

LIFE = [create_and_write, snapshots_and_purge, remove_a_replica, expand, back_up_and_restore, backing_images, shared, upgrade_engines, recurring_job, detach_attach_trim, second_disk, settings_and_restart,
        drain_and_uncordon, node_returns_after_90_s]
