//! One JSON line on stdout for each thing that happened.

use agent_client_protocol::{Error, is_connection_terminated, is_incoming_transport_closed};
use serde_json::{Value, json};
use std::io::{self, Write};
use tracing_subscriber::fmt::MakeWriter;

/// Writes one line: the event's name and what is told of it.
pub fn report(event: &str, told: Value) {
    let mut line = json!({"event": event});
    for (key, value) in told.as_object().into_iter().flatten() {
        line[key] = value.clone();
    }
    let mut out = io::stdout().lock();
    // A reader that has gone away ends the run by its own means.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// How an error reached user code: as the peer's JSON-RPC error, or as the SDK's own.
pub fn outcome(error: &Error) -> (&'static str, Value) {
    if is_connection_terminated(error) || is_incoming_transport_closed(error) {
        return ("exception", json!({"cause": "Error", "text": error.to_string()}));
    }
    let code = i32::from(error.code);
    ("error", json!({"code": code, "message": error.message, "data": error.data}))
}

/// What the SDK itself complains about becomes `log` lines.
pub fn listen_to_complaints() {
    tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .without_time()
        .with_ansi(false)
        .with_writer(LogLines)
        .init();
}

struct LogLines;

impl<'a> MakeWriter<'a> for LogLines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        Self
    }
}

impl Write for LogLines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        report("log", json!({"text": String::from_utf8_lossy(line).trim_end()}));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
