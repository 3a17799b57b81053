//! The conversation: `initialize`, a session, its turns, and at the end a probe where asked for.
//!
//! What goes over the wire for each of them is a `Dialect`'s: `v1` or `v2`.

use crate::options::Options;
use crate::report::{outcome, report};
use agent_client_protocol::Error;
use agent_error::read_error;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// For updates that come after the last answer.
const LINGER: Duration = Duration::from_millis(200);
const NO_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// What a client asks of an agent, in one version of the protocol.
pub trait Dialect {
    /// The answer to `initialize`.
    async fn initialize(&self, options: &Options) -> Result<Value, Error>;
    /// The id of a new session.
    async fn new_session(&self, cwd: &str) -> Result<String, Error>;
    /// What the turn ended with.
    async fn prompt(&self, session: &str, text: &str) -> Result<Value, Error>;
}

/// What the client waits for, so that it can be told when the SDK drops the whole conversation.
#[derive(Clone, Copy)]
pub enum Waiting {
    Stage(&'static str),
    Turn(usize),
    Nothing,
}

impl Waiting {
    /// Tells how the connection ended under what was waited for.
    pub fn report_lost(self, error: &Error) {
        let text = error.to_string();
        match self {
            Waiting::Stage(stage) => {
                report("failed", json!({"stage": stage, "cause": "Error", "text": text}))
            }
            Waiting::Turn(n) => {
                report("exception", json!({"n": n, "cause": "Error", "text": text}))
            }
            Waiting::Nothing => report("log", json!({"text": text})),
        }
    }
}

/// One connection's conversation.
pub struct Conversation<D: Dialect> {
    pub agent: D,
    pub options: Arc<Options>,
    pub waiting: Arc<Mutex<Waiting>>,
}

impl<D: Dialect> Conversation<D> {
    /// Says all that the command line asked for, as far as the agent lets it.
    pub async fn run(&self) -> Result<(), Error> {
        self.converse().await;
        self.wait_for(Waiting::Nothing);
        sleep(LINGER).await;
        Ok(())
    }

    async fn converse(&self) -> Option<()> {
        let options = &self.options;
        let result = self.opening("initialize", self.agent.initialize(options)).await?;
        report("initialized", json!({"result": result}));
        let session = self.open_session("session/new").await?;
        for (n, text) in options.prompts.iter().enumerate() {
            self.turn(&session, n, text).await;
        }
        if options.probe {
            let session = self.open_session("probe").await?;
            self.turn(&session, options.prompts.len(), "hello").await;
        }
        Some(())
    }

    async fn open_session(&self, stage: &'static str) -> Option<String> {
        let session = self.opening(stage, self.agent.new_session(&self.options.cwd)).await?;
        report("session", json!({"id": session}));
        Some(session)
    }

    /// Waits for an answer of the beginning of a session; tells what failed, and gives `None` then.
    async fn opening<T>(
        &self,
        stage: &'static str,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Option<T> {
        self.wait_for(Waiting::Stage(stage));
        let (cause, text) = match self.within_limit(answer).await {
            Some(Ok(result)) => return Some(result),
            Some(Err(error)) => ("Error", error.to_string()),
            None => ("hang", "no answer in time".to_string()),
        };
        report("failed", json!({"stage": stage, "cause": cause, "text": text}));
        None
    }

    /// One turn, and how it ended.
    async fn turn(&self, session: &str, n: usize, text: &str) {
        self.wait_for(Waiting::Turn(n));
        report("prompt", json!({"n": n}));
        let (event, mut told) = match self.within_limit(self.agent.prompt(session, text)).await {
            None => ("hang", json!({})),
            Some(Ok(result)) => {
                self.read(&result);
                ("answer", json!({"stop_reason": result["stopReason"], "result": result}))
            }
            Some(Err(error)) => {
                self.read(&json!(error));
                outcome(&error)
            }
        };
        told["n"] = n.into();
        report(event, told);
    }

    /// `None` where nothing came in time. The request is then left alone: dropped, the SDK's future
    /// would send a cancel, and a client that hangs sends nothing.
    async fn within_limit<T>(&self, answer: impl Future<Output = T>) -> Option<T> {
        let mut answer = Box::pin(answer);
        let limit = self.options.turn_timeout.unwrap_or(NO_LIMIT);
        let came = timeout(limit, answer.as_mut()).await.ok();
        if came.is_none() {
            std::mem::forget(answer);
        }
        came
    }

    fn read(&self, told: &Value) {
        if self.options.read {
            report_read(told);
        }
    }

    fn wait_for(&self, what: Waiting) {
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }
}

/// Tells what `agent-error` makes of something that came, where it is a failure.
pub fn report_read(told: &Value) {
    if let Some(error) = read_error(told) {
        report("read", json!({"type": error.kind, "error": error}));
    }
}

/// Tells of an update that the SDK handed over.
pub fn report_update(session: impl Into<Value>, update: &Value) {
    let kind = &update["sessionUpdate"];
    report("update", json!({"kind": kind, "session": session.into(), "update": update}));
}
