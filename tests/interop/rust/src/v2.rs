//! The client in the draft of version 2, where a turn ends with the idle state of its session.

use crate::options::Options;
use crate::session::{Conversation, Dialect, Waiting, report_read, report_update};
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v2::ConnectionTo;
use agent_client_protocol::v2::schema::{
    CancelledPermissionOutcome, Implementation, InitializeRequest, NewSessionRequest,
    PermissionOptionKind, PromptRequest, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SelectedPermissionOutcome, UpdateSessionNotification,
};
use agent_client_protocol::{AcpAgent, Agent, Client, Error};
use serde_json::{Value, from_value, json, to_value};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

struct Version2 {
    agent: ConnectionTo<Agent>,
    /// The last idle state of any session; one turn runs at a time.
    idle: watch::Receiver<Option<Value>>,
}

impl Dialect for Version2 {
    async fn initialize(&self, options: &Options) -> Result<Value, Error> {
        let info = Implementation::new(options.name.clone(), "1.0.0");
        let mut hello = InitializeRequest::new(ProtocolVersion::V2, info);
        hello.capabilities.meta = options.meta.clone();
        Ok(to_value(self.agent.send_request(hello).block_task().await?)?)
    }

    async fn new_session(&self, cwd: &str) -> Result<String, Error> {
        let request: NewSessionRequest = from_value(json!({"cwd": cwd}))?;
        let answer = self.agent.send_request(request).block_task().await?;
        Ok(answer.session_id.to_string())
    }

    async fn prompt(&self, session: &str, text: &str) -> Result<Value, Error> {
        let content = json!([{"type": "text", "text": text}]);
        let request: PromptRequest = from_value(json!({"sessionId": session, "prompt": content}))?;
        let mut idle = self.idle.clone();
        idle.mark_unchanged();
        self.agent.send_request(request).block_task().await?;
        idle.changed().await.map_err(Error::into_internal_error)?;
        Ok(idle.borrow().clone().unwrap_or_default())
    }
}

fn allow_once(asked: &RequestPermissionRequest) -> RequestPermissionResponse {
    let mut options = asked.options.iter();
    let allowed = options.find(|option| option.kind == PermissionOptionKind::AllowOnce);
    RequestPermissionResponse::new(match allowed {
        Some(option) => {
            let chosen = SelectedPermissionOutcome::new(option.option_id.clone());
            RequestPermissionOutcome::Selected(chosen)
        }
        None => CancelledPermissionOutcome::new().into(),
    })
}

/// Holds the whole conversation with the agent.
pub async fn run(
    agent: AcpAgent,
    options: Arc<Options>,
    waiting: Arc<Mutex<Waiting>>,
) -> Result<(), Error> {
    let reads = options.read;
    let (became_idle, idle) = watch::channel(None);
    Client
        .v2()
        .on_receive_notification(
            async move |told: UpdateSessionNotification, _| {
                let update = json!(told.update);
                if reads {
                    report_read(&update);
                }
                report_update(told.session_id.to_string(), &update);
                if update["sessionUpdate"] == "state_update" && update["state"] == "idle" {
                    became_idle.send_replace(Some(update));
                }
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |asked: RequestPermissionRequest, responder, _| {
                responder.respond(allow_once(&asked))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(agent, async move |agent: ConnectionTo<Agent>| {
            Conversation { agent: Version2 { agent, idle }, options, waiting }.run().await
        })
        .await
}
