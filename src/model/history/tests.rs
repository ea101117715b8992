use super::logs::MAX_LOGS;
use super::*;

fn key(object: &str) -> Observation {
    Observation { check: "c", fact: "idle", object: object.into() }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[test]
fn a_fact_ages_until_it_ends_and_a_gap_starts_it_anew() {
    let none = BTreeSet::new();
    let mut history = History::starting(at(0));
    history.keep_observed(vec![key("a")], &none, at(1));
    history.keep_observed(vec![key("a"), key("b")], &none, at(2));
    assert_eq!(history.first_seen(&key("a")), Some(at(1)));
    assert_eq!(history.first_seen(&key("b")), Some(at(2)));
    history.keep_observed(vec![], &none, at(3));
    history.keep_observed(vec![key("a")], &none, at(4));
    assert_eq!(history.first_seen(&key("a")), Some(at(4)));
}

#[test]
fn what_moves_or_goes_is_forgotten_and_there_is_room_for_so_many() {
    let none = BTreeSet::new();
    let mut history = History::starting(at(0));
    // the mark of work is part of its name, so that each percent is an observation of its own
    for percent in 0..100 {
        history.keep_observed(vec![key(&format!("volume in_progress {percent}"))], &none, at(percent));
        assert_eq!(history.observed.len(), 1);
    }
    assert_eq!(history.begun.len(), 1);
    history.keep_observed(vec![], &none, at(100));
    assert_eq!(history.observed.len(), 0, "the volume is gone");
    for round in 0..2 {
        let many = (0..MAX_OBSERVED + 50).map(|number| key(&format!("{round} {number}"))).collect();
        history.keep_observed(many, &none, at(101));
        assert_eq!(history.observed.len(), MAX_OBSERVED);
    }
}

#[test]
fn facts_that_began_are_counted_once_and_for_good() {
    let none = BTreeSet::new();
    let mut history = History::starting(at(0));
    for (second, facts) in
        [vec![key("a"), key("b"), key("a")], vec![key("a")], vec![], vec![key("c")]].into_iter().enumerate()
    {
        history.keep_observed(facts, &none, at(second as i64));
    }
    assert_eq!(history.begun("c", "idle"), 3);
    assert_eq!(history.begun("c", "other"), 0);
}

#[test]
fn a_blind_check_forgets_nothing() {
    let mut history = History::starting(at(0));
    history.keep_observed(vec![key("a")], &BTreeSet::new(), at(1));
    history.keep_observed(vec![], &BTreeSet::from(["c"]), at(2));
    assert_eq!(history.first_seen(&key("a")), Some(at(1)));
}

#[test]
fn gone_pods_are_bounded_and_told_apart_by_uid() {
    let mut history = History::starting(at(0));
    for number in 0..2 * MAX_GONE_PODS {
        let mut pod = Pod::default();
        pod.metadata.name = "p".into();
        pod.metadata.uid = number.to_string().into();
        history.pod_gone(Arc::new(pod.clone()), "", at(1));
        history.pod_gone(Arc::new(pod), "", at(1));
    }
    assert_eq!(history.gone_pods().count(), MAX_GONE_PODS);
    history.pod_came("p", "new");
    let replaced: Vec<_> = history.gone_pods().filter(|pod| pod.replaced_by == "new").collect();
    assert_eq!(replaced.len(), 1);
}

#[test]
fn a_full_memory_of_crash_logs_takes_the_newest_whatever_its_name() {
    let mut history = History::starting(at(0));
    let log = |pod: String| CrashLog {
        exit_code: None,
        pod,
        container: "c".into(),
        pod_uid: String::new(),
        text: String::new(),
    };
    (0..MAX_LOGS).for_each(|number| history.add_crash_log(log(format!("pod-{number}"))));
    history.add_crash_log(log("a".into()));
    assert!(history.crash_log("a", "c").is_some());
    assert_eq!(history.crash_logs.len(), MAX_LOGS);
    (0..=MAX_LOGS).for_each(|number| {
        history.crash_log_unread(&format!("pod-{number}"), "u", "forbidden");
    });
    assert!(history.crash_log_unread("a", "u", "forbidden"));
    assert!(!history.crash_log_unread("a", "u", "forbidden"), "told once");
}

#[test]
fn current_logs_belong_to_one_run_of_one_pod() {
    let mut history = History::starting(at(0));
    let log = |text: &str| CrashLog {
        exit_code: None,
        pod: "p".into(),
        container: "c".into(),
        pod_uid: "u".into(),
        text: text.into(),
    };
    history.add_current_log(log("first"));
    history.add_current_log(log("second"));
    let pod = |uid: &str| {
        let mut pod = Pod::default();
        (pod.metadata.name, pod.metadata.uid) = ("p".into(), uid.into());
        pod
    };
    assert_eq!(history.current_log(&pod("u"), "c").map(|log| log.text.as_str()), Some("second"));
    assert_eq!(history.current_log(&pod("another"), "c"), None);
    assert_eq!(history.crash_log("p", "c"), None, "nothing has crashed");
    assert!(!history.keep_current_logs_of(|pod, uid, container| (pod, uid, container) == ("p", "u", "c")));
    assert!(history.keep_current_logs_of(|_, _, _| false));
    assert_eq!(history.current_log(&pod("u"), "c"), None);
}

#[test]
fn a_pod_that_is_back_was_never_gone() {
    let mut history = History::starting(at(0));
    let mut pod = Pod::default();
    (pod.metadata.name, pod.metadata.uid) = ("p".into(), "u".into());
    history.pod_gone(Arc::new(pod), "", at(1));
    history.pod_came("p", "u");
    assert_eq!(history.gone_pods().count(), 0);
}
