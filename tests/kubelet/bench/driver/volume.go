// A new volume whose engine cannot start, as a real longhorn-manager v1.9.2 played it where the engine binary was missing: it is
// attaching, faulted, detaching and detached in rounds of two seconds, and was never up.
package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

var destructive = regexp.MustCompile(`[Dd]elete |[Rr]estore|[Ss]alvage|[Ss]cale`)

// playNewVolume looks every second for a minute: what is critical stays, and nothing that takes data away is advised.
func playNewVolume(n *node) {
	const name = "vol-new"
	custom("volumes", object{"metadata": meta(name, nil), "spec": object{"nodeID": n.name, "numberOfReplicas": 1, "size": "1073741824", "dataEngine": "v1",
		"image": "longhornio/longhorn-engine:v1.9.2"}, "status": object{"state": "attaching", "robustness": "unknown", "ownerID": n.name}})
	custom("engines", object{"metadata": meta(name+"-e-0", object{"longhornvolume": name}), "spec": object{"volumeName": name, "nodeID": n.name,
		"desireState": "running", "active": true, "dataEngine": "v1"}, "status": object{"currentState": "starting"}})
	custom("replicas", object{"metadata": meta(name+"-r-0", object{"longhornvolume": name}), "spec": object{"volumeName": name, "nodeID": n.name,
		"diskID": "uuid-" + n.name, "desireState": "running", "active": true, "healthyAt": "", "failedAt": "", "dataEngine": "v1"},
		"status": object{"currentState": "running"}})
	event := func(kind, about, reason string) string {
		created, _ := call("POST", namespace+"/events", object{"metadata": object{"generateName": about + ".", "namespace": "longhorn-system"}, "reason": reason,
			"type": "Warning", "message": fmt.Sprintf("Engine of volume %s dead unexpectedly, reattach the volume", name), "count": 1,
			"firstTimestamp": now(), "lastTimestamp": now(), "source": object{"component": "longhorn-volume-controller"},
			"involvedObject": object{"kind": kind, "name": about, "namespace": "longhorn-system"}})
		return namespace + "/events/" + text(created, "metadata/name")
	}
	died, started := event("Volume", name, "DetachedUnexpectedly"), event("Engine", name+"-e-0", "Start")
	stop := make(chan bool)
	go func() {
		rounds := [][3]string{{"attaching", "unknown", "starting"}, {"attaching", "faulted", "error"}, {"detaching", "faulted", "stopping"}, {"detached", "unknown", "stopped"}}
		for step := 0; ; step++ {
			select {
			case <-stop:
				return
			case <-time.After(500 * time.Millisecond):
			}
			current := rounds[step%4]
			status := object{"currentState": current[2]}
			if current[2] == "error" {
				status["conditions"] = []any{object{"type": "InstanceCreation", "status": "False", "reason": "InstanceCreationFailure",
					"message": "exec: \"/engine-binaries/longhornio-longhorn-engine-v1.9.2/longhorn\": no such file or directory"}}
			}
			patch(longhorn+"/engines/"+name+"-e-0", object{"status": status})
			patch(longhorn+"/volumes/"+name, object{"status": object{"state": current[0], "robustness": current[1], "remountRequestedAt": now()}})
			// client-go holds them still after 25
			if count := 1 + step/4; step%4 == 1 && count <= 25 {
				for _, one := range []string{died, started} {
					patch(one, object{"count": count, "lastTimestamp": now()})
				}
			}
		}
	}()
	begin := time.Now()
	r := result{node: n.name, name: "new volume whose engine cannot start", want: "volume_attachment_stuck/engine_cannot_start"}
	for time.Since(begin) < time.Minute {
		time.Sleep(time.Second)
		said := ""
		for _, one := range findings(exporterAddress) {
			if one.Severity != "critical" || !strings.HasPrefix(one.Object.Name, name) {
				continue
			}
			said = one.Check + "/" + one.Cause
			advice := one.Remedy.Fix
			for _, command := range one.Remedy.Commands {
				advice += " " + command.Run
			}
			if destructive.MatchString(advice) && !strings.Contains(advice, "nothing has to be deleted") {
				r.want = "nothing destructive, but: " + advice
			}
		}
		if said != r.said {
			if r.said == "" {
				r.seconds = time.Since(begin).Seconds()
			}
			r.said = said
			r.flips = append(r.flips, or(said, "nothing"))
		}
	}
	close(stop)
	if len(r.flips) > 1 {
		r.said = "comes and goes"
	}
	r.note()
	for _, one := range []string{"volumes/" + name, "engines/" + name + "-e-0", "replicas/" + name + "-r-0"} {
		call("DELETE", longhorn+"/"+one, nil)
	}
}
