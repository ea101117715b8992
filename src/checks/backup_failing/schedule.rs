//! How long a cron schedule ever pauses. That does not depend on the time zone in which it is read, which no object tells: the
//! CronJob controller has its own.

use jiff::{SignedDuration, civil};

/// The longest pause between two runs; `None` where the schedule is not one that Kubernetes takes, or never comes.
pub fn longest_pause(schedule: &str) -> Option<SignedDuration> {
    let schedule = match schedule.trim() {
        zoned if zoned.starts_with("TZ=") || zoned.starts_with("CRON_TZ=") => zoned.split_once(' ')?.1,
        plain => plain,
    };
    match schedule {
        "@yearly" | "@annually" => longest_pause("0 0 1 1 *"),
        "@monthly" => longest_pause("0 0 1 * *"),
        "@weekly" => longest_pause("0 0 * * 0"),
        "@daily" | "@midnight" => longest_pause("0 0 * * *"),
        "@hourly" => longest_pause("0 * * * *"),
        _ => match schedule.strip_prefix("@every ") {
            Some(every) => every.trim().parse().ok().filter(|pause: &SignedDuration| pause.is_positive()),
            None => CronFields::parse(schedule)?.longest_pause(),
        },
    }
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The five fields, one bit a value.
struct CronFields {
    minutes: u64,
    hours: u64,
    days: Field,
    months: u64,
    weekdays: Field,
}

/// A field of days: with both restricted, either may match (robfig/cron, which Kubernetes uses).
struct Field {
    bits: u64,
    any: bool,
}

impl CronFields {
    fn parse(schedule: &str) -> Option<CronFields> {
        let mut fields = schedule.split_whitespace();
        let mut next = |from, to, names| bits(fields.next()?, from, to, names);
        let (minutes, hours) = (next(0, 59, &[])?, next(0, 23, &[])?);
        let (days, months, weekdays) = (next(1, 31, &[])?, next(1, 12, &MONTHS)?, next(0, 7, &DAYS)?);
        let any = |place: usize| {
            schedule.split_whitespace().nth(place).is_some_and(|field| field.starts_with(['*', '?']))
        };
        // Sunday is 0 and 7
        let sunday = weekdays >> 7 & 1;
        let is_whole = schedule.split_whitespace().count() == 5;
        is_whole.then_some(CronFields {
            minutes,
            hours,
            days: Field { bits: days, any: any(2) },
            months,
            weekdays: Field { bits: weekdays | sunday, any: any(4) },
        })
    }

    fn runs_on(&self, date: civil::Date) -> bool {
        let has = |bits: u64, value: i8| bits >> value & 1 == 1;
        let day = has(self.days.bits, date.day());
        let weekday = has(self.weekdays.bits, date.weekday().to_sunday_zero_offset());
        let either = if self.days.any || self.weekdays.any { day && weekday } else { day || weekday };
        has(self.months, date.month()) && either
    }

    /// Of five years, which include a leap year.
    fn longest_pause(&self) -> Option<SignedDuration> {
        let times: Vec<i64> = values(self.hours)
            .flat_map(|hour| values(self.minutes).map(move |minute| hour * 60 + minute))
            .collect();
        let (first, last) = (*times.first()?, *times.last()?);
        let mut longest = times.iter().zip(times.iter().skip(1)).map(|(a, b)| b - a).max().unwrap_or(0);
        let mut before: Option<i64> = None;
        for (number, date) in
            civil::date(2024, 1, 1).series(jiff::Span::new().days(1)).take(5 * 366).enumerate()
        {
            if !self.runs_on(date) {
                continue;
            }
            let midnight = i64::try_from(number).ok()? * 24 * 60;
            if let Some(before) = before {
                longest = longest.max(midnight + first - before);
            }
            before = Some(midnight + last);
        }
        (before.is_some() && longest > 0).then(|| SignedDuration::from_mins(longest))
    }
}

fn values(bits: u64) -> impl Iterator<Item = i64> {
    (0..64).filter(move |value| bits >> value & 1 == 1)
}

/// `*`, `5`, `1-5`, `*/15`, `mon-fri`, and lists of these.
fn bits(field: &str, from: u32, to: u32, names: &[&str]) -> Option<u64> {
    let value = |text: &str| -> Option<u32> {
        let named = names.iter().position(|name| text.eq_ignore_ascii_case(name));
        let number = match named {
            Some(place) => u32::try_from(place).ok()? + from,
            None => text.parse().ok()?,
        };
        (from..=to).contains(&number).then_some(number)
    };
    let mut bits = 0;
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse().ok().filter(|step| *step > 0)?),
            None => (part, 1),
        };
        let (first, last) = match range.split_once('-') {
            _ if range == "*" || range == "?" => (from, to),
            Some((first, last)) => (value(first)?, value(last)?),
            None if step > 1 => (value(range)?, to),
            None => (value(range)?, value(range)?),
        };
        (first..=last).step_by(usize::try_from(step).ok()?).for_each(|value| bits |= 1 << value);
    }
    (bits != 0).then_some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn minutes(schedule: &str) -> Option<i64> {
        longest_pause(schedule).map(|pause| pause.as_mins())
    }

    #[test]
    fn pauses_of_common_schedules() {
        const DAY: i64 = 24 * 60;
        for (schedule, expected) in [
            ("0 2 * * *", Some(DAY)),
            ("*/5 * * * *", Some(5)),
            ("7 * * * *", Some(60)),
            ("0 */6 * * *", Some(360)),
            ("0 9-17 * * 1-5", Some(2 * DAY + 16 * 60)),
            ("0 9-17 * * mon-FRI", Some(2 * DAY + 16 * 60)),
            ("0 0 * * 0", Some(7 * DAY)),
            ("0 0 * * 7", Some(7 * DAY)),
            ("0 0 1 * *", Some(31 * DAY)),
            ("0 0 31 * *", Some(61 * DAY)),
            ("0 0 29 2 *", Some(1461 * DAY)),
            // with both restricted, either may match
            ("0 0 1 * 1", Some(7 * DAY)),
            ("0 0 */2 * *", Some(2 * DAY)),
            ("0 0 ? * *", Some(DAY)),
            ("20/30 3 * * *", Some(23 * 60 + 30)),
            ("0,30 * * * *", Some(30)),
            ("CRON_TZ=Europe/Berlin 0 2 * * *", Some(DAY)),
            ("@daily", Some(DAY)),
            ("@every 90m", Some(90)),
            ("@every 0s", None),
            ("@never", None),
            ("", None),
            ("0 2 * *", None),
            ("0 2 * * * *", None),
            ("61 2 * * *", None),
            ("0 2 30 2 *", None),
            ("*/0 * * * *", None),
            ("5-1 * * * *", None),
        ] {
            assert_eq!(minutes(schedule), expected, "{schedule}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_pause_or_none(schedule in "[0-9*/, a-z@?=-]{0,30}") {
            if let Some(pause) = longest_pause(&schedule) {
                prop_assert!(pause.is_positive());
            }
        }
    }
}
