//! The payload, read and written.

use crate::sentence::sentence;
use crate::words::{Action, ErrorKind, Origin, Phase, RetrySafety};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

const NO_MESSAGE: &str = "The agent reported a failure without saying which.";
const MAX_TEXT_CHARS: usize = 500;
/// Beyond it, a JSON number need not be exact.
const MAX_NUMBER: f64 = 9_007_199_254_740_992.0;

/// The type of a member's value.
pub trait Member: Sized {
    /// Reads a value; `None` where it is of another type.
    fn read(value: Value) -> Option<Self>;
    fn write(&self) -> Value;
}

/// [`AgentError`] with its optional members.
macro_rules! payload {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        /// How a turn failed.
        ///
        /// `None` is unknown. Serialized, it is the payload again, which
        /// [`read_error`](crate::read_error) reads.
        ///
        /// ```
        /// use agent_error::{read_error, ErrorKind};
        /// use serde_json::json;
        ///
        /// let payload = json!({
        ///     "type": "rate_limit",
        ///     "message": "The model provider is limiting requests. Try again in 20 seconds.",
        ///     "retryable": true,
        ///     "retry_after_seconds": 20,
        ///     "reason": "requests_per_minute",
        ///     "region": "eu",
        /// });
        /// let error = read_error(&payload).unwrap();
        /// assert_eq!(error.kind, ErrorKind::RateLimit);
        /// assert_eq!(error.retry_after_seconds, Some(20));
        /// assert_eq!(error.reason.as_deref(), Some("requests_per_minute"));
        /// assert_eq!(error.extra["region"], "eu");
        /// assert_eq!(serde_json::to_value(&error).unwrap(), payload);
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct AgentError {
            /// What went wrong: the payload's `type`.
            pub kind: ErrorKind,
            /// The payload's `type` as it was sent, if it is none of [`ErrorKind`].
            pub unknown_type: Option<String>,
            /// One plain sentence for the user that says what to do; never empty.
            pub message: String,
            /// Would the same prompt, sent again, have a chance to succeed?
            pub retryable: bool,
            $($(#[$doc])* pub $name: Option<$type>,)*
            /// The members that this version does not know, as they were sent.
            pub extra: Map<String, Value>,
        }

        impl AgentError {
            pub(crate) fn from_payload(mut members: Map<String, Value>) -> Self {
                members.retain(|name, value| name != "stopReason" && !value.is_null());
                let sent_type = members.remove("type").and_then(String::read);
                let known = sent_type.as_deref().and_then(ErrorKind::from_word);
                let kind = known.unwrap_or(ErrorKind::Unknown);
                let message = members.remove("message").as_ref().and_then(sentence);
                let retryable = members.remove("retryable");
                Self {
                    kind,
                    unknown_type: if known.is_none() { sent_type } else { None },
                    message: message.unwrap_or_else(|| NO_MESSAGE.into()),
                    retryable: retryable.map_or(kind.is_usually_retryable(), |value| value == true),
                    $($name: members.remove(stringify!($name)).and_then(Member::read),)*
                    extra: members,
                }
            }

            fn to_payload(&self) -> Map<String, Value> {
                let mut members = self.extra.clone();
                members.insert("type".into(), self.kind.write());
                members.insert("message".into(), self.message.write());
                members.insert("retryable".into(), self.retryable.into());
                $(if let Some(value) = &self.$name {
                    members.insert(stringify!($name).into(), value.write());
                })*
                members
            }
        }
    };
}

payload! {
    // Generated from core/failure/members.py by protocol/generate_payload.py.
    /// Redacted details of at most 4 KiB; `text` has the original words.
    detail: Map<String, Value>,
    /// The least time to wait before a retry, rounded up.
    retry_after_seconds: u64,
    /// When the limit resets, in milliseconds since 1970 UTC.
    reset_at_epoch_ms: u64,
    /// Who reported it: a provider, a library or a program.
    source: String,
    /// A narrower name within `type`; an open set of few values.
    reason: String,
    /// Whose fault it was.
    origin: Origin,
    /// How far the turn had come.
    phase: Phase,
    /// Would a retry do harm? Only `auto` may be retried by a machine.
    retry_safety: RetrySafety,
    /// What the user can do about it.
    action: Action,
    /// The HTTP status that the provider answered with.
    http_status: i64,
    /// The provider's or agent's own code, as text, unchanged.
    provider_code: String,
    /// The provider's name for the request, for its support.
    request_id: String,
    /// How often the model was asked before giving up.
    attempts: u64,
    /// The dead agent's exit status.
    exit_code: i64,
    /// The signal that killed the agent, such as `SIGKILL`.
    exit_signal: String,
    /// Names the record of this failure.
    incident_id: String,
    // End of what is generated.
}

impl Serialize for AgentError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_payload().serialize(serializer)
    }
}

impl Member for String {
    fn read(value: Value) -> Option<Self> {
        let text = match value {
            Value::String(text) => text,
            number => i64::read(number)?.to_string(),
        };
        Some(text.chars().take(MAX_TEXT_CHARS).collect())
    }

    fn write(&self) -> Value {
        self.as_str().into()
    }
}

impl Member for Map<String, Value> {
    fn read(value: Value) -> Option<Self> {
        let text = match value {
            Value::Object(members) => return Some(members),
            Value::String(text) => text,
            number => i64::read(number)?.to_string(),
        };
        (!text.is_empty()).then(|| Self::from_iter([("text".into(), text.into())]))
    }

    fn write(&self) -> Value {
        self.clone().into()
    }
}

/// A whole number.
impl Member for i64 {
    #[allow(clippy::cast_possible_truncation)] // it is whole, and within 2^53
    fn read(value: Value) -> Option<Self> {
        let number = value.as_f64()?;
        (number.fract() == 0.0 && number.abs() <= MAX_NUMBER).then_some(number as Self)
    }

    fn write(&self) -> Value {
        (*self).into()
    }
}

/// A whole number that is not negative; a fraction is rounded up.
impl Member for u64 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // within 0 and 2^53
    fn read(value: Value) -> Option<Self> {
        let number = value.as_f64()?;
        (0.0..=MAX_NUMBER).contains(&number).then_some(number.ceil() as Self)
    }

    fn write(&self) -> Value {
        (*self).into()
    }
}

/// A word of a closed set.
macro_rules! word_members {
    ($($set:ident)*) => {$(
        impl Member for $set {
            fn read(value: Value) -> Option<Self> {
                value.as_str().and_then(Self::from_word)
            }

            fn write(&self) -> Value {
                self.as_str().into()
            }
        }
    )*};
}

word_members! { ErrorKind Origin Phase RetrySafety Action }
