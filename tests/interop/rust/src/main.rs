//! A client on the Rust SDK that writes down what it is given.
//!
//! Owns: one session with the command after `--`, and one JSON line on stdout for each thing that
//! the SDK handed to user code. Does not own: any judgement. `agent_error` is foreign to its SDK;
//! only with `--read` it listens as a client does that uses the crate `agent-error`. The clients in
//! other languages print the same lines.

mod options;
mod report;
mod session;
mod v1;
mod v2;

use agent_client_protocol::{AcpAgent, AcpAgentConfig, Error, LineDirection};
use options::Options;
use report::{listen_to_complaints, report};
use serde_json::json;
use session::Waiting;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

const EXIT_USAGE: u8 = 2;

/// The agent, started by the SDK, with its stderr passed on.
fn agent(command: &[String]) -> Option<AcpAgent> {
    let [program, arguments @ ..] = command else { return None };
    let agent = AcpAgent::new(AcpAgentConfig::new(program).args(arguments));
    Some(agent.with_debug(|line, direction| {
        if direction == LineDirection::Stderr {
            eprintln!("{line}");
        }
    }))
}

async fn run(options: Options, waiting: Arc<Mutex<Waiting>>) -> Result<(), Error> {
    let Some(agent) = agent(&options.command) else { return Ok(()) };
    let options = Arc::new(options);
    match options.protocol {
        1 => v1::run(agent, options, waiting).await,
        _ => v2::run(agent, options, waiting).await,
    }
}

/// The options, with the working directory made absolute and entered: the SDK has no place for it.
fn prepare() -> Result<Options, String> {
    let mut options = options::parse(std::env::args().skip(1))?;
    let folder = std::env::set_current_dir(&options.cwd).and_then(|()| std::env::current_dir());
    let folder = folder.map_err(|error| format!("--cwd {}: {error}.", options.cwd))?;
    options.cwd = folder.to_string_lossy().into_owned();
    Ok(options)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = match prepare() {
        Ok(options) => options,
        Err(sentence) => {
            eprintln!("{sentence}");
            return ExitCode::from(EXIT_USAGE);
        }
    };
    listen_to_complaints();
    let waiting = Arc::new(Mutex::new(Waiting::Stage("initialize")));
    if let Err(error) = run(options, waiting.clone()).await {
        waiting.lock().unwrap_or_else(PoisonError::into_inner).report_lost(&error);
    }
    // The SDK owns the agent's process and tells its exit status at most in a sentence.
    report("ended", json!({"returncode": null}));
    ExitCode::SUCCESS
}
