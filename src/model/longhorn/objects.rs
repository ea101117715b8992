//! Every kind that is read, and one store for each.

use std::collections::BTreeMap;

use serde::de::{Deserialize, DeserializeOwned, Deserializer};

use super::*;

/// A kind that can be stored.
pub trait Kind:
    DeserializeOwned + Compact + Look + Clone + PartialEq + std::fmt::Debug + Send + Sync + 'static
{
    /// Which kind it is.
    const RESOURCE: Resource;
    fn meta(&self) -> &Meta;
    /// Its metadata, to prune labels that nothing reads.
    fn meta_mut(&mut self) -> &mut Meta;
    /// Its store among the others.
    fn store(objects: &Objects) -> &Store<Self>;
    /// Its store among the others, to change it.
    fn store_mut(objects: &mut Objects) -> &mut Store<Self>;
    /// False for objects that no check reads; they are not stored.
    fn is_kept(&self) -> bool {
        true
    }
    /// The name of what it belongs to; empty without any.
    fn owner(&self, _: Owner) -> &str {
        ""
    }
    /// True where what is written at once after its creation is missing from its status: nothing is known of how it is.
    fn is_unwritten(&self) -> bool {
        false
    }
    /// Names of fields that hold a value which no known release writes.
    fn unrecognized(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// Something to do for every kind, with its type.
pub trait KindVisitor {
    /// Called once a kind.
    fn visit<T: Kind>(&mut self);
}

/// Declares [`Objects`] and what each kind needs to live in it.
macro_rules! objects {
    ($(
        $field:ident: $type:ident = $resource:ident
        $(, unrecognized($object:ident) $fields:block)?
        $(, written($fresh:ident) $written:block)?
        $(, kept($candidate:ident) $keep:block)?
        $(, of($owned:ident) { $( $owner:ident: $owners_name:expr ),* })?;
    )*) => {
        /// Everything that was read, one store a kind.
        #[derive(Debug, Clone, Default)]
        pub struct Objects {
            $( #[doc = concat!("`", stringify!($resource), "`")] pub $field: Store<$type>, )*
        }

        $( impl Kind for $type {
            const RESOURCE: Resource = Resource::$resource;
            fn meta(&self) -> &Meta { &self.metadata }
            fn meta_mut(&mut self) -> &mut Meta { &mut self.metadata }
            fn store(objects: &Objects) -> &Store<Self> { &objects.$field }
            fn store_mut(objects: &mut Objects) -> &mut Store<Self> { &mut objects.$field }
            $( fn unrecognized(&self) -> Vec<&'static str> { let $object = self; $fields } )?
            $( fn is_unwritten(&self) -> bool { let $fresh = self; !$written } )?
            $( fn is_kept(&self) -> bool { let $candidate = self; $keep } )?
            $( fn owner(&self, owner: Owner) -> &str {
                let $owned = self;
                match owner {
                    $( Owner::$owner => $owners_name, )*
                    _ => "",
                }
            } )?
        } )*

        /// Calls the visitor with every kind, in the order of [`Objects`].
        pub fn visit_kinds(visitor: &mut impl KindVisitor) {
            $( visitor.visit::<$type>(); )*
        }

        impl Objects {
            /// How many objects of this kind there are.
            pub fn count(&self, resource: Resource) -> usize {
                match resource {
                    $( Resource::$resource => self.$field.len(), )*
                }
            }

            /// The objects of this kind of which nothing is known but that they are there.
            pub fn unwritten(&self, resource: Resource) -> Vec<&Meta> {
                match resource {
                    $( Resource::$resource => self.$field.unwritten().collect(), )*
                }
            }

            /// Decodes one object and adds it; the error names what does not fit.
            pub fn insert<'de, D: Deserializer<'de>>(&mut self, resource: Resource, object: D) -> Result<(), D::Error> {
                match resource {
                    $( Resource::$resource => {
                        let mut object = <$type>::deserialize(object)?;
                        object.tidy();
                        self.$field.insert(object);
                    } )*
                }
                Ok(())
            }

            /// Counts, per kind and field, the objects with a value which no known release writes.
            pub fn unrecognized(&self) -> BTreeMap<(Resource, &'static str), usize> {
                let mut counts = BTreeMap::new();
                $( counts.extend(self.$field.unrecognized().map(|(field, count)| ((Resource::$resource, field), count))); )*
                counts
            }
        }
    };
}

/// Names the fields whose value is not recognised.
macro_rules! strange {
    ($( $field:literal: $value:expr, $type:ident; )*) => {{
        let mut fields = Vec::new();
        $( if $value == $type::Unrecognized { fields.push($field); } )*
        fields
    }};
}

objects! {
    longhorn_nodes: LonghornNode = LonghornNodes, written(node) { !node.status.conditions.is_empty() };
    instance_managers: InstanceManager = InstanceManagers, unrecognized(im) {
        let mut fields = strange! {
            "spec.type": im.spec.kind, InstanceManagerType;
            "spec.dataEngine": im.spec.data_engine, DataEngine;
            "status.currentState": im.status.current_state, InstanceManagerState;
        };
        if im.status.all_instances().any(|(_, instance)| instance.status.state == InstanceState::Unrecognized) {
            fields.push("status.instances.state");
        }
        fields
    }, written(im) { im.status.current_state != InstanceManagerState::Unset }, of(im) { Node: &im.spec.node_id };
    engines: Engine = Engines, unrecognized(engine) {
        strange! {
            "spec.desireState": engine.spec.desire_state, InstanceState;
            "spec.dataEngine": engine.spec.data_engine, DataEngine;
            "status.currentState": engine.status.current_state, InstanceState;
        }
    }, written(engine) { engine.status.current_state != InstanceState::Unset }, of(engine) { Volume: &engine.spec.volume_name, InstanceManager: &engine.status.instance_manager_name };
    engine_frontends: EngineFrontend = EngineFrontends, unrecognized(frontend) {
        strange! { "status.currentState": frontend.status.current_state, InstanceState; }
    };
    replicas: Replica = Replicas, unrecognized(replica) {
        strange! {
            "spec.desireState": replica.spec.desire_state, InstanceState;
            "spec.dataEngine": replica.spec.data_engine, DataEngine;
            "status.currentState": replica.status.current_state, InstanceState;
        }
    }, written(replica) { replica.status.current_state != InstanceState::Unset }, of(replica) {
        Volume: &replica.spec.volume_name, Disk: &replica.spec.disk_id, Node: &replica.spec.node_id,
        InstanceManager: &replica.status.instance_manager_name
    };
    volumes: Volume = Volumes, unrecognized(volume) {
        strange! {
            "spec.dataEngine": volume.spec.data_engine, DataEngine;
            "status.state": volume.status.state, VolumeState;
            "status.robustness": volume.status.robustness, VolumeRobustness;
        }
    }, written(volume) {
        volume.status.state != VolumeState::Unset && volume.status.robustness != VolumeRobustness::Unset
    }, of(volume) { Node: &volume.status.owner_id, PersistentVolume: &volume.status.kubernetes_status.pv_name };
    volume_attachments: VolumeAttachment = VolumeAttachments;
    backing_images: BackingImage = BackingImages, unrecognized(image) {
        let mut copies = image.status.disk_file_status_map.values();
        if copies.any(|copy| copy.state == CopyState::Unrecognized) {
            vec!["status.diskFileStatusMap.state"]
        } else {
            Vec::new()
        }
    }, written(image) {
        let status = &image.status;
        !(status.owner_id.is_empty() && status.uuid.is_empty() && status.disk_file_status_map.is_empty())
    };
    backing_image_managers: BackingImageManager = BackingImageManagers, unrecognized(manager) {
        strange! { "status.currentState": manager.status.current_state, BackingImageManagerState; }
    }, written(manager) { manager.status.current_state != BackingImageManagerState::Unset };
    backing_image_data_sources: BackingImageDataSource = BackingImageDataSources, unrecognized(source) {
        strange! { "status.currentState": source.status.current_state, CopyState; }
    };
    engine_images: EngineImage = EngineImages, unrecognized(image) {
        strange! { "status.state": image.status.state, EngineImageState; }
    }, written(image) { image.status.state != EngineImageState::Unset };
    orphans: Orphan = Orphans, unrecognized(orphan) {
        strange! { "spec.orphanType": orphan.spec.orphan_type, OrphanType; }
    };
    settings: Setting = Settings;
    share_managers: ShareManager = ShareManagers, unrecognized(share) {
        strange! { "status.state": share.status.state, ShareManagerState; }
    }, written(share) { share.status.state != ShareManagerState::Unset };
    backup_targets: BackupTarget = BackupTargets, written(target) {
        target.spec.backup_target_url.is_empty() || target.status.available.is_some()
            || !target.status.conditions.is_empty() || target.status.last_synced_at.is_set()
    };
    backups: Backup = Backups, unrecognized(backup) {
        strange! { "status.state": backup.status.state, BackupState; }
    }, kept(backup) { backup.is_under_way_or_failed() || backup.metadata.is_deleting() };
    system_backups: SystemBackup = SystemBackups, unrecognized(backup) {
        strange! { "status.state": backup.status.state, SystemBackupState; }
    };
    system_restores: SystemRestore = SystemRestores, unrecognized(restore) {
        strange! { "status.state": restore.status.state, SystemRestoreState; }
    };
    backup_backing_images: BackupBackingImage = BackupBackingImages, unrecognized(backup) {
        strange! { "status.state": backup.status.state, BackupState; }
    }, kept(backup) { backup.spec.user_created != Some(false) && backup.status.state != BackupState::Completed };
    recurring_jobs: RecurringJob = RecurringJobs;
    pods: Pod = Pods, unrecognized(pod) {
        strange! { "status.phase": pod.status.phase, PodPhase; }
    }, written(pod) {
        pod.status.phase != PodPhase::Unset || !pod.status.conditions.is_empty()
    }, of(pod) { App: pod.metadata.label("app").unwrap_or_default() };
    events: Event = Events, of(event) { Object: &event.involved_object.name };
    node_events: NodeEvent = NodeEvents, kept(event) {
        event.trouble().is_some() || event.is_reboot() || event.is_lost() || event.is_oom_of_instance_manager() || event.cordons().is_some() || event.is_disk_error() || event.is_kubelet_start()
    }, of(event) { Object: &event.involved_object.name };
    services: Service = Services;
    endpoint_slices: EndpointSlice = EndpointSlices;
    daemon_sets: DaemonSet = DaemonSets;
    deployments: Deployment = Deployments;
    pod_disruption_budgets: PodDisruptionBudget = PodDisruptionBudgets;
    leases: Lease = Leases;
    cron_jobs: CronJob = CronJobs;
    csi_nodes: CsiNode = CsiNodes;
    kube_nodes: KubeNode = KubeNodes, written(node) { !node.status.conditions.is_empty() };
    priority_classes: PriorityClass = PriorityClasses;
    csi_attachments: CsiAttachment = CsiAttachments, kept(attachment) { attachment.spec.attacher == CSI_DRIVER },
        of(attachment) { PersistentVolume: &attachment.spec.source.persistent_volume_name };
    validating_webhooks: ValidatingWebhookConfiguration = ValidatingWebhookConfigurations;
    mutating_webhooks: MutatingWebhookConfiguration = MutatingWebhookConfigurations;
    custom_resource_definitions: CustomResourceDefinition = CustomResourceDefinitions, kept(crd) { crd.is_longhorn() };
    storage_classes: StorageClass = StorageClasses, kept(class) { class.provisioner == CSI_DRIVER || class.is_default() };
    network_policies: NetworkPolicy = NetworkPolicies;
    helm_charts: HelmChart = HelmCharts, kept(chart) { chart.is_longhorn() };
    helm_releases: HelmRelease = HelmReleases, kept(release) { release.is_longhorn() };
    applications: Application = Applications, kept(application) { application.is_longhorn() };
}
