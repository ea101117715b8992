//! Judges `cases.yaml` of every check that has one (src/testing/cases.rs says how they are written).

/// A test for each check, whose name begins with its id.
macro_rules! checks {
    ($($check:ident)*) => {
        $(mod $check {
            #[test]
            fn cases() {
                crate::testing::cases::judge(&crate::$check::CHECK);
            }
        })*

        #[test]
        fn every_file_is_judged() {
            let listed = [$(stringify!($check)),*];
            let has = |check: &&str| {
                let path = format!("{}/src/checks/{check}/cases.yaml", crate::testing::ROOT);
                std::path::Path::new(&path).exists()
            };
            let all: Vec<&str> = crate::ALL.iter().map(|check| check.id).filter(has).collect();
            let mut expected = all.clone();
            expected.sort_unstable();
            assert_eq!(listed.as_slice(), expected, "`checks!` lists those that have cases");
        }
    };
}

checks! {
    backing_image_eviction_crash backup_failing csi_plugin_down danger_zone_pending disk_unavailable driver_deployer_blocked
    engine_image_unavailable eviction_inconsistent eviction_stalled instance_manager_down instance_manager_old
    manager_crash_loop manager_half_alive manager_probes manager_start_stuck
    node_unregistered operation_stalled replica_unschedulable share_manager_down volume_attachment_stuck volume_degraded
    volume_faulted webhook_unavailable
}
