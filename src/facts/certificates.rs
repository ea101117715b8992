//! What a client says of a certificate of the Kubernetes API server that it refuses (Go 1.22 and 1.26 crypto/x509 verify.go, the
//! same words since Go 1.15).

/// Why a line of a manager's log says that the certificate is refused; `None` where it says nothing of one.
pub fn refused(line: &str) -> Option<String> {
    let (_, said) = line.split_once("x509: ")?;
    let said = said.split_once("\" ").map_or(said, |(said, _)| said).trim_end_matches(['"', '\\']);
    let said = said.trim();
    let bound =
        |rest: &str, word| rest.rsplit_once(word).map(|(_, time)| time.trim_matches(['"', '\\']).to_owned());
    if let Some(rest) = said.strip_prefix("certificate has expired") {
        return Some(match (bound(rest, " is after "), bound(rest, " is before ")) {
            (Some(until), _) => format!("the API certificate expired at {until} by the node's clock"),
            (_, Some(from)) => {
                format!("the API certificate is valid only from {from} on by the node's clock")
            }
            _ => "the certificate has expired or is not yet valid".to_owned(),
        });
    }
    Some(match said.starts_with("certificate signed by unknown authority") {
        true => "the certificate is signed by an authority that this cluster's pods do not trust".to_owned(),
        false => said.to_owned(),
    })
}

/// Host and port that the line asked. They are put into a command, so nothing that is not an address is taken from a log.
pub fn asked(line: &str) -> Option<&str> {
    let (_, url) = line.split_once("https://")?;
    let host = url.split(['/', '"', ' ', '?', '\\']).next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    (!host.is_empty() && host.chars().all(plain)).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: &str = r#"level=fatal msg="Error starting manager: Get \"https://10.43.0.1:443/api/v1/nodes/n\": tls: failed to verify certificate: "#;

    #[test]
    fn the_words_of_go_name_what_is_wrong_with_a_certificate() {
        for (said, expected) in [
            (
                "x509: certificate has expired or is not yet valid: current time 2026-03-01T11:59:20Z is after 2026-03-01T02:14:11Z",
                "the API certificate expired at 2026-03-01T02:14:11Z by the node's clock",
            ),
            (
                "x509: certificate has expired or is not yet valid: current time 1970-01-01T00:00:20Z is before 2026-03-01T02:14:11Z",
                "the API certificate is valid only from 2026-03-01T02:14:11Z on by the node's clock",
            ),
            (
                "x509: certificate has expired or is not yet valid",
                "the certificate has expired or is not yet valid",
            ),
            (
                "x509: certificate signed by unknown authority (possibly because of \"crypto/rsa: verification error\")",
                "the certificate is signed by an authority that this cluster's pods do not trust",
            ),
            (
                "x509: certificate is valid for 10.0.0.1, not 10.43.0.1",
                "certificate is valid for 10.0.0.1, not 10.43.0.1",
            ),
        ] {
            let line = format!("{PREFIX}{said}\" func=main.main.DaemonCmd.func3 file=\"daemon.go:92\"");
            assert_eq!(refused(&line).as_deref(), Some(expected), "{line}");
            assert_eq!(asked(&line), Some("10.43.0.1:443"));
            // cut off anywhere, it is read without a panic
            for at in 0..line.len() {
                let cut = line.get(..at).unwrap_or_default();
                let _ = (refused(cut), asked(cut));
            }
        }
    }

    #[test]
    fn other_failures_of_tls_say_nothing_of_a_certificate() {
        for line in
            ["net/http: TLS handshake timeout", "tls: handshake failure", "dial tcp: connection refused", ""]
        {
            assert_eq!(refused(line), None, "{line}");
        }
        assert_eq!(asked("no address"), None);
    }

    #[test]
    fn nothing_that_a_shell_would_run_is_taken_for_an_address() {
        for url in [
            "https://x';reboot;'/api", "https://$(reboot)/api", "https://`reboot`/api", "https://a|b/api",
            "https:///api",
        ] {
            assert_eq!(asked(url), None, "{url}");
        }
        assert_eq!(asked(r#"Get "https://[fd00::1]:443/api/v1""#), Some("[fd00::1]:443"));
    }
}
