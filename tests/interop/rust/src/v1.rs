//! The client in version 1 of the protocol.

use crate::options::Options;
use crate::session::{Conversation, Dialect, Waiting, report_read, report_update};
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ClientCapabilities, ContentBlock, Implementation, InitializeRequest, NewSessionRequest,
    PermissionOptionKind, PromptRequest, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SelectedPermissionOutcome, SessionId, SessionNotification,
    TextContent,
};
use agent_client_protocol::{AcpAgent, Agent, Client, Error, Handled, UntypedMessage};
use serde_json::{Value, json, to_value};
use std::sync::{Arc, Mutex};

struct Version1 {
    agent: ConnectionTo<Agent>,
    reads: bool,
}

impl Dialect for Version1 {
    async fn initialize(&self, options: &Options) -> Result<Value, Error> {
        let hello = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::new().meta(options.meta.clone()))
            .client_info(Implementation::new(options.name.clone(), "1.0.0"));
        Ok(to_value(self.agent.send_request(hello).block_task().await?)?)
    }

    async fn new_session(&self, cwd: &str) -> Result<String, Error> {
        let answer = self.agent.send_request(NewSessionRequest::new(cwd)).block_task().await?;
        Ok(answer.session_id.to_string())
    }

    /// A client that reads errors takes the answer untyped: the SDK's type has no word for the stop
    /// reason of a turn that failed, and makes a parse error of the answer.
    async fn prompt(&self, session: &str, text: &str) -> Result<Value, Error> {
        let content = vec![ContentBlock::Text(TextContent::new(text))];
        let request = PromptRequest::new(SessionId::new(session), content);
        if self.reads {
            let raw = UntypedMessage::new("session/prompt", request)?;
            return self.agent.send_request(raw).block_task().await;
        }
        Ok(to_value(self.agent.send_request(request).block_task().await?)?)
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
        None => RequestPermissionOutcome::Cancelled,
    })
}

/// Holds the whole conversation with the agent.
pub async fn run(
    agent: AcpAgent,
    options: Arc<Options>,
    waiting: Arc<Mutex<Waiting>>,
) -> Result<(), Error> {
    let reads = options.read;
    Client
        .v1()
        .on_receive_notification(
            // Untyped, before the typed one, and passed on: at a kind that the SDK has no type for
            // the typed one is not called at all.
            async move |raw: UntypedMessage, connection| {
                if reads && raw.method == "session/update" {
                    report_read(&raw.params);
                }
                Ok(Handled::No { message: (raw, connection), retry: false })
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_notification(
            async move |told: SessionNotification, _| {
                report_update(told.session_id.to_string(), &json!(told.update));
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
            Conversation { agent: Version1 { agent, reads }, options, waiting }.run().await
        })
        .await
}
