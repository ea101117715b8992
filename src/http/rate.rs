//! The rate limit of the web configuration, as exporter-toolkit has it; without one there is none.
//!
//! **Whom this keeps out:** strangers of whom the API server would be asked too often (see `credentials`), and whom the file says.

use std::sync::Mutex;

use hyper::{StatusCode, header};
use tokio::time::Instant;

use super::respond::Refusal;
use super::web_config::Rate;
use crate::sync;

/// A bucket of requests for all clients together, as in exporter-toolkit.
#[derive(Debug, Default)]
pub struct RateLimiter {
    bucket: Mutex<Option<Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    rate: Rate,
    tokens: f64,
    filled: Instant,
}

impl RateLimiter {
    /// Takes one request out of the bucket or refuses it. A changed rate begins with a full one.
    pub fn take(&self, rate: Option<Rate>) -> Result<(), Refusal> {
        let Some(rate) = rate else { return Ok(()) };
        let (now, full) = (Instant::now(), f64::from(rate.burst));
        let mut bucket = sync::lock(&self.bucket);
        let known = bucket.take().filter(|bucket| bucket.rate == rate);
        let mut next = known.unwrap_or(Bucket { rate, tokens: full, filled: now });
        let gained = (now - next.filled).as_secs_f64() / rate.interval.as_secs_f64();
        next.tokens = (next.tokens + gained).min(full);
        next.filled = now;
        let is_enough = next.tokens >= 1.0;
        if is_enough {
            next.tokens -= 1.0;
        }
        *bucket = Some(next);
        if is_enough {
            return Ok(());
        }
        let refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, "too many requests, try again later");
        Err(refusal.with(header::RETRY_AFTER, "1"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_and_then_one_an_interval() {
        let limiter = RateLimiter::default();
        let rate = Some(Rate { interval: Duration::from_secs(1), burst: 2 });
        let passes = || limiter.take(rate).is_ok();
        assert!(passes() && passes() && !passes());
        tokio::time::advance(Duration::from_millis(1001)).await;
        assert!(passes() && !passes());
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert!(passes() && passes() && !passes());
        let other = Some(Rate { interval: Duration::from_secs(1), burst: 1 });
        assert!(limiter.take(other).is_ok() && limiter.take(other).is_err());
        assert!(limiter.take(None).is_ok());
    }
}
