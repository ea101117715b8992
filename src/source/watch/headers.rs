//! What the headers of an answer tell: the API server's clock, and how long it wants to be left alone.

use std::time::Duration;

use http::{HeaderMap, HeaderName, header};
use jiff::fmt::rfc2822::DateTimeParser;
use jiff::{SignedDuration, Timestamp};

/// A longer `Retry-After` is cut: a kind must not become stale because something asked for an hour.
pub(super) const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);
/// An answer that took longer says too little about the time at which it was written.
const SLOWEST: SignedDuration = SignedDuration::from_secs(10);

/// How far our clock is ahead of the server's; negative where it is behind. `None` without a `Date`.
///
/// The header has whole seconds, and was written at some moment between `sent` and `came`. What these
/// can explain is no skew, so a slow answer never looks like one.
pub fn skew(sent: Timestamp, came: Timestamp, headers: &HeaderMap) -> Option<SignedDuration> {
    let date = date(headers, &header::DATE)?;
    let took = came.duration_since(sent);
    if took.is_negative() || took > SLOWEST {
        return None;
    }
    let most = came.duration_since(date);
    let least = sent.duration_since(date).checked_sub(SignedDuration::from_secs(1))?;
    Some(if least.is_positive() {
        least
    } else if most.is_negative() {
        most
    } else {
        SignedDuration::ZERO
    })
}

/// How long the server wants to be left alone, in seconds or as a date.
pub fn retry_after(now: Timestamp, headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    let wanted = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        // the date is the server's, so it is counted from the server's own
        Err(_) => {
            let now = date(headers, &header::DATE).unwrap_or(now);
            let wanted = date(headers, &header::RETRY_AFTER)?.duration_since(now);
            Duration::try_from(wanted).ok()?
        }
    };
    Some(wanted.min(LONGEST_RETRY_AFTER))
}

fn date(headers: &HeaderMap, name: &HeaderName) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(headers.get(name)?.to_str().ok()?.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::time;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_skew_is_what_the_way_there_and_back_cannot_explain() {
        let skew = |sent: &str, came: &str| {
            let date = headers(&[(header::DATE, "Sun, 01 Mar 2026 12:00:00 GMT")]);
            skew(time(sent), time(came), &date).map(|skew| skew.as_millis())
        };
        for (sent, came, expected) in [
            ("2026-03-01T12:00:00.2Z", "2026-03-01T12:00:00.3Z", Some(0)),
            ("2026-03-01T11:59:58Z", "2026-03-01T12:00:02Z", Some(0)),
            ("2026-03-01T12:05:00Z", "2026-03-01T12:05:00.1Z", Some(299_000)),
            ("2026-03-01T11:50:00Z", "2026-03-01T11:50:01Z", Some(-599_000)),
            ("2026-03-01T11:59:00Z", "2026-03-01T12:02:00Z", None),
            ("2026-03-01T12:00:02Z", "2026-03-01T12:00:01Z", None),
        ] {
            assert_eq!(skew(sent, came), expected, "{sent} {came}");
        }
    }

    #[test]
    fn without_a_date_nothing_is_known() {
        let now = time("2026-03-01T12:00:00Z");
        for odd in ["", "soon", "2026-03-01T12:00:00Z", "Sun, 99 Mar 2026 12:00:00 GMT"] {
            assert_eq!(skew(now, now, &headers(&[(header::DATE, odd)])), None, "{odd}");
        }
        assert_eq!(skew(now, now, &HeaderMap::new()), None);
    }

    #[test]
    fn seconds_and_dates_are_heeded_and_bounded() {
        let date = (header::DATE, "Sun, 01 Mar 2026 12:00:00 GMT");
        let now = time("2026-03-01T13:00:00Z");
        for (text, expected) in [
            ("1", Some(1)),
            (" 7 ", Some(7)),
            ("0", Some(0)),
            ("86400", Some(60)),
            ("Sun, 01 Mar 2026 12:00:05 GMT", Some(5)),
            ("Sun, 01 Mar 2026 11:00:05 GMT", None),
            ("-1", None),
            ("soon", None),
        ] {
            let headers = headers(&[date.clone(), (header::RETRY_AFTER, text)]);
            assert_eq!(retry_after(now, &headers).map(|wait| wait.as_secs()), expected, "{text}");
        }
        assert_eq!(retry_after(now, &HeaderMap::new()), None);
    }
}
