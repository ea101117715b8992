//! What makes the end of an instance manager likelier: an impatient liveness probe, less CPU than
//! was asked for, and a PriorityClass that makes Longhorn replace idle pods every hour.
//!
//! Each cause is one finding about the instance manager that is worst off, with how many share it:
//! these are properties of a release and of settings, and rarely of one object.

mod causes;
mod cpu;
mod network;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::check::*;
use crate::facts::age::{Begun, Unknown, observe};
use crate::facts::instance_managers::{InstanceManagers, container_of};
use crate::facts::patience::NEXT_POD;
use crate::facts::text::{self, listed};
use crate::facts::volumes;
use crate::longhorn::Resource::*;
use crate::longhorn::{DaemonSet, InstanceManager, Pod, Release, Setting, Volume, VolumeRobustness};

/// Of the kubelet's own metrics, which a busy node changes before any object of the API shows it.
const OF_CADVISOR: Panel = Panel {
    dashboard: Dashboard::InstanceManagers,
    legend: "{{pod}}",
    no_data: "cAdvisor (the kubelet) or kube-state-metrics is not scraped",
    ..Panel::TIME_SERIES
};

pub static CHECK: Check = check! {
    id: "instance_manager_pressure",
    title: "Instance manager pressure",
    summary: "An instance manager's pod is easily lost. Its liveness probe gives up early, its CPU request is below the settings, or its \
              PriorityClass differs from setting priority-class.",
    needs: &[InstanceManagers, Pods, Settings],
    uses: &[LonghornNodes, KubeNodes, PriorityClasses],
    causes: causes::ALL,
    gauges: GAUGES,
    records: &[&BUSIEST, &SHORTEST_WINDOW],
    alerts: &[PRIORITY_CLASS, UNDER_PRESSURE],
    panels: &[
        Panel {
            dashboard: Dashboard::InstanceManagers,
            title: "Busiest instance manager",
            description: "Engines and replicas in the busiest instance manager. If there are many, it answers its liveness probe late. Spread the \
                volumes if the number grows.",
            expr: "max by ($cluster data_engine) (data_engine:longhorn_health_instance_manager_max_instances:max{$job})",
            legend: "{{data_engine}}",
            steps: &[Step::threshold(UNDER_PRESSURE.name, &BUSY, "orange")],
            no_data: "no instance manager is running, or the exporter is not reporting",
            ..Panel::TIME_SERIES
        },
        Panel {
            dashboard: Dashboard::InstanceManagers,
            title: "Shortest liveness window",
            description: "Shortest time that a liveness probe may fail before the kubelet kills the instance manager. It is 15, 30 or (from 1.9.2 on) 66 s.",
            unit: Unit::Seconds,
            expr: "min by ($cluster data_engine) (data_engine:longhorn_health_instance_manager_min_probe_window_seconds:min{$job})",
            legend: "{{data_engine}}",
            steps: &[Step::at(0.0, "orange"), Step::threshold(UNDER_PRESSURE.name, &IMPATIENT, "green")],
            width: Width::Half,
            no_data: "no instance manager pod has a liveness probe, or the exporter is not reporting",
            ..Panel::STAT
        },
        Panel {
            title: "CPU over request",
            description: "CPU use of each instance manager pod divided by its CPU request. Above 1, a busy node can starve the pod until its probe fails.",
            unit: Unit::Ratio,
            expr: "sum by ($cluster pod) (rate(container_cpu_usage_seconds_total{namespace=\"$namespace\", pod=~\"instance-manager-.+\", \
                   container!=\"\", $variables}[$__rate_interval])) / sum by ($cluster pod) (kube_pod_container_resource_requests{\
                   namespace=\"$namespace\", pod=~\"instance-manager-.+\", resource=\"cpu\", $variables})",
            steps: &[Step::at(1.0, "orange")],
            ..OF_CADVISOR
        },
        Panel {
            title: "Memory",
            description: "Working set of each instance manager pod. A steady climb ends in an OOM kill, which detaches all the pod's volumes.",
            unit: Unit::Bytes,
            expr: "sum by ($cluster pod) (container_memory_working_set_bytes{namespace=\"$namespace\", pod=~\"instance-manager-.+\", \
                   container!=\"\", $variables})",
            ..OF_CADVISOR
        },
        Panel {
            title: "Network traffic",
            description: "Bytes per second that each instance manager pod receives and sends (writes, rebuilds). At the link's limit, probes and replicas time out.",
            unit: Unit::Bytes,
            expr: "sum by ($cluster pod) (rate(container_network_receive_bytes_total{namespace=\"$namespace\", pod=~\"instance-manager-.+\", \
                   $variables}[$__rate_interval])) + sum by ($cluster pod) (rate(container_network_transmit_bytes_total{\
                   namespace=\"$namespace\", pod=~\"instance-manager-.+\", $variables}[$__rate_interval]))",
            ..OF_CADVISOR
        },
    ],
};

gauges! {
    WINDOW = Gauge "longhorn_health_instance_manager_min_probe_window_seconds" ["data_engine"]
        "Shortest time an instance manager's liveness probe may fail, in seconds (period times threshold).",
        absent "there is none",
        example "longhorn_health_instance_manager_min_probe_window_seconds < 30";
    INSTANCES = Gauge "longhorn_health_instance_manager_max_instances" ["data_engine"]
        "Running or starting engines and replicas in a data engine's busiest instance manager.",
        absent "there is none",
        example "longhorn_health_instance_manager_max_instances > 100";
    MISMATCHES = Gauge "longhorn_health_instance_manager_priority_class_mismatches" []
        "Instance manager pods whose PriorityClass differs from the setting priority-class.",
        absent "never",
        example "longhorn_health_instance_manager_priority_class_mismatches > 0";
}

static BUSIEST: Record = Record {
    name: "data_engine:longhorn_health_instance_manager_max_instances:max",
    expr: "max without ($without) (longhorn_health_instance_manager_max_instances{$job})",
    labels: &["data_engine"],
    help: "Instances in a data engine's busiest instance manager.",
};

static SHORTEST_WINDOW: Record = Record {
    name: "data_engine:longhorn_health_instance_manager_min_probe_window_seconds:min",
    expr: "min without ($without) (longhorn_health_instance_manager_min_probe_window_seconds{$job})",
    labels: &["data_engine"],
    help: "Shortest liveness window of a data engine's instance managers, in seconds.",
};

const PRIORITY_CLASS: Alert = alert! { "LonghornPriorityClassMismatch",
    when: When::Found(&[&causes::PRIORITY_CLASS_MISMATCH]),
    without: &["object", "node"],
    for_: "2h",
    summary: "Longhorn keeps replacing idle instance managers: PriorityClass differs from the setting.",
    description: "The instance manager pods' PriorityClass differs from setting priority-class, usually because of a globalDefault class. Longhorn therefore \
                  replaces idle instance managers every hour. Set priority-class to the pods' class in a maintenance window.",
    why: "Longhorn compares the two PriorityClasses every hour. The alert waits 2 h to rule out a change in progress.",
};

const BUSY: Threshold = Threshold {
    name: "instances",
    default: 100.0,
    least: 0.0,
    unit: "instances",
    is_range: false,
    why: "The default of 100 engines and replicas on one node is a first guess. The knowledge base article on restarted instance managers gives no number.",
};

const IMPATIENT: Threshold = Threshold {
    name: "window",
    default: 30.0,
    // below is no window of any release, so that the alert could not fire
    least: 1.0,
    unit: "seconds",
    is_range: false,
    why: "From 1.6.4, 1.7.3 and 1.8.0 on, stock liveness probes tolerate failures for at least 30 seconds.",
};

const UNDER_PRESSURE: Alert = alert! { "LonghornInstanceManagerUnderPressure",
    when: When::Promql {
        expr: "data_engine:longhorn_health_instance_manager_max_instances:max > $instances \
           and data_engine:longhorn_health_instance_manager_min_probe_window_seconds:min < $window",
        cases: include_str!("LonghornInstanceManagerUnderPressure.test.yaml"),
    },
    runbook_only: &[&causes::PROBE_WINDOW_SHORT, &causes::CPU_REQUEST_LOW],
    for_: "1h",
    severity: Severity::Info,
    thresholds: &[BUSY, IMPATIENT],
    summary: "A busy Longhorn instance manager's liveness probe gives up too early.",
    description: "The busiest {{ $labels.data_engine }} instance manager is running {{ $value }} engines and replicas. Under CPU load, the kubelet may kill \
                  them all, because the liveness probe gives up within $window seconds. Upgrade Longhorn, or spread the volumes.",
    why: "The release sets how long the probe may fail, so only an upgrade or fewer processes help. Neither is urgent, so the alert waits 1 h.",
};

/// The first release with the fix bears this long.
const SHORT_WINDOW: i64 = 30;
/// Rounding of allocatable CPU to thousandths, and room for changes of a node.
const FULL_SHARE: f64 = 0.95;

/// Those that share a cause; the first is the one that the finding is about.
type SharedManagers<'a> = Vec<(&'a InstanceManager, String)>;

fn run(cluster: &Cluster, out: &mut Outcome) {
    let fleet = InstanceManagers::of(cluster);
    let mut windows: BTreeMap<&str, i64> = BTreeMap::new();
    let mut busiest: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut short, mut poor, mut mismatched) =
        (SharedManagers::new(), SharedManagers::new(), SharedManagers::new());
    let wanted_class = cluster.setting("priority-class").map(|setting| setting.value.trim());
    let mut stock = 0_usize;
    for im in cluster.objects.instance_managers.iter() {
        let engine = im.spec.data_engine.or_v1().as_str();
        let most = busiest.entry(engine).or_default();
        // a list of them is made only where it may be the longest
        if im.status.all_instances().count() > *most {
            *most = (*most).max(fleet.holders(im).len());
        }
        let Some(pod) = fleet.pod_of(im) else { continue };
        if let Some(window) = window_of(pod) {
            let least = windows.entry(engine).or_insert(window);
            *least = (*least).min(window);
            if window < SHORT_WINDOW && fleet.release.is_some_and(|release| window >= stock_window(release)) {
                stock += 1;
            } else if window < SHORT_WINDOW {
                short.push((im, format!("{} gives up after {window} s", im.metadata.name)));
            }
        }
        poor.extend(
            fleet.release.and_then(|release| cpu_lack(cluster, release, im, pod)).map(|text| (im, text)),
        );
        let class = pod.spec.priority_class_name.as_str();
        // one that goes is about to have the other
        let goes = pod.metadata.is_deleting() || pod.is_over();
        if !goes && wanted_class.is_some_and(|wanted| wanted != class) {
            mismatched.push((im, format!("{} has PriorityClass '{class}'", im.metadata.name)));
        }
    }
    for (engine, window) in windows {
        out.sample(&WINDOW, &[engine], window as f64);
    }
    for (engine, count) in busiest {
        out.sample(&INSTANCES, &[engine], count as f64);
    }
    out.sample(&MISMATCHES, &[], mismatched.len() as f64);
    if stock > 0 {
        state_window(cluster, stock, out);
    }
    let outside = network::outside(cluster, &fleet).into_iter();
    outside.filter_map(|one| about_network(cluster, one)).for_each(|finding| out.report(finding));
    if let Some(finding) = probe_window_short(cluster, &fleet, short) {
        out.report(finding);
    }
    if let Some(finding) = cpu_request_low(cluster, poor) {
        out.report(finding);
    }
    let wanted_class = wanted_class.unwrap_or_default();
    if let Some(finding) = priority_class_mismatch(cluster, &fleet, wanted_class, mismatched) {
        let age = observe(cluster, out, "class_differs", wanted_class, Begun::At(None));
        if age.at_least(NEXT_POD, Unknown::Counts) {
            out.report(finding);
        }
    }
}

/// Seconds that the liveness probe of a stock release bears at least: 3 failures 5 s apart, from 1.6.4, 1.7.3
/// and 1.8.0 on 6 of them (longhorn-manager controller/instance_manager_controller.go at these tags).
fn stock_window(release: Release) -> i64 {
    let fixed = release.has_fix(&[Release::new(1, 6, 4), Release::new(1, 7, 3), Release::new(1, 8, 0)]);
    if fixed { SHORT_WINDOW } else { SHORT_WINDOW / 2 }
}

fn state_window(cluster: &Cluster, number: usize, out: &mut Outcome) {
    out.state(
        "probe_window",
        cluster.object::<DaemonSet>("longhorn-manager"),
        format!(
            "the liveness probe of {} gives up in less than {SHORT_WINDOW} s",
            counted(number, "instance manager")
        ),
        "Under CPU load the kubelet kills an instance manager with all its instances. Upgrade to 1.6.4, 1.7.3 or 1.8.0 (30 s), better to 1.9.2 or \
         1.10 (66 s). Until then, keep CPU free on the nodes and spread the volumes.",
    );
}

fn window_of(pod: &Pod) -> Option<i64> {
    Some(container_of(pod)?.liveness_probe.as_ref()?.tolerance())
}

/// Says so when a pod requests less than the settings ask for.
fn cpu_lack(cluster: &Cluster, release: Release, im: &InstanceManager, pod: &Pod) -> Option<String> {
    let wanted = cpu::wanted(cluster, release, im)?;
    let requested = match container_of(pod)?.resources.requests.get("cpu") {
        Some(quantity) => quantity.value()?,
        None => 0.0,
    };
    let name = &im.metadata.name;
    if wanted == 0.0 && requested == 0.0 {
        return Some(format!("{name} requests no CPU, and the settings specify none"));
    }
    (requested < wanted * FULL_SHARE)
        .then(|| format!("{name} requests {requested:.3} cores, but the settings specify {wanted:.3}"))
}

fn about(
    cluster: &Cluster,
    cause: &'static Cause,
    shared: &SharedManagers,
    message: String,
) -> Option<Finding> {
    let (im, _) = shared.first()?;
    let object = cluster.object::<InstanceManager>(&im.metadata.name);
    let facts: Vec<&str> = shared.iter().map(|(_, fact)| fact.as_str()).collect();
    Some(Finding::about(cause, object, message).node(&im.spec.node_id).fact(format!(
        "{}: {}",
        counted(facts.len(), "instance manager"),
        listed(&facts)
    )))
}

fn about_network(cluster: &Cluster, outside: (&InstanceManager, String)) -> Option<Finding> {
    let node = outside.0.spec.node_id.clone();
    let message = format!("the instance manager on {node} has no storage network address");
    let finding = about(cluster, &causes::STORAGE_NETWORK_MISSING, &vec![outside], message)?;
    let waits = |volume: &&Volume| {
        let mut here = cluster.replicas_of(&volume.metadata.name).filter(|one| one.spec.node_id == node);
        volume.status.robustness == VolumeRobustness::Degraded && here.any(|one| !volumes::is_healthy(one))
    };
    let degraded = cluster.objects.volumes.iter().filter(waits);
    let degraded: Vec<_> = degraded.map(|volume| cluster.volume_ref(&volume.metadata.name)).collect();
    Some(match degraded.is_empty() {
        true => {
            finding.impact("the instance manager's engines and replicas use the pod network: other nodes may fail to reach them")
        }
        false => finding
            .severity(Severity::Warning)
            .impact(format!(
                "{} probably cannot recover: other nodes may fail to reach {node}'s replicas",
                text::claims_of(&degraded)
            ))
            .volumes(degraded),
    })
}

fn have(number: usize, what: &str) -> String {
    format!("{} {}", counted(number, what), if number == 1 { "has" } else { "have" })
}

fn probe_window_short(
    cluster: &Cluster,
    fleet: &InstanceManagers,
    mut short: SharedManagers,
) -> Option<Finding> {
    short.sort_by_key(|(im, _)| std::cmp::Reverse(fleet.holders(im).len()));
    let busy = short.first().map(|(im, _)| fleet.holders(im).len())?;
    let message = format!(
        "the liveness probe of {} gives up in less than 30 s",
        counted(short.len(), "instance manager")
    );
    let finding = about(cluster, &causes::PROBE_WINDOW_SHORT, &short, message)?;
    Some(finding.impact(format!(
        "under CPU load, the kubelet may kill an instance manager with up to {busy} instances"
    )))
}

fn cpu_request_low(cluster: &Cluster, poor: SharedManagers) -> Option<Finding> {
    let message =
        format!("{} request less CPU than Longhorn recommends", counted(poor.len(), "instance manager"));
    let finding = about(cluster, &causes::CPU_REQUEST_LOW, &poor, message)?;
    Some(
        finding
            .impact("on a busy node, an instance manager gets too little CPU and fails its liveness probe"),
    )
}

/// A mismatch that Longhorn can never fix: the setting is empty and the API server fills in the
/// globalDefault class, or the setting counts as applied and the pod still differs. A change that
/// waits for volumes to detach is danger_zone_pending's business. Up to 1.6 no field says that it waits;
/// there it does as long as the instance manager is in use.
fn priority_class_mismatch(
    cluster: &Cluster,
    fleet: &InstanceManagers,
    wanted: &str,
    mut mismatched: SharedManagers,
) -> Option<Finding> {
    let setting = cluster.setting("priority-class")?;
    let global = cluster.objects.priority_classes.iter().find(|class| class.global_default);
    let forever = wanted.is_empty() && global.is_some();
    if !forever && setting.status.applied == Some(false) {
        return None;
    }
    if !forever && setting.status.applied.is_none() {
        mismatched.retain(|(im, _)| fleet.holders(im).is_empty());
    }
    let number = counted(mismatched.len(), "instance manager");
    let message = match global {
        Some(class) if forever => {
            format!("setting priority-class is empty, but the cluster's default is {}", class.metadata.name)
        }
        _ if wanted.is_empty() => {
            format!(
                "{} a PriorityClass, although setting priority-class is empty",
                have(mismatched.len(), "instance manager")
            )
        }
        _ => format!("{number} without PriorityClass {wanted} of setting priority-class"),
    };
    let mut finding = about(cluster, &causes::PRIORITY_CLASS_MISMATCH, &mismatched, message)?;
    // all of them differ for one reason, which is the setting
    finding.object = cluster.object::<Setting>("priority-class");
    finding.node = None;
    let mut finding = finding
        .impact("Longhorn replaces idle instance managers every hour (before 1.6, also those in use)")
        .with(Name::Value, global.filter(|_| forever).map_or("", |class| class.metadata.name.as_str()));
    if !cluster.can_read(Resource::PriorityClasses) {
        finding = finding.fact("PriorityClasses cannot be read, but probably one is globalDefault");
    }
    Some(finding)
}
