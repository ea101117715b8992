// The bed: etcd, Kubernetes' control plane and two nodes, each a kubelet and a containerd in network and mount
// namespaces of their own. All of it is in the process and network namespace of this program and ends with it.
package main

import (
	"archive/tar"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	master = "10.77.0.1"
	port   = "443"
	token  = "bench-admin"
)

var (
	work, kube, api, exporter, app, chart string
	cgroup                                string
	controllers                           []string
)

type node struct {
	name       string
	number     int
	sleeper    *exec.Cmd
	containerd *exec.Cmd
	kubelet    *exec.Cmd
}

func must(err error, what string) {
	if err != nil {
		fmt.Printf("bench: %s: %v\n", what, err)
		os.Exit(1)
	}
}

func sh(command string) {
	out, err := exec.Command("sh", "-ec", command).CombinedOutput()
	if err != nil {
		must(fmt.Errorf("%v: %s", err, out), command)
	}
}

// start runs a program with its output in a log file; the kernel ends it with this one.
func start(name, program string, args ...string) *exec.Cmd {
	log, err := os.OpenFile(filepath.Join(work, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(err, name)
	command := exec.Command(program, args...)
	command.Stdout, command.Stderr = log, log
	must(command.Start(), name)
	go command.Wait()
	return command
}

func wait(what string, limit time.Duration, done func() bool) {
	begin := time.Now()
	for !done() {
		if time.Since(begin) > limit {
			must(fmt.Errorf("not within %s", limit), what)
		}
		time.Sleep(250 * time.Millisecond)
	}
}

func kubeconfig() string {
	path := filepath.Join(work, "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: bench\n" +
		"contexts: [{name: bench, context: {cluster: bench, user: bench}}]\n" +
		"clusters: [{name: bench, cluster: {server: 'https://" + master + ":" + port + "', certificate-authority: " + work + "/certs/apiserver.crt}}]\n" +
		"users: [{name: bench, user: {token: " + token + "}}]\n"
	must(os.WriteFile(path, []byte(text), 0o600), "kubeconfig")
	return path
}

// The servers, on a bridge that only these namespaces have. There is no kube-proxy: the address of the Service kubernetes
// is that of the API server.
func startServers() {
	sh("ip link set lo up; ip link add lhe0 type bridge; ip addr add " + master + "/24 dev lhe0; ip addr add 10.96.0.1/32 dev lhe0; ip link set lhe0 up; echo 1 > /proc/sys/net/ipv4/ip_forward")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err, "key")
	private, _ := x509.MarshalECPrivateKey(key)
	public, _ := x509.MarshalPKIXPublicKey(&key.PublicKey)
	write := func(name, kind string, bytes []byte) {
		must(os.WriteFile(filepath.Join(work, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600), name)
	}
	write("sa.key", "EC PRIVATE KEY", private)
	write("sa.pub", "PUBLIC KEY", public)
	must(os.WriteFile(filepath.Join(work, "tokens.csv"), []byte(token+",admin,admin,system:masters\n"), 0o600), "tokens")
	start("etcd", "etcd", "--data-dir="+work+"/etcd", "--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380", "--logger=zap", "--log-level=warn", "--unsafe-no-fsync")
	start("kube-apiserver", api+"/kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", "--bind-address=0.0.0.0", "--advertise-address="+master,
		"--secure-port="+port, "--cert-dir="+work+"/certs", "--service-cluster-ip-range=10.96.0.0/24", "--authorization-mode=RBAC",
		"--token-auth-file="+work+"/tokens.csv", "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file="+work+"/sa.key", "--service-account-key-file="+work+"/sa.pub", "--allow-privileged=true",
		"--kubelet-preferred-address-types=InternalIP", "--profiling=false",
		// a node that is away costs the bench half a minute and not six
		"--default-not-ready-toleration-seconds=12", "--default-unreachable-toleration-seconds=12")
	wait("kube-apiserver", 3*time.Minute, func() bool { _, err := os.Stat(work + "/certs/apiserver.crt"); return err == nil && ready() })
	config := kubeconfig()
	start("kube-controller-manager", kube+"/kube-controller-manager", "--kubeconfig="+config, "--leader-elect=false", "--bind-address=127.0.0.1",
		"--service-account-private-key-file="+work+"/sa.key", "--root-ca-file="+work+"/certs/apiserver.crt", "--use-service-account-credentials=false",
		"--cert-dir="+work+"/kcm", "--node-monitor-grace-period=14s", "--node-monitor-period=2s", "--terminated-pod-gc-threshold=1000",
		"--controllers=*,-nodeipam,-cloud-node-lifecycle,-service-lb-controller,-node-route-controller")
	start("kube-scheduler", kube+"/kube-scheduler", "--kubeconfig="+config, "--leader-elect=false", "--bind-address=127.0.0.1", "--cert-dir="+work+"/sched")
}

// within runs a program in the namespaces of the node.
func (n *node) within(name, program string, args ...string) *exec.Cmd {
	pid := strconv.Itoa(n.sleeper.Process.Pid)
	return start(n.name+"-"+name, "nsenter", append([]string{"-t", pid, "-n", "-m", "-u", program}, args...)...)
}

func (n *node) sh(command string) {
	pid := strconv.Itoa(n.sleeper.Process.Pid)
	out, err := exec.Command("nsenter", "-t", pid, "-n", "-m", "-u", "sh", "-ec", command).CombinedOutput()
	if err != nil {
		must(fmt.Errorf("%v: %s", err, out), n.name+": "+command)
	}
}

func (n *node) dir() string { return filepath.Join(work, n.name) }

func (n *node) bootID() string {
	random := make([]byte, 16)
	rand.Read(random)
	return fmt.Sprintf("%x-%x-%x-%x-%x\n", random[:4], random[4:6], random[6:8], random[8:10], random[10:])
}

func (n *node) prepare() {
	must(os.MkdirAll(n.dir(), 0o755), "directory")
	for _, controller := range controllers {
		must(os.MkdirAll(filepath.Join(controller, cgroup, n.name), 0o755), "cgroup")
	}
	n.sleeper = start(n.name+"-namespaces", "unshare", "-n", "-m", "-u", "--propagation", "private", "sh", "-c", "mount --make-rshared /; exec sleep 100000")
	time.Sleep(300 * time.Millisecond)
	pid := n.sleeper.Process.Pid
	v := fmt.Sprintf("v%d", n.number)
	sh(fmt.Sprintf("ip link add %s type veth peer name eth0 netns %d; ip link set %s master lhe0 up; ip route add 10.78.%d.0/24 via 10.77.0.1%d", v, pid, v, n.number, n.number))
	n.sh(fmt.Sprintf("hostname %s; ip link set lo up; ip addr add 10.77.0.1%d/24 dev eth0; ip link set eth0 up; ip route add default via %s; echo 1 > /proc/sys/net/ipv4/ip_forward", n.name, n.number, master))
	must(os.WriteFile(n.dir()+"/boot_id", []byte(n.bootID()), 0o644), "boot id")
	// what a node writes goes to its own tmpfs, below directories that exist everywhere
	n.sh("for d in /var/lib /var/log /run; do mount -t tmpfs tmpfs $d; done; mkdir -p /var/lib/kubelet /var/lib/longhorn; mount --bind " + n.dir() + "/boot_id /proc/sys/kernel/random/boot_id")
	must(os.MkdirAll(n.dir()+"/cni", 0o755), "cni")
	must(os.WriteFile(n.dir()+"/cni/10-bench.conflist", []byte(fmt.Sprintf(`{"cniVersion": "0.4.0", "name": "bench", "plugins": [{"type": "bridge", "bridge": "cni0",
 "isGateway": true, "ipam": {"type": "host-local", "dataDir": "/run/cni-ipam", "ranges": [[{"subnet": "10.78.%d.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}`, n.number)), 0o644), "cni")
	must(os.WriteFile(n.dir()+"/containerd.toml", []byte(`version = 2
root = "`+n.dir()+`/containerd"
state = "/run/containerd"
[grpc]
address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "docker.io/bench/app:1"
restrict_oom_score_adj = true
disable_apparmor = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "`+n.dir()+`/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
`), 0o644), "containerd.toml")
	must(os.WriteFile(n.dir()+"/kubelet.yaml", []byte(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: `+cgroup+`/`+n.name+`
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
failSwapOn: false
oomScoreAdj: 0
makeIPTablesUtilChains: false
enforceNodeAllocatable: [pods]
evictionHard: {memory.available: 50Mi, nodefs.available: 1Mi, imagefs.available: 1Mi}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
nodeStatusUpdateFrequency: 5s
nodeLeaseDurationSeconds: 12
resolvConf: ""
healthzPort: 0
registryPullQPS: 0
`), 0o644), "kubelet.yaml")
}

func (n *node) startContainerd() {
	n.containerd = n.within("containerd", "containerd", "--config", n.dir()+"/containerd.toml")
	wait(n.name+"'s containerd", time.Minute, func() bool { return n.ctr("version") == nil })
}

func (n *node) ctr(args ...string) error {
	pid := strconv.Itoa(n.sleeper.Process.Pid)
	full := append([]string{"-t", pid, "-n", "-m", "-u", "ctr", "-a", "/run/containerd/containerd.sock", "-n", "k8s.io"}, args...)
	out, err := exec.Command("nsenter", full...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%v: %s", err, out)
	}
	return nil
}

func (n *node) startKubelet() {
	n.kubelet = n.within("kubelet", kube+"/kubelet", "--config="+n.dir()+"/kubelet.yaml", "--kubeconfig="+kubeconfig(), "--hostname-override="+n.name,
		fmt.Sprintf("--node-ip=10.77.0.1%d", n.number))
}

func (n *node) start() {
	n.prepare()
	n.startContainerd()
	for _, image := range []string{"app.tar", "exporter.tar"} {
		must(n.ctr("images", "import", "--snapshotter", "native", work+"/"+image), image)
	}
	n.startKubelet()
}

// The images: one layer each. All of Longhorn's have the same program.
var names = []string{"docker.io/bench/app:1", "docker.io/longhornio/longhorn-manager:v1.9.2", "docker.io/longhornio/longhorn-instance-manager:v1.9.2",
	"docker.io/longhornio/longhorn-share-manager:v1.9.2"}

func writeImages() {
	writeImage("app.tar", names, []string{"/bin/app", "pause"}, map[string]string{"bin/app": app})
	// the binary of a test build is not static: its libraries come along
	files := map[string]string{"longhorn-health-exporter": exporter}
	out, _ := exec.Command("ldd", exporter).Output()
	for _, word := range strings.Fields(string(out)) {
		if strings.HasPrefix(word, "/") {
			files[strings.TrimPrefix(word, "/")] = word
		}
	}
	writeImage("exporter.tar", []string{"docker.io/bench/exporter:bench"}, []string{"/longhorn-health-exporter"}, files)
}

func writeImage(name string, tags, entrypoint []string, content map[string]string) {
	var layer bytes.Buffer
	files := tar.NewWriter(&layer)
	made := map[string]bool{}
	for path, from := range content {
		for at, letter := range path {
			if letter == '/' && !made[path[:at]] {
				made[path[:at]] = true
				must(files.WriteHeader(&tar.Header{Name: path[:at] + "/", Mode: 0o755, Typeflag: tar.TypeDir}), "layer")
			}
		}
		program, err := os.ReadFile(from)
		must(err, from)
		must(files.WriteHeader(&tar.Header{Name: path, Mode: 0o755, Size: int64(len(program))}), "layer")
		files.Write(program)
	}
	must(files.Close(), "layer")
	sum := func(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }
	config, _ := json.Marshal(map[string]any{"architecture": arch(), "os": "linux", "config": map[string]any{"Entrypoint": entrypoint[:1], "Cmd": entrypoint[1:]},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + sum(layer.Bytes())}}})
	manifest, _ := json.Marshal([]map[string]any{{"Config": sum(config) + ".json", "RepoTags": tags, "Layers": []string{"layer.tar"}}})
	file, err := os.Create(work + "/" + name)
	must(err, "image")
	archive := tar.NewWriter(file)
	for name, data := range map[string][]byte{sum(config) + ".json": config, "layer.tar": layer.Bytes(), "manifest.json": manifest} {
		must(archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))}), "image")
		archive.Write(data)
	}
	must(archive.Close(), "image")
	must(file.Close(), "image")
}

func arch() string {
	out, _ := exec.Command("dpkg", "--print-architecture").Output()
	return strings.TrimSpace(string(out))
}

// killKubelet ends the kubelet as a power cut would; containers live on.
func (n *node) killKubelet() { syscall.Kill(n.kubelet.Process.Pid, syscall.SIGKILL) }

// powerOff ends everything that runs on the node.
func (n *node) powerOff() {
	n.killKubelet()
	syscall.Kill(n.containerd.Process.Pid, syscall.SIGKILL)
	own, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", n.sleeper.Process.Pid))
	for round := 0; round < 3; round++ {
		for _, pid := range pids() {
			namespace, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
			if pid != n.sleeper.Process.Pid && (namespace == own || n.holds(pid)) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// holds says whether a process runs in a container of the node.
func (n *node) holds(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	return strings.Contains(string(text), cgroup+"/"+n.name+"/")
}

func (n *node) powerOn() {
	must(os.WriteFile(n.dir()+"/boot_id", []byte(n.bootID()), 0o644), "boot id")
	n.sh("rm -rf /run/containerd/s /run/containerd/*.sock*; for m in $(awk '{print $2}' /proc/mounts | grep -E '^/run/(containerd|netns)/' | sort -r); do umount -l $m || true; done; ip link delete cni0 2>/dev/null || true")
	n.startContainerd()
	n.startKubelet()
}

func pids() []int {
	entries, _ := os.ReadDir("/proc")
	var all []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// mainPID finds the process of a container by the uid of its pod; of the sandbox if pause is asked for.
func mainPID(uid string, pause bool) int {
	for _, pid := range pids() {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(text), uid) && strings.HasPrefix(string(line), "/bin/app") && strings.Contains(string(line), "pause") == pause {
			return pid
		}
	}
	return 0
}
