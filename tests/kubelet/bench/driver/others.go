// Pods beside instance managers: a longhorn-manager of the DaemonSet, a share manager, and the exporter's chart.
package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"reflect"
	"strings"
	"time"
)

// managerPod is the DaemonSet's pod on the node.
func managerPod(n *node) object {
	list := get(namespace + "/pods?labelSelector=app%3Dlonghorn-manager&fieldSelector=spec.nodeName%3D" + n.name)
	items, _ := list["items"].([]any)
	for _, item := range items {
		if found := item.(object); isReady(found) {
			return found
		}
	}
	return nil
}

// watchFor polls until a finding of these checks about the node is there, or the time is over.
func watchFor(n *node, r *result, checks string, limit time.Duration) {
	begin := time.Now()
	for time.Since(begin) < limit {
		time.Sleep(2 * time.Second)
		for _, finding := range findings(exporterAddress) {
			// what happens to the node's instance manager meanwhile is played by others
			if finding.Node != n.name || !strings.Contains(checks, finding.Check) || strings.HasPrefix(finding.Object.Name, "instance-manager-") {
				continue
			}
			if said := finding.Check + "/" + finding.Cause; said != r.said {
				r.said, r.seconds = said, time.Since(begin).Seconds()
				r.flips = append(r.flips, said)
			}
		}
		if r.want != "" && r.said != "" {
			return
		}
	}
}

func playOthers(n *node) {
	const managers = "manager_crash_loop manager_start_stuck manager_half_alive"
	var found object
	wait("the manager of "+n.name, 2*time.Minute, func() bool { found = managerPod(n); return found != nil })
	kill(mainPID(uid(found), false))
	r := result{node: n.name, name: "manager: SIGKILL once"}
	watchFor(n, &r, managers, 14*time.Second)
	r.note()

	shareManager(n)

	wait("the manager of "+n.name, 2*time.Minute, func() bool { found = managerPod(n); return found != nil })
	begin := time.Now()
	r = result{node: n.name, name: "manager: exits 1 again and again", want: "manager_crash_loop/unknown"}
	stop := make(chan bool)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Second):
				if found := managerPod(n); found != nil {
					order(found, "exit?code=1")
				}
			}
		}
	}()
	watchFor(n, &r, managers, 150*time.Second)
	close(stop)
	r.seconds = time.Since(begin).Seconds()
	r.note()
}

// shareManager kills the pod of a share manager once; it comes again at once, as Longhorn's does.
func shareManager(n *node) {
	const name = "share-manager-vol-node-a"
	create := func() {
		wait("the share manager's place", time.Minute, func() bool { return pod(name) == nil })
		call("POST", namespace+"/pods", object{"metadata": meta(name, object{"longhorn.io/component": "share-manager", "longhorn.io/managed-by": "longhorn-manager",
			"longhorn.io/share-manager": "vol-node-a"}), "spec": object{"restartPolicy": "Never", "nodeName": n.name, "priorityClassName": "longhorn-critical",
			"containers": []any{object{"name": "share-manager", "image": "docker.io/longhornio/longhorn-share-manager:v1.9.2", "imagePullPolicy": "Never",
				"command": []any{"/bin/app", "serve", "2049"}, "readinessProbe": object{"exec": object{"command": []any{"/bin/app", "probe", "2049"}}, "periodSeconds": 2}}}}})
		patch(longhorn+"/sharemanagers/vol-node-a", object{"status": object{"state": "running", "ownerID": n.name}})
	}
	custom("sharemanagers", object{"metadata": meta("vol-node-a", nil), "spec": object{"image": "longhornio/longhorn-share-manager:v1.9.2"},
		"status": object{"state": "starting", "ownerID": n.name}})
	create()
	wait("the share manager", time.Minute, func() bool { found := pod(name); return found != nil && isReady(found) })
	kill(mainPID(uid(pod(name)), false))
	go func() {
		wait("the end of the share manager", time.Minute, func() bool { return text(pod(name), "status/phase") == "Failed" })
		call("DELETE", namespace+"/pods/"+name, object{"gracePeriodSeconds": 0})
		create()
	}()
	r := result{node: n.name, name: "share manager: SIGKILL once"}
	watchFor(n, &r, "share_manager_down instance_manager_down", 14*time.Second)
	r.note()
}

// installChart runs the exporter as people do: a pod of the chart, with the chart's rights.
func installChart() {
	config := kubeconfig()
	rendered, err := exec.Command(api+"/helm", "template", "bench", chart, "--namespace", "longhorn-system", "--set", "image.registry=docker.io",
		"--set", "image.repository=bench/exporter", "--set", "image.tag=bench", "--set", "nodeSelector.kubernetes\\.io/hostname=node-a",
		"--skip-tests").Output()
	must(err, "helm template")
	apply := exec.Command(api+"/kubectl", "--kubeconfig", config, "apply", "-f", "-")
	apply.Stdin = bytes.NewReader(rendered)
	out, err := apply.CombinedOutput()
	if err != nil {
		must(fmt.Errorf("%v: %s", err, out), "kubectl apply of the chart")
	}
	begin := time.Now()
	wait("the exporter's pod", 2*time.Minute, func() bool { return chartPod() != nil })
	fmt.Printf("the pod of the chart is Ready after %.0f s\n", time.Since(begin).Seconds())
}

func chartPod() object {
	list := get(namespace + "/pods?labelSelector=app.kubernetes.io%2Finstance%3Dbench")
	items, _ := list["items"].([]any)
	if len(items) == 0 || !isReady(items[0].(object)) {
		return nil
	}
	return items[0].(object)
}

// compareChart says whether the pod of the chart has seen the same as the exporter outside; 1 if not.
func compareChart(outside map[string]int) int {
	found := chartPod()
	if found == nil {
		fmt.Println("WRONG  the pod of the chart is not Ready")
		return 1
	}
	address := text(found, "status/podIP") + ":10945"
	inside := counters(address)
	restarts := at(found, "status/containerStatuses")
	fmt.Printf("\nthe pod of the chart counted %v, restarts %v\n", inside, restarts.([]any)[0].(object)["restartCount"])
	if !reflect.DeepEqual(inside, outside) {
		fmt.Println("WRONG  the two exporters counted differently")
		return 1
	}
	return 0
}
