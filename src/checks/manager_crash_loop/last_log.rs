//! The cause of a crash by the last log: its fatal line or its panic, and what the rest of the log and the API say about it.

use super::diagnosis::CrashedManager;
use super::signatures::{LastWord, last_word, of_panicking_goroutine, panicking_function};
use super::{causes, facts, host, remedy};
use crate::check::*;
use crate::facts::known_issues;
use crate::facts::looping::{self, Loop};
use crate::facts::text::quoted;
use crate::facts::unreached::webhook_in;
use crate::facts::{certificates, complaints, endpoints, probes, unreached};
use crate::longhorn::BackupState;

impl CrashedManager<'_> {
    /// The cause as the log tells it; otherwise notes why it does not.
    pub(super) fn by_log(&mut self, crash: &Loop<'_>) -> Option<&'static Cause> {
        let Some(log) = self.log(crash) else {
            self.add(EvidenceSource::History, self.why_no_log());
            return None;
        };
        let which = match self.unread() {
            None => "the last run's log",
            Some(why) => {
                let text =
                    format!("the last run's log could not be read ({why}), so an earlier run's log is shown");
                self.add(EvidenceSource::History, text);
                "an earlier run's log"
            }
        };
        match last_word(&log.text) {
            Some(LastWord::Known(found, line)) => {
                self.quote(&format!("{which} ends with"), line);
                Some(self.in_particular(found, line, &log.text))
            }
            Some(LastWord::Panic(line, stack)) => {
                let place = panicking_function(stack).unwrap_or("an unnamed function");
                let panic =
                    EvidenceSource::Log.says(format!("the manager panicked in {place}: {}", quoted(line)));
                self.evidence.push(panic.quoting(&format!("{line} in {place}")));
                self.panic_in(line, stack)
            }
            Some(LastWord::Fatal(line)) if self.is_known_issue(line) => {
                self.quote(&format!("{which} ends with"), line);
                Some(&causes::KNOWN_PANIC)
            }
            Some(LastWord::Fatal(line)) => {
                self.quote(&format!("{which} ends with an unknown line"), line);
                self.is_way(&causes::UNKNOWN_ERROR);
                Some(&causes::UNKNOWN)
            }
            None => {
                self.add(EvidenceSource::Log, format!("{which} contains neither a fatal line nor a panic"));
                None
            }
        }
    }

    /// What the rest of the log and the API say about a cause that its last line names.
    fn in_particular(&mut self, found: &'static Cause, line: &str, log: &str) -> &'static Cause {
        match *found {
            // from 1.10 on nothing converts, so a definition that asks for it is one of an earlier release
            causes::WEBHOOK_CALL_FAILED
                if self.is_past_conversion() && line.contains("conversion webhook for") =>
            {
                return &causes::CRD_MISMATCH;
            }
            causes::WEBHOOK_CALL_FAILED => {
                self.is_unreached("admission", unreached::of_call(line));
                let means = self.way.map_or("the log does not show why the call failed", |way| way.means);
                self.add(EvidenceSource::Log, means);
            }
            // what serves the webhook lists every kind first, and a right that lacks only shows as a listener that is late
            causes::WEBHOOK_NOT_READY => {
                if let Some(complaint) = complaints::newest(log) {
                    self.quote("earlier, the log repeats", complaint.line);
                }
            }
            causes::CRD_MISMATCH if line.contains("upgrade resources failed") => {
                self.is_upgraded_by_another()
            }
            causes::WEBHOOK_DENIED => self.is_denied(line),
            causes::CONTAINER_CANNOT_START => self.is_image(),
            causes::API_CERTIFICATE => {
                if let Some(why) = certificates::refused(line) {
                    self.add(EvidenceSource::Log, why);
                }
                let asked =
                    log.lines().rev().find(|line| line.contains("x509: ")).and_then(certificates::asked);
                self.values.extend(asked.map(|address| (Name::Value, address.to_owned())));
            }
            causes::ACCESS_DENIED => {
                let rights = complaints::newest(log).map(|complaint| complaint.about).unwrap_or_default();
                self.values = causes::lacking(self.cluster, self.pod, &rights);
            }
            causes::UPGRADE_PATH => {
                if let Some((headline, fact)) = facts::upgrade_gap(self.cluster, self.pod) {
                    self.headline = Some(headline);
                    self.add(EvidenceSource::Api, fact);
                }
            }
            causes::UPGRADE_OBJECT => self.is_upgrade(line),
            causes::PORT_IN_USE => self.is_port(line),
            causes::WEBHOOK_UNSERVED => return self.unserved(line, log),
            _ => {}
        }
        self.unless_known_issue(found, line)
    }

    fn unless_known_issue(&mut self, found: &'static Cause, line: &str) -> &'static Cause {
        if !self.is_known_issue(line) {
            return found;
        }
        self.way = None;
        &causes::KNOWN_PANIC
    }

    /// A manager writes its release into the setting once it has upgraded every object, and a start that finds it there upgrades none
    /// (longhorn-manager master of 2026, upgrade/upgrade.go upgrade, doResourceUpgrade).
    fn is_upgraded_by_another(&mut self) {
        let installed = self.cluster.installed().filter(|installed| Some(*installed) >= self.release);
        if let (Some(installed), Some(_)) = (installed, self.release) {
            self.is_next("another manager has finished the upgrade");
            let text = format!(
                "setting current-longhorn-version is {installed}, so the upgrade of all objects has ended"
            );
            self.add(EvidenceSource::Api, text);
        }
    }

    /// An image that is damaged on its node, or that another processor is meant for.
    fn is_image(&mut self) {
        match host::damaged(self.cluster, self.pod) {
            Some(image) => {
                self.is_way(&causes::IMAGE_DAMAGED);
                self.is_of(Name::Value, image);
                self.add(EvidenceSource::Api, "nodes of the same architecture run this image");
            }
            None => self.is_way(&causes::OTHER_PROCESSOR),
        }
    }

    fn is_port(&mut self, line: &str) {
        let Some(port) = facts::port_in(line) else { return };
        self.headline = Some(format!("port {port} is already in use"));
        self.is_of(Name::Value, format!("port {port}"));
        self.add(EvidenceSource::Log, format!("another process in the pod uses port {port}"));
        facts::also_on(self.pod, port).for_each(|fact| self.add(EvidenceSource::Api, fact));
    }

    /// Why the manager did not reach the Service of its own webhook.
    fn unserved(&mut self, line: &str, log: &str) -> &'static Cause {
        if let Some(fact) = probes::foreign(self.cluster, self.pod) {
            self.headline = Some(probes::WRONG_PORT.to_owned());
            self.add(EvidenceSource::Api, fact.to_string());
            return &causes::MANIFEST_STALE;
        }
        let webhook = webhook_in(line).unwrap_or("admission");
        self.is_unreached(webhook, unreached::read(log));
        let means = self.way.map_or("the log does not show how the attempts failed", |way| way.means);
        let waited = format!("the manager waited for Service longhorn-{webhook}-webhook");
        self.add(EvidenceSource::Log, waited);
        self.add(EvidenceSource::Log, means);
        if self.way.is_some_and(unreached::is_root) {
            return &causes::WEBHOOK_SERVICE_UNREACHABLE;
        }
        self.unless_known_issue(&causes::WEBHOOK_UNSERVED, line)
    }

    /// The kind that is upgraded, and the backup that is to blame, where one in Error names no volume.
    fn is_upgrade(&mut self, line: &str) {
        let said = line.rsplit("upgrade resources failed: ").next().unwrap_or(line);
        let said = said.split('"').next().unwrap_or(said).trim_end_matches('\\');
        let kind = said.split(": upgrade ").nth(1).and_then(|rest| rest.split(" failed").next());
        self.values.extend(kind.map(|kind| (Name::Value, format!("{}s.longhorn.io", kind.replace(' ', "")))));
        let empty = self.cluster.objects.backups.iter().find(|backup| {
            backup.status.state == BackupState::Error
                && said.contains(&format!("failed to get volume of backup {}: ", backup.metadata.name))
                && said.contains("resource name may not be empty")
        });
        if let Some(backup) = empty {
            self.is_way(&causes::BACKUP_WITHOUT_VOLUME);
            self.is_of(Name::Backup, backup.metadata.name.as_str());
        }
    }

    fn is_past_conversion(&self) -> bool {
        self.release.is_some_and(|release| release.at_least(1, 10, 0))
    }

    fn is_unreached(&mut self, webhook: &str, way: Option<&'static Way>) {
        self.is_of(Name::Service, format!("longhorn-{webhook}-webhook"));
        if let Some(way) = way {
            self.is_way(way);
        }
    }

    /// What the log complains of is over.
    fn is_next(&mut self, why: &str) {
        self.is_way(&causes::NEXT_START);
        self.is_of(Name::Value, why);
    }

    /// Whether others serve the Service that did not answer, and did so before the last run ended.
    pub(super) fn is_served(&mut self) {
        if self.way.is_some_and(|way| way != &causes::REFUSED) {
            return;
        }
        let service = self.values.iter().find(|(name, _)| *name == Name::Service);
        let Some(service) = service.map(|(_, service)| service.clone()) else { return };
        let mut ready = endpoints::each(self.cluster, &service).unwrap_or_default();
        ready.retain(|(pod, ready)| *ready && *pod != self.pod.metadata.name);
        if ready.is_empty() {
            return;
        }
        let count = counted(ready.len(), "ready endpoint");
        self.add(EvidenceSource::Api, format!("Service {service} has {count}"));
        let status = self.pod.container_status(super::CONTAINER);
        let ended = status.and_then(looping::last_end).and_then(|end| end.finished_at.get());
        let since = |pod: &str| self.cluster.objects.pods.get(pod)?.ready_since();
        let only_since = |pod: &str| ended.zip(since(pod)).is_some_and(|(ended, since)| since > ended);
        if ready.iter().all(|(pod, _)| only_since(pod)) {
            return self.is_next("its webhook has become Ready since the last run");
        }
        self.way = Some(&causes::SERVED);
        self.is_of(Name::Value, count);
    }

    fn is_denied(&mut self, line: &str) {
        // the words of a webhook that is asked for a kind of which its release has no rule (wrangler pkg/webhook/router.go admit, in
        // the vendored packages of longhorn-manager v1.9.2 and v1.10.2)
        if line.contains("no route match found for ") {
            return self.is_way(&causes::OTHER_RELEASE_ANSWERED);
        }
        if line.contains("setting ") && line.contains("with invalid value") {
            let ends = self.release.is_some_and(|release| !release.at_least(1, 3, 1));
            self.is_way(if ends { &causes::SETTING_ENDS_START } else { &causes::SETTING_REFUSED });
        }
    }

    /// The cause of a panic whose stack trace can be read.
    fn panic_in(&mut self, line: &str, stack: &str) -> Option<&'static Cause> {
        let stack = of_panicking_goroutine(stack);
        if stack.contains("syncBackingImageEvictionRequested") {
            return Some(&causes::BACKING_IMAGE_EVICTION_PANIC);
        }
        if self.is_known_issue(stack) || self.is_known_issue(line) {
            return Some(&causes::KNOWN_PANIC);
        }
        if line.contains("reflect.StructOf: field ")
            && let Some(fact) = facts::newer_settings(self.cluster, self.release)
        {
            self.remedy = remedy::plain_settings(self.cluster);
            self.headline = Some("settings are from a later release".to_owned());
            self.add(EvidenceSource::Api, fact);
            return Some(&causes::UPGRADE_PATH);
        }
        self.add(
            EvidenceSource::Log,
            match self.release {
                Some(_) => "no known issue of this release has this stack trace",
                None => "the manager's release is unknown, so known issues cannot be compared",
            },
        );
        self.is_way(&causes::UNKNOWN_ERROR);
        Some(&causes::UNKNOWN)
    }

    /// Notes the issue of this release that shows in the manager's last words, if one does.
    fn is_known_issue(&mut self, last_words: &str) -> bool {
        let Some(release) = self.release else { return false };
        let found = known_issues::ALL.iter().find(|one| one.affects(release) && one.shows_in(last_words));
        if let Some(issue) = found {
            self.issue = Some(issue);
            let text = format!("this is Longhorn issue {}: {}", issue.number, issue.effect);
            self.add(EvidenceSource::Log, text);
        }
        found.is_some()
    }
}
