//! Plays `protocol/reading/vectors.json`.

use agent_error::{read_error, AgentError};
use serde_json::{json, Value};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn vectors(list: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../reading/vectors.json");
    let text = std::fs::read_to_string(path).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    serde_json::from_value(document[list].take()).unwrap()
}

/// Compares as the vectors' README has it; the two matchers are those that occur.
fn matches(expected: &Value, actual: &Value) -> bool {
    if expected["$sentence"] == true {
        return actual.as_str().is_some_and(|text| !text.is_empty() && !text.contains('['));
    }
    match (&expected["$contains"], expected, actual) {
        (Value::Object(members), ..) => members.iter().all(|(key, value)| actual[key] == *value),
        (_, Value::Object(expected), Value::Object(actual)) => {
            let is_matched = |(key, value)| actual.get(key).is_some_and(|it| matches(value, it));
            expected.len() == actual.len() && expected.iter().all(is_matched)
        }
        _ => expected == actual,
    }
}

fn time(milliseconds: &Value) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(milliseconds.as_u64().unwrap())
}

#[test]
fn the_reader_returns_what_the_vectors_have() {
    let vectors = vectors("read");
    assert!(vectors.len() > 80);
    for vector in vectors {
        let error = json!(read_error(&vector["given"]));
        assert!(matches(&vector["error"], &error), "{}: {error}", vector["id"]);
    }
}

#[test]
fn the_advice_on_a_retry_is_that_of_the_vectors() {
    let vectors = vectors("view");
    assert!(vectors.len() > 40);
    for vector in vectors {
        let error: AgentError = read_error(&vector["error"]).unwrap();
        let advice = error.retry_advice(time(&vector["received_ms"]), time(&vector["now_ms"]));
        let view = json!({
            "sentence": error.message,
            "wait_seconds": advice.wait.map(|wait| wait.as_secs()),
            "can_retry": advice.can_retry,
            "needs_confirmation": advice.needs_confirmation,
            "automatic": advice.automatic,
        });
        assert!(matches(&json!({"$contains": view}), &vector["view"]), "{}: {view}", vector["id"]);
    }
}

#[test]
fn a_type_of_a_later_version_is_kept_beside_the_payload() {
    let payload = json!({"type": "quota", "message": "It failed.", "retryable": false});
    let error = read_error(&payload).unwrap();
    assert_eq!(error.unknown_type.as_deref(), Some("quota"));
    assert_eq!(json!(error)["type"], "unknown");
}
