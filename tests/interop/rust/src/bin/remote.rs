//! A client on the Rust SDK and its HTTP companion that comes to a gateway by URL.
//!
//! Owns what `remote/client_ts.mjs` owns: one session and its turns, a second connection after the
//! first was cut in mid-turn, with one JSON line on stdout for each thing that the SDK delivered.
//!
//!     remote ws|http URL TOKEN CWD one|all

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ContentBlock, Implementation, InitializeRequest, LoadSessionRequest, NewSessionRequest,
    PromptRequest, RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    SelectedPermissionOutcome, SessionId, SessionNotification, TextContent,
};
use agent_client_protocol::{Agent, Client, Error};
use agent_client_protocol_http::HttpClient;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::{Value, json};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

const LAST_WORDS: &str = " The other half.";
const LOST: Duration = Duration::from_secs(10);

fn report(event: &str, told: Value) {
    let mut line = json!({"event": event});
    for (key, value) in told.as_object().into_iter().flatten() {
        line[key] = value.clone();
    }
    let mut out = std::io::stdout().lock();
    // A reader that has gone away ends the run by its own means.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// What both connections share.
struct Place {
    url: String,
    token: String,
    cwd: String,
    questions: AtomicUsize,
    ended: Notify,
}

impl Place {
    fn transport(&self) -> Result<HttpClient, Error> {
        let bearer = HeaderValue::from_str(&format!("Bearer {}", self.token));
        let headers =
            HeaderMap::from_iter([(AUTHORIZATION, bearer.map_err(Error::into_internal_error)?)]);
        HttpClient::builder(&self.url)
            .configure_http(|http| http.default_headers(headers).no_proxy())
            .build()
            .map_err(Error::into_internal_error)
    }

    fn note(&self, name: &str, update: &Value) {
        report("update", json!({"name": name, "update": update}));
        if name == "second" && update["content"]["text"] == LAST_WORDS {
            self.ended.notify_one();
        }
    }
}

fn first_option(asked: &RequestPermissionRequest) -> RequestPermissionResponse {
    let chosen = SelectedPermissionOutcome::new(asked.options[0].option_id.clone());
    RequestPermissionResponse::new(RequestPermissionOutcome::Selected(chosen))
}

/// Holds a conversation over a connection of its own.
async fn connected<T>(
    place: Arc<Place>,
    name: &'static str,
    talk: impl AsyncFnOnce(ConnectionTo<Agent>) -> Result<T, Error>,
) -> Result<T, Error> {
    let (noting, asking) = (place.clone(), place.clone());
    Client
        .v1()
        .on_receive_notification(
            async move |told: SessionNotification, _| {
                noting.note(name, &json!(told.update));
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |asked: RequestPermissionRequest, responder, _| {
                report("permission", json!({"name": name, "title": asked.tool_call.fields.title}));
                if asking.questions.fetch_add(1, Ordering::SeqCst) == 1 {
                    // It is open while the link is cut; dropped, the SDK would answer it.
                    std::mem::forget(responder);
                    return Ok(());
                }
                responder.respond(first_option(&asked))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(place.transport()?, async move |agent: ConnectionTo<Agent>| {
            let hello = InitializeRequest::new(ProtocolVersion::V1)
                .client_info(Implementation::new(name, "1.0.0"));
            let result = agent.send_request(hello).block_task().await?;
            report("initialized", json!({"name": name, "result": result}));
            talk(agent).await
        })
        .await
}

/// One prompt, and how it ended.
async fn turn(agent: &ConnectionTo<Agent>, session: &SessionId, n: usize) {
    let content = vec![ContentBlock::Text(TextContent::new(format!("Prompt {n}")))];
    let asked = agent.send_request(PromptRequest::new(session.clone(), content)).block_task();
    let limit = if n == 2 { LOST } else { Duration::MAX };
    match timeout(limit, asked).await {
        Ok(Ok(result)) => report("answer", json!({"n": n, "result": result})),
        Ok(Err(error)) => report_refused(n, &error),
        Err(_) => report("hang", json!({"n": n})),
    }
}

fn report_refused(n: usize, error: &Error) {
    let code = i32::from(error.code);
    let told = json!({"n": n, "code": code, "message": error.message, "data": error.data});
    report("refused", told);
}

async fn converse(place: Arc<Place>, all: bool) -> Result<(), Error> {
    let cwd = place.cwd.clone();
    // The session's id outlives the connection, which the SDK ends with an error when it is cut.
    let session = Arc::new(std::sync::OnceLock::new());
    let opened = session.clone();
    let first = connected(place.clone(), "first", async move |agent| {
        let answer = agent.send_request(NewSessionRequest::new(cwd)).block_task().await?;
        report("session", json!({"sessionId": answer.session_id}));
        let id = opened.get_or_init(|| answer.session_id);
        turn(&agent, id, 1).await;
        if all {
            turn(&agent, id, 2).await;
        }
        Ok(())
    });
    let lost = first.await;
    let Some(session) = session.get().cloned().filter(|_| all) else { return lost };
    if let Err(error) = lost {
        report("closed", json!({"message": error.to_string()}));
    }
    let ended = place.clone();
    connected(place.clone(), "second", async move |agent| {
        let loading = LoadSessionRequest::new(session.clone(), &ended.cwd);
        let result = agent.send_request(loading).block_task().await?;
        report("loaded", json!({"result": result}));
        ended.ended.notified().await;
        turn(&agent, &session, 3).await;
        Ok(())
    })
    .await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [_, url, token, cwd, scenes] = &words[..] else {
        return Err(Error::invalid_params().data("remote ws|http URL TOKEN CWD one|all"));
    };
    let place = Place {
        url: url.clone(),
        token: token.clone(),
        cwd: cwd.clone(),
        questions: AtomicUsize::new(0),
        ended: Notify::new(),
    };
    converse(Arc::new(place), scenes == "all").await
}
