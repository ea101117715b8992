//! What an evaluation allocates. Unlike times and instructions this repeats to the last allocation, so
//! that a change which makes a healthy object cost something is seen on any machine.

#[path = "../../benches/sync/evaluate.rs"]
mod evaluate;
#[path = "../../benches/sync/objects/mod.rs"]
mod objects;

use evaluate::Evaluations;
use objects::Shape;

/// Allocations from a change to the page in gzip, once everything has been seen.
fn allocations(shape: Shape) -> u64 {
    let evaluations = Evaluations::new(shape);
    let count = |_| {
        evaluations.change();
        allocation_counter::measure(|| {
            evaluations.page();
        })
    };
    (0..3).map(count).last().map_or(0, |measured| measured.count_total)
}

/// Of a cluster of 1,000 volumes, each with three replicas and an engine, and 100 nodes.
const HEALTHY: u64 = 4_100;
/// With a twentieth of the nodes down.
const IN_TROUBLE: u64 = 11_500;

#[test]
fn an_evaluation_of_a_thousand_volumes_allocates_no_more_than_it_did() {
    for (down, expected) in [(0, HEALTHY), (5, IN_TROUBLE)] {
        let shape = Shape { backups: 1, ..Shape::new(1000, down) };
        let allocated = allocations(shape);
        println!("{down} nodes down: {allocated} allocations");
        // both ways: where it allocates less by a fifth, the figure above is to be made smaller
        let (least, most) = (expected * 4 / 5, expected * 6 / 5);
        assert!((least..=most).contains(&allocated), "{down} nodes down: {allocated}, not {expected} ± 20 %");
    }
}

#[test]
fn a_healthy_volume_costs_no_allocation() {
    let of = |volumes| allocations(Shape { backups: 1, ..Shape::new(volumes, 0) });
    let (small, large) = (of(500), of(1000));
    // 500 volumes with their 6,800 other objects and 50 nodes: what a node costs is more than it should be, its counter of
    // restarts among it
    assert!(large < small + 1_450, "{small} with 500 volumes, {large} with 1,000");
}

/// What else `serve` shows of itself: its process, its evaluations, its calls of the API.
const OF_ITSELF: usize = 30;

#[test]
fn a_healthy_cluster_is_few_series_however_large() {
    for volumes in [100, 1000] {
        let evaluations = Evaluations::new(Shape { backups: 1, ..Shape::new(volumes, 0) });
        (0..6).for_each(|_| evaluations.change());
        let series = evaluations.series();
        println!("{volumes} volumes: {series} series");
        // one counter for each manager, and a tenth as many nodes as volumes
        assert!(series + OF_ITSELF <= 120 + volumes / 10, "{volumes} volumes: {series} series");
    }
}

#[test]
fn the_same_trouble_on_hundreds_of_objects_is_a_small_page() {
    // 720 volumes are degraded, their 72 nodes are down, and 428 managers lack one label
    let shape = Shape { backups: 0, unlabelled: true, ..Shape::new(5000, 72) };
    let evaluations = Evaluations::new(shape);
    for _ in 0..6 {
        evaluations.change();
        evaluations.page();
    }
    let (size, zipped) = evaluations.page();
    println!("{size} bytes, {zipped} with gzip");
    assert!((300_000..=700_000).contains(&size), "{size} bytes");
}

/// Bytes for which a finding is counted and its age kept; a finding itself takes some thousands.
const COUNTED: u64 = 700;

#[test]
fn findings_that_are_not_listed_take_no_memory() {
    // three findings a volume; a minute passes with each change, and they are told after five
    let peak = |volumes| {
        let evaluations = Evaluations::new(Shape { backups: 0, evicting: true, ..Shape::new(volumes, 0) });
        let memory = |_| {
            evaluations.change();
            allocation_counter::measure(|| {
                evaluations.page();
            })
        };
        (0..8).map(memory).last().map_or(0, |measured| measured.bytes_max)
    };
    let (small, large) = (peak(800), peak(1600));
    println!("{small} bytes with 2,400 findings, {large} with 4,800");
    assert!(large < small + 2400 * COUNTED, "{small} bytes with 2,400 findings, {large} with 4,800");
}
