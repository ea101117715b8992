// What there is of Longhorn: its objects, and a stand-in for longhorn-manager that deletes an instance manager's pod that
// ended, creates the next one, and writes the harm to volumes (longhorn-manager v1.9.2
// controller/instance_manager_controller.go handlePod, controller/volume_controller.go).
package main

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

var kinds = map[string]string{"nodes": "Node", "instancemanagers": "InstanceManager", "engines": "Engine", "replicas": "Replica", "volumes": "Volume",
	"volumeattachments": "VolumeAttachment", "backingimages": "BackingImage", "backingimagemanagers": "BackingImageManager",
	"backingimagedatasources": "BackingImageDataSource", "engineimages": "EngineImage", "orphans": "Orphan", "settings": "Setting",
	"sharemanagers": "ShareManager", "backuptargets": "BackupTarget", "backups": "Backup", "recurringjobs": "RecurringJob"}

// manager stands for the instance manager of a node and its longhorn-manager.
type manager struct {
	node, name string
	lock       sync.Mutex
	busy       bool
	limit      string
	uid        string
	up         bool
	gone       time.Time
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

func meta(name string, labels object) object {
	return object{"name": name, "namespace": "longhorn-system", "labels": labels}
}

func custom(plural string, body object) {
	body["apiVersion"], body["kind"] = "longhorn.io/v1beta2", kinds[plural]
	create(longhorn+"/"+plural, body)
}

func installLonghorn(managers []*manager) {
	for plural, kind := range kinds {
		schema := object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
		create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": object{"name": plural + ".longhorn.io"},
			"spec": object{"group": "longhorn.io", "scope": "Namespaced", "names": object{"plural": plural, "singular": strings.ToLower(kind), "kind": kind},
				"versions": []any{object{"name": "v1beta2", "served": true, "storage": true, "schema": object{"openAPIV3Schema": schema}}}}})
	}
	create("/api/v1/namespaces", object{"metadata": object{"name": "longhorn-system"}})
	create("/apis/scheduling.k8s.io/v1/priorityclasses", object{"metadata": object{"name": "longhorn-critical"}, "value": 1000000000})
	wait("Longhorn's kinds", time.Minute, func() bool {
		for plural := range kinds {
			if get(longhorn+"/"+plural) == nil {
				return false
			}
		}
		return true
	})
	wait("the default service account", time.Minute, func() bool { return get(namespace+"/serviceaccounts/default") != nil })
	for name, value := range map[string]string{"current-longhorn-version": "v1.9.2", "default-instance-manager-image": "longhornio/longhorn-instance-manager:v1.9.2",
		"default-engine-image": "longhornio/longhorn-engine:v1.9.2", "priority-class": "longhorn-critical", "node-drain-policy": "block-if-contains-last-replica"} {
		custom("settings", object{"metadata": meta(name, nil), "value": value, "status": object{"applied": true}})
	}
	labels := object{"app": "longhorn-manager", "longhorn.io/conversion-webhook": "longhorn-conversion-webhook", "longhorn.io/admission-webhook": "longhorn-admission-webhook"}
	container := object{"name": "longhorn-manager", "image": "docker.io/longhornio/longhorn-manager:v1.9.2", "imagePullPolicy": "Never",
		"command":        []any{"/bin/app", "serve", "9500", "9501", "9502"},
		"args":           []any{},
		"readinessProbe": object{"exec": object{"command": []any{"/bin/app", "probe", "9501"}}, "periodSeconds": 2, "failureThreshold": 3}}
	create("/apis/apps/v1/namespaces/longhorn-system/daemonsets", object{"metadata": meta("longhorn-manager", labels),
		"spec": object{"selector": object{"matchLabels": object{"app": "longhorn-manager"}}, "template": object{"metadata": object{"labels": labels},
			"spec": object{"containers": []any{container}, "priorityClassName": "longhorn-critical", "terminationGracePeriodSeconds": 5}}}})
	for _, service := range []string{"conversion", "admission"} {
		name := "longhorn-" + service + "-webhook"
		create(namespace+"/services", object{"metadata": meta(name, nil), "spec": object{"selector": object{"longhorn.io/" + service + "-webhook": name},
			"ports": []any{object{"port": 9501}}}})
	}
	for _, m := range managers {
		disk := object{"default": object{"allowScheduling": true, "path": "/var/lib/longhorn/"}}
		ok := func(kind string) object { return object{"type": kind, "status": "True", "lastTransitionTime": now()} }
		custom("nodes", object{"metadata": meta(m.node, nil), "spec": object{"name": m.node, "allowScheduling": true, "disks": disk},
			"status": object{"conditions": []any{ok("Ready"), ok("Schedulable"), ok("MountPropagation")},
				"diskStatus": object{"default": object{"diskUUID": "uuid-" + m.node, "storageMaximum": 100000000000, "storageAvailable": 90000000000,
					"conditions": []any{ok("Ready"), ok("Schedulable")}}}}})
		custom("instancemanagers", object{"metadata": meta(m.name, imLabels(m.node)), "spec": object{"image": "longhornio/longhorn-instance-manager:v1.9.2",
			"nodeID": m.node, "type": "aio", "dataEngine": "v1"}, "status": object{"ownerID": m.node, "currentState": "starting"}})
		volume := "vol-" + m.node
		custom("volumes", object{"metadata": meta(volume, nil), "spec": object{"nodeID": m.node, "numberOfReplicas": 1, "size": "1073741824", "dataEngine": "v1",
			"image": "longhornio/longhorn-engine:v1.9.2"}, "status": object{"state": "attached", "robustness": "healthy", "currentNodeID": m.node, "ownerID": m.node}})
		custom("engines", object{"metadata": meta(volume+"-e-0", object{"longhornvolume": volume}), "spec": object{"volumeName": volume, "nodeID": m.node,
			"desireState": "running", "active": true, "dataEngine": "v1"}, "status": object{"instanceManagerName": m.name, "currentState": "running"}})
		custom("replicas", object{"metadata": meta(volume+"-r-0", object{"longhornvolume": volume}), "spec": object{"volumeName": volume, "nodeID": m.node,
			"diskID": "uuid-" + m.node, "desireState": "running", "active": true, "healthyAt": now(), "failedAt": "", "dataEngine": "v1"},
			"status": object{"instanceManagerName": m.name, "currentState": "running"}})
	}
}

func imLabels(node string) object {
	return object{"longhorn.io/component": "instance-manager", "longhorn.io/managed-by": "longhorn-manager", "longhorn.io/node": node,
		"longhorn.io/instance-manager-type": "aio", "longhorn.io/instance-manager-image": "imi-80f7696e", "longhorn.io/data-engine": "v1"}
}

// createPod as createGenericManagerPodSpec does, but with a probe of 3 x 3 s where Longhorn's is 6 x 11 s.
func (m *manager) createPod() bool {
	// Longhorn makes no instance manager on a cordoned node
	if cordoned(m.node) {
		return false
	}
	resources := object{"requests": object{"cpu": "50m"}}
	if m.limit != "" {
		resources["limits"] = object{"memory": m.limit}
	}
	of := meta(m.name, imLabels(m.node))
	// kubectl drain leaves a pod alone that has no controller
	of["ownerReferences"] = []any{object{"apiVersion": "longhorn.io/v1beta2", "kind": "InstanceManager", "name": m.name,
		"uid": uid(get(longhorn + "/instancemanagers/" + m.name)), "controller": true, "blockOwnerDeletion": true}}
	_, code := call("POST", namespace+"/pods", object{"metadata": of, "spec": object{"restartPolicy": "Never", "nodeName": m.node,
		"priorityClassName": "longhorn-critical", "containers": []any{object{"name": "instance-manager",
			"image": "docker.io/longhornio/longhorn-instance-manager:v1.9.2", "imagePullPolicy": "Never", "command": []any{"/bin/app", "serve", "8500", "8501", "8502", "8503"},
			"resources": resources, "securityContext": object{"privileged": true},
			"livenessProbe": object{"exec": object{"command": []any{"/bin/app", "probe", "8500"}}, "initialDelaySeconds": 3, "timeoutSeconds": 2, "periodSeconds": 3,
				"failureThreshold": 3}}}}})
	return code < 300
}

// run looks after the instance manager twice a second, as the manager of its node does.
func (m *manager) run() {
	for ; ; time.Sleep(500 * time.Millisecond) {
		m.lock.Lock()
		found, code := call("GET", namespace+"/pods/"+m.name, nil)
		switch {
		case code == 404:
			if m.uid != "" {
				m.ended("stopped")
				m.uid, m.gone = "", time.Now()
			} else if time.Since(m.gone) > 2*time.Second {
				if m.createPod() {
					m.state("starting")
				}
			}
		case code == 200:
			uid, phase := text(found, "metadata/uid"), text(found, "status/phase")
			if m.uid != uid {
				if m.uid != "" {
					m.ended("stopped")
				}
				m.uid = uid
			}
			if phase == "Succeeded" || phase == "Failed" {
				m.ended("error")
				call("DELETE", namespace+"/pods/"+m.name, object{"gracePeriodSeconds": 0, "preconditions": object{"uid": uid}})
			} else if phase == "Running" && !m.up && isReady(found) {
				m.up = true
				m.state("running")
				m.heal()
			} else if m.up && !isReady(found) && phase == "Running" && nodeIsAway(m.node) {
				m.ended("unknown")
			}
		}
		m.lock.Unlock()
	}
}

func isReady(found object) bool {
	conditions, _ := at(found, "status/conditions").([]any)
	for _, condition := range conditions {
		if text(condition, "type") == "Ready" {
			return text(condition, "status") == "True"
		}
	}
	return false
}

func nodeIsAway(name string) bool { return !isReady(get("/api/v1/nodes/" + name)) }

func (m *manager) state(state string) {
	instances := object{"instanceEngines": object{}, "instanceReplicas": object{}}
	volume := "vol-" + m.node
	if state == "running" && m.busy {
		of := func(kind string) object { return object{"status": object{"state": "running", "type": kind}} }
		instances = object{"instanceEngines": object{volume + "-e-0": of("engine")}, "instanceReplicas": object{volume + "-r-0": of("replica")}}
	} else {
		instances = object{"instanceEngines": nil, "instanceReplicas": nil}
	}
	instances["currentState"] = state
	patch(longhorn+"/instancemanagers/"+m.name, object{"status": instances})
}

// ended writes the harm, once for each end.
func (m *manager) ended(state string) {
	if !m.up {
		return
	}
	m.up = false
	m.state(state)
	if !m.busy {
		return
	}
	volume := "vol-" + m.node
	patch(longhorn+"/engines/"+volume+"-e-0", object{"status": object{"currentState": "error"}})
	patch(longhorn+"/replicas/"+volume+"-r-0", object{"spec": object{"failedAt": now(), "lastFailedAt": now()}, "status": object{"currentState": "error"}})
	patch(longhorn+"/volumes/"+volume, object{"status": object{"state": "detaching", "robustness": "unknown"}})
	create(namespace+"/events", object{"metadata": object{"generateName": volume + ".", "namespace": "longhorn-system"}, "reason": "DetachedUnexpectedly", "type": "Warning",
		"message":        fmt.Sprintf("Engine of volume %s dead unexpectedly, reattach the volume", volume),
		"involvedObject": object{"kind": "Volume", "name": volume, "namespace": "longhorn-system"}, "count": 1, "firstTimestamp": now(), "lastTimestamp": now(),
		"source": object{"component": "longhorn-volume-controller"}})
}

func (m *manager) heal() {
	volume := "vol-" + m.node
	if !m.busy {
		return
	}
	patch(longhorn+"/replicas/"+volume+"-r-0", object{"spec": object{"failedAt": "", "healthyAt": now()}, "status": object{"currentState": "running"}})
	patch(longhorn+"/engines/"+volume+"-e-0", object{"status": object{"currentState": "running"}})
	patch(longhorn+"/volumes/"+volume, object{"status": object{"state": "attached", "robustness": "healthy", "remountRequestedAt": now()}})
}

// becomeBusy moves the volume here; from then on every end hits it.
func (m *manager) becomeBusy(busy bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.busy = busy
	if m.up {
		m.state("running")
	}
}
