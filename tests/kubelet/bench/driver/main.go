// The bench with real kubelets: plays what happens to instance managers on two real nodes and compares what `serve`
// says with what really happened. tests/kubelet/bench/run starts it in namespaces of its own.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const exporterAddress = "127.0.0.1:10945"

// situation is one thing that is done, and what must be said of it.
type situation struct {
	name string
	busy bool
	// memory limit of the pod
	limit string
	act   func(m *manager, n *node, pod object)
	// the cause that is true; empty where nothing ends
	cause string
	// seconds that it may take until it is said
	within int
}

func kill(pid int) {
	if pid != 0 {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

func remove(m *manager, options object) { call("DELETE", namespace+"/pods/"+m.name, options) }

func evict(m *manager) {
	call("POST", namespace+"/pods/"+m.name+"/eviction", object{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta(m.name, nil)})
}

func uid(of object) string { return text(of, "metadata/uid") }

var onNodeA = []situation{
	{"deleted, idle", false, "", func(m *manager, _ *node, _ object) { remove(m, nil) }, "deleted", 40},
	{"liveness kill, idle", false, "", func(_ *manager, _ *node, pod object) { order(pod, "close") }, "liveness_probe", 60},
	{"liveness kill, busy", true, "", func(_ *manager, _ *node, pod object) { order(pod, "close") }, "liveness_probe", 60},
	{"liveness kill, SIGTERM ignored", true, "", func(_ *manager, _ *node, pod object) { order(pod, "ignore-term"); order(pod, "close") }, "liveness_loop", 90},
	{"OOM of the main process", true, "48Mi", func(_ *manager, _ *node, pod object) { order(pod, "eat") }, "oom_killed", 60},
	{"OOM of a child, then deleted", true, "48Mi", func(m *manager, _ *node, pod object) {
		order(pod, "eat-in-child")
		time.Sleep(4 * time.Second)
		remove(m, nil)
	}, "deleted", 60},
	{"SIGKILL from outside", true, "", func(_ *manager, _ *node, pod object) { kill(mainPID(uid(pod), false)) }, "unknown", 40},
	{"exit 2", true, "", func(_ *manager, _ *node, pod object) { order(pod, "exit?code=2") }, "panic", 40},
	{"exit 0 by itself", true, "", func(_ *manager, _ *node, pod object) { order(pod, "exit?code=0") }, "unknown", 40},
	{"deleted, busy", true, "", func(m *manager, _ *node, _ object) { remove(m, nil) }, "deleted", 40},
	{"force-deleted, busy", true, "", func(m *manager, _ *node, _ object) { remove(m, object{"gracePeriodSeconds": 0}) }, "deleted", 40},
	{"deleted while the probe fails", true, "", func(m *manager, _ *node, pod object) {
		order(pod, "close")
		time.Sleep(4 * time.Second)
		remove(m, nil)
	}, "deleted", 40},
}

var onNodeB = []situation{
	{"SIGKILL from outside, idle", false, "", func(_ *manager, _ *node, pod object) { kill(mainPID(uid(pod), false)) }, "unknown", 40},
	{"evicted through the API", true, "", func(m *manager, _ *node, _ object) { evict(m) }, "evicted", 40},
	{"drained", true, "", func(m *manager, n *node, _ object) {
		patch("/api/v1/nodes/"+n.name, object{"spec": object{"unschedulable": true}})
		evict(m)
		time.Sleep(4 * time.Second)
		patch("/api/v1/nodes/"+n.name, object{"spec": object{"unschedulable": false}})
	}, "evicted", 60},
	{"sandbox killed", true, "", func(_ *manager, _ *node, pod object) { kill(mainPID(uid(pod), true)) }, "sandbox_lost", 60},
	{"taint NoExecute for 12 s", true, "", func(_ *manager, n *node, _ object) {
		patch("/api/v1/nodes/"+n.name, object{"spec": object{"taints": []any{object{"key": "key", "value": "value", "effect": "NoExecute"}}}})
		time.Sleep(12 * time.Second)
		patch("/api/v1/nodes/"+n.name, object{"spec": object{"taints": []any{}}})
	}, "tainted", 60},
	{"kubelet away for 50 s", true, "", func(_ *manager, n *node, _ object) {
		n.killKubelet()
		time.Sleep(50 * time.Second)
		n.startKubelet()
	}, "node_lost", 120},
	{"reboot, off for 25 s", true, "", func(_ *manager, n *node, _ object) {
		n.powerOff()
		time.Sleep(25 * time.Second)
		n.powerOn()
	}, "node_lost", 150},
}

type result struct {
	node, name, want, said string
	// an end of an instance manager, which is counted
	ofManager bool
	seconds   float64
	flips     []string
}

var (
	results []result
	lock    sync.Mutex
)

// finding is what the bench reads of one.
type finding struct {
	Check, Cause, Node, Severity string
	Object                       struct{ Name string }
	Evidence                     []struct{ Text string }
	Remedy                       struct {
		Fix      string
		Commands []struct{ Run string }
	}
}

func findings(address string) []finding {
	var decoded struct{ Findings []finding }
	json.Unmarshal([]byte(fetch(address, "/api/v1/report")), &decoded)
	return decoded.Findings
}

// verdict is what is said of the end of the pod with this uid.
func verdict(podUID string) string {
	for _, finding := range findings(exporterAddress) {
		if finding.Check != "instance_manager_replaced" {
			continue
		}
		for _, evidence := range finding.Evidence {
			if strings.Contains(evidence.Text, podUID) {
				return finding.Cause
			}
		}
	}
	return ""
}

func fetch(address, path string) string {
	quick := http.Client{Timeout: 10 * time.Second}
	answer, err := quick.Get("http://" + address + path)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return string(body)
}

func (m *manager) settled() object {
	var found object
	wait(m.name+" to run", 2*time.Minute, func() bool {
		m.lock.Lock()
		defer m.lock.Unlock()
		found = pod(m.name)
		return m.up && found != nil && isReady(found) && text(found, "metadata/deletionTimestamp") == ""
	})
	// the probe has begun
	time.Sleep(4 * time.Second)
	return found
}

func play(m *manager, n *node, all []situation) {
	for _, s := range all {
		m.becomeBusy(s.busy)
		if m.limit != s.limit {
			// a change of the limit would need another pod; the one there was made for the situation before
			must(fmt.Errorf("%q wants %q", m.limit, s.limit), s.name)
		}
		found := m.settled()
		if next := after(all, s.name); next != nil {
			m.lock.Lock()
			m.limit = next.limit
			m.lock.Unlock()
		}
		begin := time.Now()
		go s.act(m, n, found)
		r := result{node: n.name, name: s.name, want: s.cause, ofManager: true}
		for time.Since(begin) < time.Duration(s.within)*time.Second {
			time.Sleep(2 * time.Second)
			said := verdict(uid(found))
			if said != "" && said != r.said {
				r.said, r.seconds = said, time.Since(begin).Seconds()
				r.flips = append(r.flips, said)
			}
			if said != "" && time.Since(begin).Seconds() > r.seconds+8 {
				break
			}
		}
		r.note()
	}
}

func (r result) note() {
	lock.Lock()
	defer lock.Unlock()
	results = append(results, r)
	mark := "right"
	if r.said != r.want {
		mark = "WRONG"
	}
	fmt.Printf("%s  %-6s %-40s %-22s after %5.1f s  %s\n", mark, r.node, r.name, or(r.said, "nothing"), r.seconds, strings.Join(r.flips, " -> "))
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func after(all []situation, name string) *situation {
	for i := range all {
		if all[i].name == name && i+1 < len(all) {
			return &all[i+1]
		}
	}
	return nil
}

// counters as the exporter has them, by cause.
func counters(address string) map[string]int {
	found := map[string]int{}
	line := regexp.MustCompile(`longhorn_health_instance_manager_replacements_total\{cause="(\w+)",planned="(\w+)"\} ([1-9]\S*)`)
	for _, match := range line.FindAllStringSubmatch(fetch(address, "/metrics"), -1) {
		number, _ := strconv.Atoi(match[3])
		found[match[1]] += number
	}
	return found
}

func main() {
	flag.StringVar(&work, "work", "", "directory for everything")
	flag.StringVar(&kube, "kube", "", "directory of kubelet, kube-controller-manager, kube-scheduler")
	flag.StringVar(&api, "api", "", "directory of kube-apiserver")
	flag.StringVar(&exporter, "exporter", "", "longhorn-health-exporter")
	flag.StringVar(&app, "app", "", "program of the containers")
	flag.StringVar(&chart, "chart", "", "chart of the exporter")
	flag.StringVar(&cgroup, "cgroup", "", "cgroup below which the nodes are")
	of := flag.String("controllers", "", "cgroup controllers, one directory each")
	flag.Parse()
	controllers = strings.Fields(*of)
	begin := time.Now()
	startServers()
	writeImages()
	nodes := []*node{{name: "node-a", number: 1}, {name: "node-b", number: 2}}
	managers := []*manager{{node: "node-a", name: "instance-manager-c512ebeadef730eabe4ea3852e7b2bd3"},
		{node: "node-b", name: "instance-manager-75205fc870f191582b067d8cb1695072"}}
	installLonghorn(managers)
	for _, n := range nodes {
		n.start()
	}
	wait("the nodes to be Ready", 3*time.Minute, func() bool { return !nodeIsAway("node-a") && !nodeIsAway("node-b") })
	for _, m := range managers {
		go m.run()
	}
	installChart()
	start("exporter", exporter, "serve", "--kubeconfig", kubeconfig(), "--web.listen-address", exporterAddress)
	for _, m := range managers {
		m.settled()
	}
	wait("the exporter", time.Minute, func() bool { return strings.Contains(fetch(exporterAddress, "/api/v1/report"), "findings") })
	fmt.Printf("the bed stands after %.0f s\n", time.Since(begin).Seconds())
	var both sync.WaitGroup
	for i, all := range [][]situation{onNodeA, onNodeB} {
		both.Add(1)
		go func() { defer both.Done(); play(managers[i], nodes[i], all) }()
	}
	both.Add(1)
	go func() { defer both.Done(); playOthers(nodes[0]) }()
	both.Wait()
	// on its own: an engine that dies with its instance manager is explained by that
	playNewVolume(nodes[0])
	truth := map[string]int{"evicted": playDrain(managers, nodes[1])}
	// an end is counted a minute after it
	time.Sleep(65 * time.Second)
	wrong := 0
	for _, r := range results {
		if r.ofManager {
			// three kills within the hour are said to be a loop, and each is counted as a kill
			truth[strings.Replace(r.want, "liveness_loop", "liveness_probe", 1)]++
		}
		if r.said != r.want {
			wrong++
		}
	}
	fmt.Printf("\n%-24s really  counted\n", "cause")
	said := counters(exporterAddress)
	var causes []string
	for cause := range truth {
		causes = append(causes, cause)
	}
	for cause := range said {
		if truth[cause] == 0 {
			causes = append(causes, cause)
		}
	}
	sort.Strings(causes)
	for _, cause := range causes {
		fmt.Printf("%-24s %6d  %7d\n", cause, truth[cause], said[cause])
		if truth[cause] != said[cause] {
			wrong++
		}
	}
	wrong += compareChart(said)
	fmt.Printf("\n%d situations, %d wrong, %.0f s\n", len(results), wrong, time.Since(begin).Seconds())
	if wrong > 0 {
		os.Exit(1)
	}
}
