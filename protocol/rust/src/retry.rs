//! What a Retry button may do.

use crate::words::{ErrorKind, RetrySafety};
use crate::AgentError;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The longest wait before an automatic retry.
const MAX_AUTOMATIC_WAIT: Duration = Duration::from_secs(300);

/// Whether and when to send the prompt again, at one moment: from [`AgentError::retry_advice`].
///
/// ```
/// use agent_error::{read_error, RetryAdvice};
/// use serde_json::json;
/// use std::time::{Duration, SystemTime};
///
/// let error = read_error(&json!({
///     "type": "timeout", "message": "No answer in time. Try again.", "retryable": true,
///     "retry_safety": "ask",
/// })).unwrap();
/// let now = SystemTime::now();
/// let RetryAdvice { can_retry, needs_confirmation, .. } = error.retry_advice(now, now);
/// assert!(can_retry && needs_confirmation);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryAdvice {
    /// How long the wait still lasts, in whole seconds, rounded up; zero when it is over, `None` if
    /// none was stated.
    pub wait: Option<Duration>,
    /// Does a Retry button make sense?
    pub can_retry: bool,
    /// Must the user agree first, because a retry might do something twice?
    pub needs_confirmation: bool,
    /// May the client retry by itself, once the wait is over? Never without a limit of its own on
    /// how often.
    pub automatic: bool,
}

impl AgentError {
    /// Returns whether and when to send the prompt again.
    ///
    /// `received` is when the failure came, `now` the moment that the advice is for: call it each
    /// second to show a countdown.
    ///
    /// ```
    /// use agent_error::read_error;
    /// use serde_json::json;
    /// use std::time::{Duration, SystemTime};
    ///
    /// let error = read_error(&json!({
    ///     "type": "rate_limit", "message": "Too many requests. Wait.", "retryable": true,
    ///     "retry_safety": "auto", "retry_after_seconds": 20,
    /// })).unwrap();
    /// let received = SystemTime::now();
    /// let retry = error.retry_advice(received, received + Duration::from_secs(5));
    /// assert_eq!(retry.wait, Some(Duration::from_secs(15)));
    /// assert!(retry.automatic);
    /// ```
    #[must_use]
    pub fn retry_advice(&self, received: SystemTime, now: SystemTime) -> RetryAdvice {
        let stated = self.retry_after_seconds.map(Duration::from_secs);
        let until_reset = || {
            let reset = Duration::from_millis(self.reset_at_epoch_ms?);
            Some(reset.saturating_sub(now.duration_since(UNIX_EPOCH).unwrap_or_default()))
        };
        // Where the clock was set back, no more than the stated wait is left.
        let elapsed = now.duration_since(received).unwrap_or_default();
        let wait =
            stated.map(|wait| wait.saturating_sub(elapsed)).or_else(until_reset).map(whole_seconds);

        let helps = self.retryable && self.retry_safety != Some(RetrySafety::Never);
        // After its reset a limit no longer forbids a retry; whether that is safe was never said.
        let has_reset = wait == Some(Duration::ZERO)
            && matches!(self.kind, ErrorKind::RateLimit | ErrorKind::Budget);
        let can_retry = helps || has_reset;
        let is_harmless =
            matches!(self.retry_safety, Some(RetrySafety::Auto | RetrySafety::OfferContinue));
        let longest = stated.filter(|wait| !wait.is_zero()).or(wait).unwrap_or_default();
        RetryAdvice {
            wait,
            can_retry,
            needs_confirmation: can_retry && !(helps && is_harmless),
            automatic: helps
                && self.retry_safety == Some(RetrySafety::Auto)
                && longest <= MAX_AUTOMATIC_WAIT,
        }
    }
}

fn whole_seconds(wait: Duration) -> Duration {
    Duration::from_secs(wait.as_secs() + u64::from(wait.subsec_nanos() > 0))
}
