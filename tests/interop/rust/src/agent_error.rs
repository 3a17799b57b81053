//! The `agent_error` extension, version 1, for a client in Rust. Copy this file.
//!
//! Needs `serde` (with `derive`) and `serde_json`, nothing of an SDK. Ask for the typed update in
//! `initialize` with `clientCapabilities._meta = {"agent_error": {"version": 1}}`, and give
//! [`read_error`] what the agent sends: it reads the payload wherever an agent or lastword put it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// How a turn failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentError {
    #[serde(rename = "type")]
    pub error_type: ErrorType,
    /// One plain sentence that ends with what to do; never empty.
    pub message: String,
    /// Would the same prompt help, later?
    pub retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset_at_epoch_ms: Option<u64>,
    /// Whose fault it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// How far the turn had come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Would sending the same prompt again do harm?
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_safety: Option<RetrySafety>,
    /// What to offer the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u64>,
    /// `detail`, `source`, `http_status` and the other members, unknown ones included.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// An enum of the words of a closed set.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($word:ident),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($word),* }
    )*};
}

words! {
    /// What went wrong. A word that is not listed reads as `Unknown`.
    ErrorType {
        RateLimit, Budget, ProviderUnavailable, ContextOverflow, Auth, Unknown, ModelNotFound,
        InvalidRequest, ContentFilter, Timeout, Network, Cancelled, AgentCrash, AgentStalled,
        StderrOverflow, ProtocolError, Internal,
    }
    Origin { Provider, Network, Agent, Process, Client, Lastword }
    Phase { Startup, BeforeRequest, BeforeOutput, MidOutput, ToolRunning, AfterTool }
    RetrySafety { Auto, OfferContinue, Ask, Never }
    Action {
        Wait, Retry, Continue, ConfirmRetry, Login, TopUp, SwitchModel, Shorten, Rephrase,
        FixConfiguration, Restart, Report,
    }
}

/// Says how a turn failed, if this tells that one did: a `session/update` (the notification, its
/// params or its `update`), a prompt's result, a response, or an error. `None` for anything else.
/// An error without a payload gets its type from its code or `errorKind` alone.
pub fn read_error(message: &Value) -> Option<AgentError> {
    let it = message.as_object()?;
    let has = |key: &str| it.contains_key(key);
    if has("method") || has("sessionUpdate") || has("update") {
        of_update(message)
    } else if message["type"].is_string() && message["retryable"].is_boolean() {
        Some(of_payload(it.clone()))
    } else if has("stopReason") || has("_meta") {
        of_result(message)
    } else if !message["error"].is_null() {
        Some(of_error(&message["error"]))
    } else if has("result") {
        of_result(&message["result"])
    } else {
        let has_code = message["code"].is_number() || message["code"].is_string();
        (has_code && (has("message") || has("data"))).then(|| of_error(message))
    }
}

fn of_update(it: &Value) -> Option<AgentError> {
    let params = if it["method"] == "session/update" { &it["params"] } else { it };
    let update = if it["sessionUpdate"].is_null() { &params["update"] } else { it };
    match update["sessionUpdate"].as_str()? {
        "agent_error" | "_agent_error" => Some(match &update["error"] {
            Value::Object(payload) => of_payload(payload.clone()),
            // Two shapes that were in use before this one.
            error => of_members(json!({
                "message": first_text([&update["message"], &update["text"], error]),
                "detail": update["raw"],
            })),
        }),
        "session_info_update" => of_meta(&update["_meta"]),
        "state_update" if update["state"] == "idle" && update["stopReason"] == "error" => {
            Some(of_error(&update["error"]))
        }
        _ => None,
    }
}

fn of_result(result: &Value) -> Option<AgentError> {
    if result["stopReason"] == "cancelled" {
        return None;
    }
    let failed = || (result["stopReason"] == "error").then(|| of_error(&result["error"]));
    of_meta(&result["_meta"]).or_else(failed)
}

fn of_error(error: &Value) -> AgentError {
    let data = &error["data"];
    of_meta(data).unwrap_or_else(|| {
        let of_code = match error["code"].as_f64() {
            Some(-32000.0) => ErrorType::Auth,
            Some(-32800.0) => ErrorType::Cancelled,
            _ => ErrorType::Unknown,
        };
        let error_type = word(&data["errorKind"]).unwrap_or(of_code);
        // -31050 says that a retry is of no use, whatever the type.
        let retryable = error["code"].as_f64() != Some(-31050.0) && is_retryable(error_type);
        of_members(json!({
            "type": error_type,
            "message": first_text([&error["message"], &data["details"]]),
            "retryable": retryable,
            "retry_safety": if retryable { "ask" } else { "never" },
        }))
    })
}

/// The payload under `agent_error`, unless that only says which version somebody speaks.
fn of_meta(meta: &Value) -> Option<AgentError> {
    let payload = meta["agent_error"].as_object()?;
    let tells = payload.contains_key("type") || payload.contains_key("message");
    (tells || !payload.contains_key("version")).then(|| of_payload(payload.clone()))
}

fn of_members(payload: Value) -> AgentError {
    of_payload(payload.as_object().cloned().unwrap_or_default())
}

fn of_payload(mut more: Map<String, Value>) -> AgentError {
    for (key, value) in more.iter_mut() {
        *value = member(key, value.take());
    }
    more.retain(|key, value| key != "stopReason" && !value.is_null());
    let mut take = |key: &str| more.remove(key).unwrap_or_default();
    let error_type = word(&take("type")).unwrap_or(ErrorType::Unknown);
    AgentError {
        error_type,
        message: sentence(&take("message")),
        retryable: match take("retryable") {
            Value::Null => is_retryable(error_type),
            told => told == true,
        },
        retry_after_seconds: count(&take("retry_after_seconds")),
        reset_at_epoch_ms: count(&take("reset_at_epoch_ms")),
        origin: word(&take("origin")),
        phase: word(&take("phase")),
        retry_safety: word(&take("retry_safety")),
        action: word(&take("action")),
        attempts: count(&take("attempts")),
        more,
    }
}

const TEXTS: &[&str] = &[
    "source",
    "reason",
    "provider_code",
    "request_id",
    "exit_signal",
    "incident_id",
];

/// A member as its type has it; null where it is of another.
fn member(key: &str, value: Value) -> Value {
    let text = match &value {
        Value::String(text) => Some(text.clone()),
        number => whole(number).map(|number| number.to_string()),
    };
    match key {
        "detail" if value.is_object() => value,
        "detail" => text.filter(|text| !text.is_empty()).map_or(Value::Null, |t| json!({"text": t})),
        "http_status" | "exit_code" => whole(&value).map_or(Value::Null, Value::from),
        key if TEXTS.contains(&key) => match text {
            Some(text) => text.chars().take(500).collect::<String>().into(),
            None => Value::Null,
        },
        _ => value,
    }
}

fn is_retryable(error_type: ErrorType) -> bool {
    use ErrorType::*;
    let provider = matches!(error_type, RateLimit | ProviderUnavailable | Timeout | Network);
    provider || matches!(error_type, AgentCrash | AgentStalled | StderrOverflow)
}

fn word<'a, Word: Deserialize<'a>>(value: &'a Value) -> Option<Word> {
    value.is_string().then(|| Word::deserialize(value).ok())?
}

fn whole(value: &Value) -> Option<i64> {
    let number = value.as_f64()?;
    (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then_some(number as i64)
}

/// A whole number of at least nought, rounded up.
fn count(value: &Value) -> Option<u64> {
    let number = value.as_f64()?;
    (0.0..=9_007_199_254_740_992.0).contains(&number).then_some(number.ceil() as u64)
}

fn first_text<const N: usize>(values: [&Value; N]) -> Option<&str> {
    values.into_iter().filter_map(Value::as_str).find(|text| !text.trim().is_empty())
}

/// One plain line of at most 500 characters.
fn sentence(value: &Value) -> String {
    let plain: String = value.as_str().unwrap_or_default().chars().map(plain).collect();
    let said = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    match said.chars().count() {
        0 => "The agent reported a failure without saying which.".into(),
        ..=500 => said,
        _ => said.chars().take(499).chain(['…']).collect(),
    }
}

/// Without what a client may read as markup, and what turns or hides the text around it.
fn plain(char: char) -> char {
    match char {
        '[' => '(',
        ']' => ')',
        '`' | '*' | '<' | '>' | '{' | '}' | '\\' | '|' | '\u{ad}' | '\u{feff}' => ' ',
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => ' ',
        char if char.is_control() => ' ',
        char => char,
    }
}
