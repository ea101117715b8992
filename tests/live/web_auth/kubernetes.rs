//! Tokens and rights, asked of a fake API server.

use std::time::{Duration, Instant};

use fake_apiserver::{FakeApiServer, Fault, UserInfo, Verb};

use super::support::*;

const TOKENS: &str = "tokenreviews.authentication.k8s.io";
const ACCESS: &str = "subjectaccessreviews.authorization.k8s.io";

/// The exporter in front of an API server that knows two users, of whom one may scrape.
struct Bench {
    server: FakeApiServer,
    files: Files,
    serve: Serve,
    _runtime: tokio::runtime::Runtime,
}

impl Bench {
    fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let server = runtime.block_on(FakeApiServer::start());
        server.on_token_review(|token| {
            let token = match token.strip_prefix("slow-") {
                Some(token) => {
                    std::thread::sleep(Duration::from_secs(1)); // others come meanwhile
                    token
                }
                None => token,
            };
            let name = token.strip_prefix("token-of-")?;
            let groups = vec!["system:authenticated".to_owned()];
            Some(UserInfo { username: format!("system:serviceaccount:monitoring:{name}"), groups })
        });
        server.on_access_review(|spec| {
            spec["user"] == "system:serviceaccount:monitoring:prometheus"
                && spec["groups"] == serde_json::json!(["system:authenticated"])
                && spec["nonResourceAttributes"] == serde_json::json!({"path": "/metrics", "verb": "get"})
        });
        let files = Files::new();
        let kubeconfig = files.write("kubeconfig", &server.kubeconfig_yaml());
        let mut command = exporter(Some(&files.web("")), &["--web.auth=kubernetes"]);
        command.env("KUBECONFIG", kubeconfig);
        Bench { server, serve: Serve::spawn(command), files, _runtime: runtime }
    }

    fn get(&self, path: &str, token: &str, more: &[&str]) -> Answer {
        let (ca, header) = (self.files.path("ca.crt"), format!("Authorization: Bearer {token}"));
        let ca = ca.display().to_string();
        let mut arguments = vec!["--cacert", &ca, "--header", &header];
        arguments.extend(more);
        self.serve.curl(path, &arguments)
    }

    fn asked(&self) -> (u64, u64) {
        (self.server.requests(TOKENS, Verb::Create), self.server.requests(ACCESS, Verb::Create))
    }
}

#[test]
fn who_is_known_and_allowed_passes_and_answers_are_remembered() {
    let bench = Bench::start();
    for _ in 0..3 {
        assert_eq!(bench.get("/metrics", "token-of-prometheus", &[]).status, 200);
    }
    assert_eq!(bench.asked(), (1, 1));
    for path in ["/", "/api/v1/report"] {
        for _ in 0..2 {
            let answer = bench.get(path, "token-of-prometheus", &[]);
            assert_eq!(answer.status, 403, "a right for another path");
            // every account may get paths below /api, so the report asks for the right of the page
            assert_eq!(
                answer.body(),
                "system:serviceaccount:monitoring:prometheus may not get /\n",
                "{path}"
            );
        }
    }
    assert_eq!(bench.asked(), (1, 2));
    for _ in 0..2 {
        assert_eq!(bench.get("/metrics", "token-of-stranger", &[]).status, 403);
    }
    assert_eq!(bench.asked(), (2, 3));
    for _ in 0..3 {
        let answer = bench.get("/metrics", "garbage", &[]);
        assert_eq!(answer.status, 401);
        assert!(answer.text.contains("\r\nwww-authenticate: Bearer\r\n"), "{}", answer.text);
        assert_eq!(answer.body(), "the Kubernetes API does not accept this token\n");
    }
    assert_eq!(bench.asked(), (3, 3));
    let log = bench.serve.log();
    assert!(!log.contains("token-of-") && !log.contains("garbage"), "{log}");
}

#[test]
fn without_a_token_nobody_is_asked_and_health_is_open() {
    let bench = Bench::start();
    let ca = bench.files.path("ca.crt").display().to_string();
    for more in [&[][..], &["--user", "a:b"], &["--header", "Authorization: Bearer "]] {
        let arguments = [&["--cacert", &*ca][..], more].concat();
        let answer = bench.serve.curl("/metrics", &arguments);
        assert_eq!(answer.status, 401, "{answer:?}");
        assert_eq!(answer.body(), "a bearer token is required\n");
    }
    for path in ["/livez", "/readyz", "/-/healthy", "/-/ready"] {
        assert_eq!(bench.serve.curl(path, &["--cacert", &ca]).body(), "ok\n");
    }
    assert_eq!(bench.asked(), (0, 0));
}

#[test]
fn a_review_that_fails_refuses_until_it_works_again() {
    let bench = Bench::start();
    for (resource, fault) in [
        (TOKENS, Fault::Status(500, None)),
        (TOKENS, Fault::Forbid),
        (TOKENS, Fault::Raw(200, "token-of-prometheus is not JSON")),
        (ACCESS, Fault::Raw(200, "{}")),
        (ACCESS, Fault::Forbid),
        (ACCESS, Fault::Status(503, None)),
    ] {
        bench.server.fault(resource, fault.clone());
        let answer = bench.get("/metrics", "token-of-prometheus", &[]);
        assert_eq!(answer.status, 500, "{fault:?}");
        let body = "the Kubernetes API did not review the token; read the exporter's log\n";
        assert_eq!(answer.body(), body);
        bench.server.clear_faults();
    }
    assert_eq!(bench.get("/metrics", "token-of-prometheus", &[]).status, 200);
    // what is remembered outlives the API server
    bench._runtime.block_on(bench.server.stop());
    assert_eq!(bench.get("/metrics", "token-of-prometheus", &[]).status, 200);
    assert_eq!(bench.get("/metrics", "token-of-other", &[]).status, 500);
    bench._runtime.block_on(bench.server.restart());
    assert_eq!(bench.get("/metrics", "token-of-other", &[]).status, 403);
    assert!(!bench.serve.log().contains("token-of-"), "{}", bench.serve.log());
}

#[test]
fn requests_at_once_with_the_same_token_are_reviewed_once() {
    const AT_ONCE: usize = 24;
    let bench = Bench::start();
    let all = |token: &str, more: &[&str]| -> Vec<u16> {
        std::thread::scope(|scope| {
            let get = || bench.get("/metrics", token, more).status;
            let asked: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(get)).collect();
            asked.into_iter().map(|asked| asked.join().unwrap()).collect()
        })
    };
    assert_eq!(all("slow-token-of-prometheus", &[]), [200; AT_ONCE]);
    assert_eq!(bench.asked(), (1, 1));
    assert_eq!(all("slow-token-of-stranger", &[]), [403; AT_ONCE]);
    assert_eq!(bench.asked(), (2, 2));
    assert_eq!(all("slow-garbage", &[]), [401; AT_ONCE]);
    assert_eq!(bench.asked(), (3, 2));

    // Without an answer all are refused in their own time.
    bench.server.fault(TOKENS, Fault::Hang);
    let begun = Instant::now();
    let hurry = ["--header", "X-Prometheus-Scrape-Timeout-Seconds: 8"];
    assert_eq!(all("token-of-other", &hurry), [500; AT_ONCE]);
    assert!(
        begun.elapsed() < Duration::from_secs(4 * AT_ONCE as u64),
        "one after another: {:?}",
        begun.elapsed()
    );
    assert!(bench.asked().0 < 3 + AT_ONCE as u64 / 2, "{:?}", bench.asked());
    bench.server.clear_faults();
    assert_eq!(bench.get("/metrics", "token-of-other", &[]).status, 403);
}

#[test]
fn a_scraper_in_a_hurry_is_answered_in_its_time() {
    let bench = Bench::start();
    bench.server.fault(TOKENS, Fault::Hang);
    let hurry = ["--header", "X-Prometheus-Scrape-Timeout-Seconds: 1"];
    assert_eq!(bench.get("/metrics", "token-of-prometheus", &hurry).status, 500);
    bench.serve.wait_for_log("no answer within 500ms");
    bench.server.clear_faults();
    assert_eq!(bench.get("/metrics", "token-of-prometheus", &[]).status, 200);
}

/// While the API server answers no review, an account that it let pass minutes ago is still served, whatever
/// others send.
#[test]
fn unknown_tokens_do_not_keep_a_known_one_out() {
    let bench = Bench::start();
    assert_eq!(bench.get("/metrics", "token-of-prometheus", &[]).status, 200);
    bench.server.fault(TOKENS, Fault::Hang);
    // long enough for all of them to come while the first wait
    let hurry = ["--header", "X-Prometheus-Scrape-Timeout-Seconds: 16"];
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let hostile: Vec<_> = (0..40)
            .map(|number| {
                let bench = &bench;
                scope.spawn(move || bench.get("/metrics", &format!("garbage-{number}"), &hurry).status)
            })
            .collect();
        let known = [(); 10].map(|()| bench.get("/metrics", "token-of-prometheus", &hurry).status);
        assert_eq!(known, [200; 10]);
        hostile.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(statuses.iter().all(|status| matches!(status, 500 | 503)), "{statuses:?}");
    assert!(statuses.iter().filter(|status| **status == 503).count() >= 20, "few wait: {statuses:?}");
    assert!(bench.asked().0 < 30, "{:?}", bench.asked());
}
