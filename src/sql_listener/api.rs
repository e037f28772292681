//! The two paths of ClickHouse's interface.

use std::time::Duration;

use axum::{
    body::Body,
    extract::{FromRequest as _, Request, State},
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderValue, Method, StatusCode,
    header::{ALLOW, CONTENT_TYPE},
};
use tokio::time::timeout;
use web::{
    auth::{Caller, scope},
    http::{ApiError, OwnError, RawBytes, health::Store},
};

use crate::{
    SqlState,
    answer::{self, Wanted},
    engine::{self, Question, Session, Step},
    fault::{Code, Fault},
    request::{self, Asked},
    running::{About, Outcome, Running},
    settings::STATEMENT_BYTES_MAX,
    statement::{self, Reach, Setting, Statement},
};

const METHODS: &str = "GET, HEAD, POST, OPTIONS";
/// The format of answers where neither the statement nor the client names one, as in ClickHouse.
const FORMAT_DEFAULT: &str = "TabSeparated";
/// What is added to the time of a statement before it is given up.
const GRACE: Duration = Duration::from_secs(10);

/// `GET /ping`: whether the listener answers at all.
pub(crate) async fn ping() -> Response {
    plain(StatusCode::OK, "Ok.\n")
}

/// Any path that is not of the interface.
pub(crate) async fn unknown() -> Response {
    plain(StatusCode::NOT_FOUND, "There is no handle for this path; use /ping or /\n")
}

fn plain(status: StatusCode, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let form = HeaderValue::from_static("text/html; charset=UTF-8");
    response.headers_mut().insert(CONTENT_TYPE, form);
    response.extensions_mut().insert(OwnError);
    response
}

/// A statement of a caller, from its credential to its answer.
pub(crate) async fn statement(State(state): State<SqlState>, request: Request) -> Response {
    let method = request.method().clone();
    if !matches!(method, Method::GET | Method::HEAD | Method::POST) {
        let is_asked = method == Method::OPTIONS;
        let status = if is_asked { StatusCode::NO_CONTENT } else { StatusCode::METHOD_NOT_ALLOWED };
        let mut response = plain(status, if is_asked { "" } else { "Use GET, HEAD or POST\n" });
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(METHODS));
        return response;
    }
    answered(&state, request).await.unwrap_or_else(|fault| {
        metrics_catalogue::SQL_REFUSED.with([fault.code.reason()]).increment(1);
        fault.into_response()
    })
}

async fn answered(state: &SqlState, request: Request) -> Result<Response, Fault> {
    let (mut head, body) = request.into_parts();
    // Nothing else is looked at before the credential.
    let caller = if let Some(person) = Caller::<scope::AnalyticsSql>::signed_in(&mut head)? {
        person
    } else {
        let password = request::password(&head)?;
        Caller::with_key(&password, &mut head, &state.0.services).await?
    };
    let mut asked = Asked::of_head(&head)?;
    if !matches!(head.method, Method::GET | Method::HEAD) {
        let request = Request::from_parts(head.clone(), body);
        let read = RawBytes::<STATEMENT_BYTES_MAX>::from_request(request, &state.0.services).await;
        let body = read.map_err(|ApiError(error)| match error {
            kernel::Error::TooLarge { .. } => request::too_large(),
            other => other.into(),
        })?;
        asked.add_body(&head, body.bytes).await?;
    }
    let ready = state.0.setup.ready()?;
    // A statement that cannot be answered is not kept until its time is over.
    if !state.0.services.readiness().is_up(Store::Clickhouse) {
        return Err(Fault::new(Code::NetworkError, "ClickHouse is unavailable"));
    }
    if asked.statement.trim().is_empty() {
        return Ok(plain(StatusCode::OK, "Ok.\n"));
    }
    let reach = Reach { databases: &state.0.databases, denied: &ready.denied };
    let params = std::mem::take(&mut asked.params);
    let statement = Statement::read(&asked.statement, params, reach)?;
    let settings = settings(state, &asked.settings, &statement.settings)?;
    let place = state.0.slots.take(caller.key(), caller.workspace()).await?;
    let session = Session::new(caller.workspace());
    let about =
        About { key: caller.key(), kind: statement.kind, fingerprint: statement.fingerprint };
    let running = Running::new(state.0.services.analytics().clone(), session, about, place);
    let ran = run(state, Prepared { asked, statement, settings, session, reach }, running);
    timeout(state.0.time_max + GRACE, ran)
        .await
        .map_err(|_| Fault::new(Code::Timeout, "Timeout exceeded"))?
}

/// What is asked of the engine.
struct Prepared<'a> {
    asked: Asked,
    statement: Statement,
    settings: Vec<Setting>,
    session: Session,
    reach: Reach<'a>,
}

async fn run(state: &SqlState, ask: Prepared<'_>, mut running: Running) -> Result<Response, Fault> {
    let Prepared { asked, statement, settings, session, reach } = ask;
    let own_id = session.statement.to_string();
    let query_id = asked.query_id.as_deref().unwrap_or(&own_id);
    let wanted = Wanted {
        query_id,
        encoding: asked.accepted.filter(|_| asked.may_compress && !asked.blocks),
        whole: asked.wait_end_of_query,
        databases: reach.databases,
        pace: state.0.pace,
    };
    let question = Question {
        session,
        step: Step::Answer,
        database: &statement.database,
        text: statement.text.clone(),
        format: "TSVRaw",
        params: &statement.params,
        settings: &settings,
        blocks: false,
    };
    if let Some(tree) = &statement.tree {
        let text = format!("EXPLAIN AST {}", statement.text);
        // Its lines are no rows of the answer.
        let settings = state.0.bounds.of_trees();
        let step = Step::Tree;
        let asked = Question { step, text, settings: &settings, ..question_of(&question) };
        let answer = state.0.engine.ask(asked).await?;
        if !answer.status().is_success() {
            return answer::of_engine(answer, wanted, running).await;
        }
        let checked = tree.check(&engine::text_of(answer).await?, reach.denied);
        if let Err(fault) = checked {
            running.end(Outcome::Failed);
            return Err(fault);
        }
    }
    let named = statement.format.as_deref().or(asked.default_format.as_deref());
    let format = named.unwrap_or(FORMAT_DEFAULT);
    statement::check_format(format)?;
    let is_negotiated = statement.asks_for_version && format == "Native";
    let version = asked.protocol_version;
    if is_negotiated && version > 0 && !asked.blocks {
        let answer = state.0.engine.ask(Question { format, ..question }).await?;
        return answer::of_version(answer, wanted, version, running).await;
    }
    let answer = state.0.engine.ask(Question { format, blocks: asked.blocks, ..question }).await?;
    answer::of_engine(answer, wanted, running).await
}

/// The same question, to be asked of another text.
fn question_of<'a>(question: &Question<'a>) -> Question<'a> {
    Question { text: String::new(), ..*question }
}

/// The settings of a statement: the limits, then what the request and the statement change within them.
fn settings(
    state: &SqlState,
    of_request: &[Setting],
    of_statement: &[Setting],
) -> Result<Vec<Setting>, Fault> {
    let mut settings: Vec<Setting> = Vec::new();
    for setting in of_request.iter().chain(of_statement) {
        if setting.name == "readonly" && matches!(setting.value.as_str(), "1" | "2") {
            continue;
        }
        state.0.bounds.check(setting)?;
        settings.retain(|earlier| earlier.name != setting.name);
        settings.push(setting.clone());
    }
    let mut always = state.0.bounds.of_every_statement(state.0.is_embedded);
    // Where rows may repeat others, they are put together as they are read.
    let merges = !state.0.services.analytics().is_stored_once();
    always.push(("final", u8::from(merges).to_string()));
    for (name, value) in always {
        if !settings.iter().any(|changed| changed.name == name) {
            settings.push(Setting { name: name.to_owned(), value });
        }
    }
    Ok(settings)
}
