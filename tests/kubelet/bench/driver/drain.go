// What `plan drain` says of a node, against kubectl and the PodDisruptionBudgets of a real API server: what it says would block
// blocks, and the order that it advises gets through.
package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"sort"
	"strings"
	"time"
)

const (
	policy      = "/apis/policy/v1/namespaces/longhorn-system/poddisruptionbudgets"
	deployments = "/apis/apps/v1/namespaces/default/deployments"
)

func cordoned(node string) bool {
	found, _ := at(get("/api/v1/nodes/"+node), "spec/unschedulable").(bool)
	return found
}

// syncBudget keeps the budget of the instance manager as longhorn-manager v1.9.2 does (controller/instance_manager_controller.go
// syncInstanceManagerPDB, generateInstanceManagerPDBManifest).
func (m *manager) syncBudget(managers []*manager) {
	if text(get(longhorn+"/instancemanagers/"+m.name), "status/currentState") != "running" {
		return
	}
	there := get(policy+"/"+m.name) != nil
	switch leaves := cordoned(m.node); {
	case !leaves && !there:
		create(policy, object{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta(m.name, nil),
			"spec": object{"minAvailable": 1, "selector": object{"matchLabels": imLabels(m.node)}}})
	case leaves && there && m.mayGo(managers):
		call("DELETE", policy+"/"+m.name, nil)
	}
}

// mayGo is canDeleteInstanceManagerPDB with the default node-drain-policy, block-if-contains-last-replica.
func (m *manager) mayGo(managers []*manager) bool {
	if engines, _ := at(get(longhorn+"/instancemanagers/"+m.name), "status/instanceEngines").(object); len(engines) > 0 {
		return false
	}
	replicas, _ := get(longhorn + "/replicas")["items"].([]any)
	guarded := map[string]bool{}
	for _, other := range managers {
		if other != m && !cordoned(other.node) && get(policy+"/"+other.name) != nil {
			guarded[other.node] = true
		}
	}
	for _, one := range replicas {
		if text(one, "spec/nodeID") != m.node || text(one, "spec/healthyAt")+text(one, "spec/failedAt") == "" {
			continue
		}
		safe := false
		for _, other := range replicas {
			safe = safe || text(other, "spec/volumeName") == text(one, "spec/volumeName") && guarded[text(other, "spec/nodeID")] &&
				text(other, "spec/healthyAt") != "" && text(other, "spec/failedAt") == ""
		}
		if !safe {
			return false
		}
	}
	return true
}

// follow attaches the volume of the node while the workload runs there, and detaches it when it leaves, as CSI has Longhorn do it.
func (m *manager) follow() {
	volume := "vol-" + m.node
	for attached := true; ; time.Sleep(500 * time.Millisecond) {
		wanted, name := false, ""
		items, _ := get("/api/v1/namespaces/default/pods?labelSelector=app%3Dwriter")["items"].([]any)
		for _, item := range items {
			if text(item, "spec/nodeName") == m.node && text(item, "status/phase") == "Running" {
				wanted, name = true, text(item, "metadata/name")
			}
		}
		m.lock.Lock()
		up := m.up
		m.lock.Unlock()
		if wanted == attached || wanted && !up {
			continue
		}
		attached = wanted
		state := map[bool][4]string{true: {"attached", "healthy", m.node, "running"}, false: {"detached", "unknown", "", "stopped"}}[wanted]
		uses := object{"namespace": "default", "pvcName": "data", "pvName": volume, "pvStatus": "Bound",
			"workloadsStatus": []any{object{"podName": name, "podStatus": "Running", "workloadName": "writer", "workloadType": "ReplicaSet"}}}
		patch(longhorn+"/volumes/"+volume, object{"spec": object{"nodeID": state[2]},
			"status": object{"state": state[0], "robustness": state[1], "currentNodeID": state[2], "kubernetesStatus": uses}})
		patch(longhorn+"/engines/"+volume+"-e-0", object{"spec": object{"desireState": state[3]}, "status": object{"currentState": state[3]}})
		replicas, _ := get(longhorn + "/replicas")["items"].([]any)
		for _, one := range replicas {
			if text(one, "spec/volumeName") == volume {
				patch(longhorn+"/replicas/"+text(one, "metadata/name"), object{"spec": object{"desireState": state[3]}, "status": object{"currentState": state[3]}})
			}
		}
		m.becomeBusy(wanted)
	}
}

// planned is what the bench reads of a plan.
type planned struct {
	Verdict string
	Parts   []struct {
		Reasons []struct {
			Condition string
			Weight    string
			Facts     []string
		}
		Steps []struct {
			Text    string
			Command *struct{ Run string }
		}
	}
}

func planDrain(node string) planned {
	out, _ := exec.Command(exporter, "plan", "drain", node, "--kubeconfig", kubeconfig(), "-o", "json").Output()
	var decoded planned
	must(json.Unmarshal(out, &decoded), "plan drain: "+string(out))
	return decoded
}

// against names what stands against the drain.
func (p planned) against() (found []string) {
	for _, part := range p.Parts {
		for _, reason := range part.Reasons {
			if reason.Weight != "note" {
				found = append(found, reason.Condition)
			}
		}
	}
	return found
}

func kubectl(line string) (string, error) {
	command := exec.Command("sh", "-c", line)
	command.Env = []string{"PATH=" + api + ":/usr/bin:/bin", "KUBECONFIG=" + kubeconfig(), "HOME=" + work}
	out, err := command.CombinedOutput()
	return string(out), err
}

var blocked = regexp.MustCompile(`error when evicting pods/"([^"]+)".*disruption budget`)

// refused names the pods that the API server does not let go.
func refused(output string) string {
	names := map[string]bool{}
	for _, match := range blocked.FindAllStringSubmatch(output, -1) {
		names[match[1]] = true
	}
	var sorted []string
	for name := range names {
		sorted = append(sorted, name)
	}
	sort.Strings(sorted)
	return strings.Join(sorted, " ")
}

func tell(name, want, said string, begin time.Time) {
	result{node: "node-b", name: "drain: " + name, want: want, said: said, seconds: time.Since(begin).Seconds()}.note()
}

// playDrain follows what `plan drain` advises for the second node. Returns how many instance managers it had evicted.
func playDrain(managers []*manager, n *node) int {
	m := managers[1]
	begin := time.Now()
	dryRun := "kubectl drain " + n.name + " --ignore-daemonsets --delete-emptydir-data --dry-run=server --timeout=8s"
	create(deployments, object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": "writer", "namespace": "default"},
		"spec": object{"replicas": 1, "selector": object{"matchLabels": object{"app": "writer"}}, "template": object{
			"metadata": object{"labels": object{"app": "writer"}}, "spec": object{"nodeSelector": object{"kubernetes.io/hostname": n.name},
				"terminationGracePeriodSeconds": 5, "containers": []any{object{"name": "writer", "image": "docker.io/bench/app:1",
					"imagePullPolicy": "Never", "command": []any{"/bin/app", "wait"}}}}}}})
	go m.follow()
	go func() {
		for ; ; time.Sleep(500 * time.Millisecond) {
			for _, one := range managers {
				one.syncBudget(managers)
			}
		}
	}()
	attached := func() bool {
		uses := at(get(longhorn+"/volumes/vol-"+n.name), "status/kubernetesStatus/workloadsStatus/0/podName")
		return uses != nil && text(get(longhorn+"/volumes/vol-"+n.name), "status/state") == "attached"
	}
	guarded := func() bool {
		allowed, known := at(get(policy+"/"+m.name), "status/disruptionsAllowed").(float64)
		healthy, _ := at(get(policy+"/"+m.name), "status/currentHealthy").(float64)
		return known && allowed == 0 && healthy == 1
	}
	wait("the workload and the budgets", time.Minute, func() bool { return attached() && guarded() && get(policy+"/"+managers[0].name) != nil })

	// the only copy is here: the plan says so, and so does the API server once the workload is gone
	tell("plan, the only copy is here", "not_yet last_copy budget_stays", strings.Join(append([]string{planDrain(n.name).Verdict}, planDrain(n.name).against()...), " "), begin)
	out, err := kubectl("kubectl drain " + n.name + " --ignore-daemonsets --delete-emptydir-data --timeout=25s")
	tell("kubectl drain, refused", m.name+" true", fmt.Sprint(refused(out), " ", err != nil), begin)
	out, _ = kubectl(dryRun)
	tell("kubectl drain --dry-run, refused", m.name, refused(out), begin)
	kubectl("kubectl uncordon " + n.name)
	wait("the workload to be back", time.Minute, attached)

	// as the plan advises: another healthy replica first
	volume := "vol-" + n.name
	patch(longhorn+"/volumes/"+volume, object{"spec": object{"numberOfReplicas": 2}})
	custom("replicas", object{"metadata": meta(volume+"-r-1", object{"longhornvolume": volume}), "spec": object{"volumeName": volume,
		"nodeID": managers[0].node, "diskID": "uuid-" + managers[0].node, "desireState": "running", "active": true, "healthyAt": now(),
		"failedAt": "", "dataEngine": "v1"}, "status": object{"instanceManagerName": managers[0].name, "currentState": "running"}})
	advised := planDrain(n.name)
	tell("plan, another copy elsewhere", "go", strings.Join(append([]string{advised.Verdict}, advised.against()...), " "), begin)
	out, _ = kubectl(dryRun)
	tell("--dry-run before it is cordoned", m.name, refused(out), begin)
	before := uid(m.settled())
	for _, step := range advised.Parts[0].Steps {
		if step.Command == nil {
			continue
		}
		line := strings.Replace(step.Command.Run, "longhorn-health-exporter check", exporter+" check", 1)
		started := time.Now()
		out, err := kubectl(strings.Replace(strings.Replace(line, "--timeout=30m", "--timeout=90s", 1), "--wait-healthy 2h", "--wait-healthy 90s", 1))
		result{node: n.name, name: "drain: step, " + strings.Fields(line)[1] + " " + strings.TrimPrefix(strings.Fields(line)[2], "--"),
			seconds: time.Since(started).Seconds(), said: map[bool]string{true: "failed"}[err != nil]}.note()
		if err != nil {
			fmt.Println(line + "\n" + out)
		}
		if strings.HasPrefix(line, "kubectl drain") {
			out, _ = kubectl(dryRun)
			tell("--dry-run when it is done, refused", "", refused(out), begin)
		}
	}
	after := uid(m.settled())
	tell("its instance manager was replaced", "true", fmt.Sprint(before != "" && before != after), begin)
	wait("the workload to be back", time.Minute, attached)
	return 1
}
