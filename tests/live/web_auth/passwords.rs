//! Users and their passwords, and the rate limit.

use std::io::{Read, Write};

use super::support::*;

fn users(files: &Files, users: &[(&str, &str)]) -> std::path::PathBuf {
    let lines: String =
        users.iter().map(|(name, word)| format!("  {name}: {}\n", bcrypt::hash(word, 5).unwrap())).collect();
    files.write("web.yml", &format!("basic_auth_users:\n{lines}"))
}

#[test]
fn only_users_with_their_passwords_pass_and_health_is_open() {
    let files = Files::new();
    let serve = Serve::start(Some(&users(&files, &[("alice", "wonder:land"), ("bob", "b")])));
    for path in ["/metrics", "/", "/api/v1/report"] {
        for (user, status) in [
            ("alice:wonder:land", 200),
            ("bob:b", 200),
            ("alice:wrong", 401),
            ("bob:wonder:land", 401),
            ("carol:b", 401),
            (":", 401),
        ] {
            assert_eq!(serve.curl(path, &["--user", user]).status, status, "{path} {user}");
        }
        let answer = serve.curl(path, &[]);
        assert_eq!(answer.status, 401, "{path}");
        assert!(answer.text.contains("\r\nwww-authenticate: Basic realm="), "{}", answer.text);
        assert_eq!(answer.body(), "a user name and a password are needed\n");
    }
    for path in ["/livez", "/readyz", "/healthz", "/-/healthy", "/-/ready"] {
        assert_eq!(serve.curl(path, &[]).body(), "ok\n", "{path}");
    }
    let log = serve.log();
    assert!(log.contains("status=401") && !log.contains("wonder"), "{log}");
}

#[test]
fn changed_users_count_at_once_and_a_broken_file_changes_nothing() {
    let files = Files::new();
    let serve = Serve::start(Some(&users(&files, &[("alice", "old")])));
    let status = |user| serve.curl("/metrics", &["--user", user]).status;
    assert_eq!((status("alice:old"), status("alice:new"), status("bob:b")), (200, 401, 401));
    users(&files, &[("alice", "new"), ("bob", "b")]);
    assert_eq!((status("alice:old"), status("alice:new"), status("bob:b")), (401, 200, 200));
    files.write("web.yml", "basic_auth_users:\n  alice: plain\n");
    assert_eq!((status("alice:plain"), status("alice:new"), status("bob:b")), (401, 200, 200));
    serve.wait_for_log("is not a bcrypt hash");
    users(&files, &[("bob", "b")]);
    assert_eq!((status("alice:new"), status("bob:b")), (401, 200));
}

#[test]
fn too_many_requests_are_refused_and_health_is_not() {
    let files = Files::new();
    let serve = Serve::start(Some(&files.write("web.yml", "rate_limit: {interval: 1h, burst: 2}\n")));
    let statuses: Vec<_> = (0..4).map(|_| serve.curl("/metrics", &[]).status).collect();
    assert_eq!(statuses, [200, 200, 429, 429]);
    assert_eq!(serve.curl("/livez", &[]).status, 200);
    files.write("web.yml", "rate_limit: {interval: 0s}\n");
    assert_eq!(serve.curl("/metrics", &[]).status, 200);
}

/// Clients without credentials take nothing from a scraper whose password is remembered, and what they left
/// behind is dropped when they hang up.
#[test]
fn guesses_do_not_keep_scrapes_out() {
    const HOSTILE: usize = 60;
    let files = Files::new();
    let hash = bcrypt::hash("right", 10).unwrap();
    let web = files.write("web.yml", &format!("basic_auth_users: {{prometheus: '{hash}'}}\n"));
    let serve = Serve::start(Some(&web));
    let scrape = || serve.curl("/metrics", &["--user", "prometheus:right"]).status;
    assert_eq!(scrape(), 200);
    let address = serve.address;
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for number in 0..HOSTILE {
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let mut stream = std::net::TcpStream::connect(address).unwrap();
                    let head = "GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Basic YTpi\r\n\r\n";
                    let _ = stream.write_all(head.as_bytes());
                    if number % 2 == 0 {
                        let _ = stream.read(&mut [0; 512]);
                    }
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
            });
        }
        let answers: Vec<u16> = (0..20).map(|_| scrape()).collect();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(answers, [200; 20]);
    });
}
