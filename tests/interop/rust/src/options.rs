//! The command line: options, `--`, and the agent's command.

use serde_json::{Map, Value};
use std::time::Duration;

/// What the command line asked for.
pub struct Options {
    pub name: String,
    pub cwd: String,
    pub meta: Option<Map<String, Value>>,
    pub prompts: Vec<String>,
    pub turn_timeout: Option<Duration>,
    pub probe: bool,
    /// The protocol's version, 1 or 2.
    pub protocol: u8,
    /// Also listen as a client would that uses the crate `agent-error`.
    pub read: bool,
    pub command: Vec<String>,
}

/// The options, or one sentence about what cannot be used.
pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut it = Options {
        name: "interop-rust".into(),
        cwd: ".".into(),
        meta: None,
        prompts: vec![],
        turn_timeout: None,
        probe: false,
        protocol: 1,
        read: false,
        command: vec![],
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value."));
        match word.as_str() {
            "--name" => it.name = value()?,
            "--cwd" => it.cwd = value()?,
            "--prompt" => it.prompts.push(value()?),
            "--meta" => it.meta = Some(object(&value()?)?),
            "--turn-timeout" => it.turn_timeout = Some(seconds(&value()?)?),
            "--protocol" => it.protocol = version(&value()?)?,
            "--probe" => it.probe = true,
            "--read" => it.read = true,
            "--" => it.command = words.by_ref().collect(),
            _ => return Err(format!("{word} is no option of this client.")),
        }
    }
    if it.command.is_empty() {
        return Err("Give the agent's command after --.".into());
    }
    if it.prompts.is_empty() {
        it.prompts.push("What is the answer?".into());
    }
    Ok(it)
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("--meta must be a JSON object: {error}."))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse().ok().and_then(|it| Duration::try_from_secs_f64(it).ok());
    number.ok_or(format!("--turn-timeout must be a number of seconds, not {text}."))
}

fn version(text: &str) -> Result<u8, String> {
    match text {
        "1" => Ok(1),
        "2" => Ok(2),
        _ => Err(format!("--protocol must be 1 or 2, not {text}.")),
    }
}
