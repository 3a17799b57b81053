//! Finds the payload in what an agent sends.

use crate::error::Member;
use crate::sentence::sentence;
use crate::words::ErrorKind;
use crate::AgentError;
use serde_json::{json, Map, Value};

const AUTH_REQUIRED: i64 = -32000;
const REQUEST_CANCELLED: i64 = -32800;
/// The code of an error that says that a retry is of no use.
const NOT_RETRYABLE: i64 = -31050;

/// Reads how a turn failed, from whatever may have a failure: a `session/update`, the answer to a
/// prompt, a part of one of them, or a payload. `None` if nothing failed.
///
/// An error without a payload gets its type from its code or `errorKind` alone.
///
/// ```
/// use agent_error::{read_error, ErrorKind};
/// use serde_json::json;
///
/// // An error as an SDK returns it, from an agent that does not know the extension:
/// let error = read_error(&json!({"code": -32000, "message": "Log in first."})).unwrap();
/// assert_eq!((error.kind, error.retryable), (ErrorKind::Auth, false));
///
/// assert_eq!(read_error(&json!({"stopReason": "end_turn"})), None);
/// ```
#[must_use]
pub fn read_error(message: &Value) -> Option<AgentError> {
    let members = message.as_object()?;
    if ["method", "sessionUpdate", "update"].iter().any(|name| members.contains_key(*name)) {
        read_update(message)
    } else if message["type"].is_string() && message["retryable"].is_boolean() {
        Some(AgentError::from_payload(members.clone()))
    } else {
        read_answer(message)
    }
}

/// Reads how a turn failed from a `session/update`: the notification, its params, or its `update`.
/// `None` if it is another message, or reports no failure.
///
/// ```
/// use agent_error::{read_update, ErrorKind};
/// use serde_json::json;
///
/// let update = json!({
///     "sessionUpdate": "agent_error",
///     "stopReason": "error",
///     "error": {"type": "budget", "message": "The credit is used up. Add credit."},
/// });
/// let error = read_update(&json!({"sessionId": "s1", "update": update})).unwrap();
/// assert_eq!(error.kind, ErrorKind::Budget);
/// assert_eq!(error.message, "The credit is used up. Add credit.");
/// ```
#[must_use]
pub fn read_update(message: &Value) -> Option<AgentError> {
    let params = if message["method"] == "session/update" { &message["params"] } else { message };
    let update = if message["sessionUpdate"].is_null() { &params["update"] } else { message };
    match update["sessionUpdate"].as_str()? {
        "agent_error" | "_agent_error" => Some(match &update["error"] {
            Value::Object(payload) => AgentError::from_payload(payload.clone()),
            // Two shapes that were in use before this one.
            error => from_members(json!({
                "message": first_sentence([&update["message"], &update["text"], error]),
                "detail": update["raw"],
            })),
        }),
        "session_info_update" => from_meta(&update["_meta"]),
        "state_update" if update["state"] == "idle" && update["stopReason"] == "error" => {
            Some(from_error(&update["error"]))
        }
        _ => None,
    }
}

/// Reads how a turn failed from the answer to its prompt: the response, its result, or its error.
/// `None` if the turn did not fail.
///
/// ```
/// use agent_error::{read_answer, ErrorKind};
/// use serde_json::json;
///
/// let answer = json!({"jsonrpc": "2.0", "id": 2, "error": {
///     "code": -32603,
///     "message": "No answer in time. Try again.",
///     "data": {"agent_error": {
///         "type": "timeout", "message": "No answer in time. Try again.", "retryable": true,
///     }},
/// }});
/// assert_eq!(read_answer(&answer).unwrap().kind, ErrorKind::Timeout);
/// ```
#[must_use]
pub fn read_answer(message: &Value) -> Option<AgentError> {
    let has = |name: &str| message.get(name).is_some();
    if has("stopReason") || has("_meta") {
        from_result(message)
    } else if !message["error"].is_null() {
        Some(from_error(&message["error"]))
    } else if has("result") {
        from_result(&message["result"])
    } else {
        let has_code = message["code"].is_number() || message["code"].is_string();
        (has_code && (has("message") || has("data"))).then(|| from_error(message))
    }
}

fn from_result(result: &Value) -> Option<AgentError> {
    if result["stopReason"] == "cancelled" {
        return None;
    }
    let failed = || (result["stopReason"] == "error").then(|| from_error(&result["error"]));
    from_meta(&result["_meta"]).or_else(failed)
}

fn from_error(error: &Value) -> AgentError {
    let data = &error["data"];
    from_meta(data).unwrap_or_else(|| {
        let code = i64::read(error["code"].clone());
        let by_code = match code {
            Some(AUTH_REQUIRED) => ErrorKind::Auth,
            Some(REQUEST_CANCELLED) => ErrorKind::Cancelled,
            _ => ErrorKind::Unknown,
        };
        let kind = data["errorKind"].as_str().and_then(ErrorKind::from_word).unwrap_or(by_code);
        let retryable = code != Some(NOT_RETRYABLE) && kind.is_usually_retryable();
        from_members(json!({
            "type": kind,
            "message": first_sentence([&error["message"], &data["details"]]),
            "retryable": retryable,
            "retry_safety": if retryable { "ask" } else { "never" },
        }))
    })
}

/// The payload under `agent_error`, unless it is what a side says of itself in `initialize`.
fn from_meta(meta: &Value) -> Option<AgentError> {
    let payload = meta["agent_error"].as_object()?;
    let is_failure = payload.contains_key("type") || payload.contains_key("message");
    (is_failure || !payload.contains_key("version"))
        .then(|| AgentError::from_payload(payload.clone()))
}

fn from_members(payload: Value) -> AgentError {
    let members = if let Value::Object(members) = payload { members } else { Map::new() };
    AgentError::from_payload(members)
}

fn first_sentence<const N: usize>(values: [&Value; N]) -> Option<String> {
    values.into_iter().find_map(sentence)
}
