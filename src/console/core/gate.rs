//! What every request of the console passes: headers, the session, CSRF, and failures as pages.

use axum::{
    Router,
    extract::{FromRequest as _, Request, State},
    middleware::{self, Next},
    response::{IntoResponse as _, Redirect, Response},
};
use http::{
    HeaderName, HeaderValue, Method, StatusCode,
    header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, SET_COOKIE,
        X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
    },
    request::Parts,
};
use maud::{Markup, html};
use secrecy::SecretString;
use subtle::ConstantTimeEq as _;
use web::http::{BodyOwner, Client, FormBody, OwnError, RequestId};

use crate::{
    failure::Failure,
    in_process::Asker,
    sign_in::{Cookies, SESSION_COOKIE, Session, remember_wanted},
    state::ConsoleState,
    view,
    visitor::{Form, NOTICE_COOKIE, Visitor},
};

/// The policy of every page: nothing but this server's own files, no script in a page, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; font-src 'self'; frame-src 'self'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";
/// The policy of a message in a frame of a page: styles of its own, and nothing else; no script, no form, no origin.
const POLICY_OF_MESSAGES: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
                                  font-src data:; base-uri 'none'; frame-ancestors 'self'";
/// Bytes of a form, files in it included.
const FORM_BYTES_MAX: usize = 8 << 20;
/// The header in which scripts send the CSRF token.
const X_CSRF_TOKEN: &str = "x-csrf-token";
/// The field in which forms send it.
const CSRF_FIELD: &str = "csrf_token";
/// By it, parts of pages are asked for.
const HX_REQUEST: &str = "hx-request";
/// The status by which htmx shows a part and asks for it no more.
const STOP_POLLING: u16 = 286;
const HX_RETARGET: HeaderName = HeaderName::from_static("hx-retarget");
const HX_RESWAP: HeaderName = HeaderName::from_static("hx-reswap");
const HX_RESELECT: HeaderName = HeaderName::from_static("hx-reselect");
const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");
const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");

/// Who learns from which page a person comes: no one. Links that sign in have their secret in the address.
const NO_REFERRER: &str = "no-referrer";
/// This server alone, so that a form whose session has ended leads back to its page.
const OWN_REFERRER: &str = "same-origin";

/// Marks an answer as a message that a page shows in a frame.
#[derive(Debug, Clone, Copy)]
pub struct FramedMessage;

/// Pages that need no session.
pub fn public(routes: Router<ConsoleState>) -> Router<ConsoleState> {
    routes.layer(middleware::from_fn(bare)).layer(middleware::from_fn(headers))
}

/// Pages that need a session.
pub fn signed_in(routes: Router<ConsoleState>, state: &ConsoleState) -> Router<ConsoleState> {
    routes
        .layer(middleware::from_fn_with_state(state.clone(), admit))
        .layer(middleware::from_fn(headers))
        .layer(middleware::from_fn(own_referrer))
}

/// Headers of every answer.
async fn headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response.extensions_mut().insert(OwnError);
    let is_framed = response.extensions().get::<FramedMessage>().is_some();
    let (policy, frames) =
        if is_framed { (POLICY_OF_MESSAGES, "SAMEORIGIN") } else { (POLICY, "DENY") };
    let headers = response.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, policy),
        (REFERRER_POLICY, NO_REFERRER),
        (X_ROBOTS_TAG, "noindex"),
        (X_FRAME_OPTIONS, frames),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (PERMISSIONS_POLICY, "camera=(), geolocation=(), microphone=()"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Pages of people who are signed in name themselves to this server.
async fn own_referrer(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    if response.extensions().get::<FramedMessage>().is_none() {
        response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static(OWN_REFERRER));
    }
    response
}

/// Makes pages of failures, without a navigation.
async fn bare(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    match response.extensions().get::<Failure>() {
        Some(failure) => alone(failure),
        None => response,
    }
}

/// Lets a request of a live session through, a change only with the session's CSRF token.
async fn admit(
    State(state): State<ConsoleState>,
    client: Client,
    request: Request,
    next: Next,
) -> Response {
    let (head, body) = request.into_parts();
    let is_part = head.headers.contains_key(HX_REQUEST);
    let session = match session(&state, &head, client).await {
        Ok(Some(session)) => session,
        Ok(None) => return to_sign_in(&state, &head, is_part),
        Err(failure) if is_part => return beside_failure(&failure),
        Err(failure) => return alone(&failure),
    };
    let visitor = visitor(&state, &head, session);
    let mut request = Request::from_parts(head, body);
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        request.extensions_mut().insert(BodyOwner(visitor.person().tenant.workspace));
        request = match with_form(&state, &visitor, request).await {
            Ok(request) => request,
            Err(failure) => return shown(&visitor, &failure, is_part),
        };
    }
    request.extensions_mut().insert(visitor.clone());
    let form = request.extensions().get::<Form>().cloned();
    let answer = Box::pin(next.run(request));
    let mut response = match form {
        // Scripts give up parts that they need no more, and send pieces of an import again: those are handled each time.
        Some(form) if !is_part => {
            state.sent_forms().answer(visitor.person().session, &form, answer).await
        }
        _ => answer.await,
    };
    if let Some(failure) = response.extensions().get::<Failure>() {
        response = shown(&visitor, failure, is_part);
    }
    if visitor.has_notice() && response.status() == StatusCode::OK && !is_part {
        let forget = crate::sign_in::forget(NOTICE_COOKIE, state.is_secure());
        response.headers_mut().append(SET_COOKIE, forget);
    }
    response
}

async fn session(
    state: &ConsoleState,
    head: &Parts,
    client: Client,
) -> Result<Option<Session>, Failure> {
    let Some(token) = Cookies(&head.headers).get(SESSION_COOKIE) else { return Ok(None) };
    let services = state.services();
    let token = SecretString::from(token);
    let seen = state.seen_sessions();
    if seen.has_ended(&token) {
        return Ok(None);
    }
    if !seen.was_live(&token) {
        state.session_failures().check(client)?;
    }
    let found = Session::find(services.db(), services.clock().now(), &token).await?;
    seen.note(&token, found.is_some());
    if found.is_none() {
        state.session_failures().count(client);
    }
    Ok(found)
}

fn visitor(state: &ConsoleState, head: &Parts, session: Session) -> Visitor {
    let asker = Asker {
        api: state.api().clone(),
        person: std::sync::Arc::clone(&session.person),
        request_id: head.extensions.get::<RequestId>().cloned(),
        user_agent: head.headers.get(http::header::USER_AGENT).cloned(),
    };
    let notice = Cookies(&head.headers).get(NOTICE_COOKIE).filter(|text| !text.is_empty());
    Visitor::new(state, session, asker, notice, head.headers.contains_key(HX_REQUEST))
}

/// Without a session every page leads to the one that signs in, and from there back.
fn to_sign_in(state: &ConsoleState, head: &Parts, is_part: bool) -> Response {
    let mut response = if is_part {
        session_ended(&head.method)
    } else {
        Redirect::to(crate::SIGN_IN).into_response()
    };
    if let Some(cookie) = remember_wanted(head, state.url(), state.is_secure()) {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// A part without a session. What asks again and again does so no more.
fn session_ended(method: &Method) -> Response {
    let text = html! {
        p class="toast" { "The session has ended. " a href=(crate::SIGN_IN) { "Sign in" } " again." }
    };
    let mut response = beside(StatusCode::UNAUTHORIZED, &text);
    if *method == Method::GET {
        *response.status_mut() = StatusCode::from_u16(STOP_POLLING).expect("it has three digits");
    }
    response
}

/// Reads the form of a change and checks its CSRF token. The handler finds the fields as [`Form`].
async fn with_form(
    state: &ConsoleState,
    visitor: &Visitor,
    request: Request,
) -> Result<Request, Failure> {
    let refused = || {
        let text = "The form is not of this session: reload the page and send it again";
        Failure::new(StatusCode::FORBIDDEN, text)
    };
    let sent = request.headers().get(X_CSRF_TOKEN).map(|it| it.as_bytes().to_vec());
    if sent.as_ref().is_some_and(|sent| !is_same(sent, visitor.csrf())) {
        return Err(refused());
    }
    let mut head = Request::new(axum::body::Body::empty());
    *head.method_mut() = request.method().clone();
    *head.uri_mut() = request.uri().clone();
    *head.headers_mut() = request.headers().clone();
    *head.extensions_mut() = request.extensions().clone();
    let FormBody(fields) = FormBody::<FORM_BYTES_MAX>::from_request(request, state)
        .await
        .map_err(|refused| Failure::from(refused.0))?;
    let form = Form::new(fields);
    let field = form.text(CSRF_FIELD);
    if sent.is_none() && !field.is_some_and(|sent| is_same(sent.as_bytes(), visitor.csrf())) {
        return Err(refused());
    }
    head.extensions_mut().insert(form);
    Ok(head)
}

fn is_same(sent: &[u8], own: &str) -> bool {
    sent.ct_eq(own.as_bytes()).into()
}

fn alone(failure: &Failure) -> Response {
    failure.hint(view::bare_page(failure.status, &failure.title(), &failure.content()))
}

/// The page of a failure; beside the page where a part of it was asked for.
fn shown(visitor: &Visitor, failure: &Failure, is_part: bool) -> Response {
    if is_part {
        return beside_failure(failure);
    }
    failure.hint(visitor.page_of_failure(failure))
}

fn beside_failure(failure: &Failure) -> Response {
    failure.hint(beside(failure.status, &html! { p class="toast" { (failure.text()) } }))
}

/// An answer to a request for a part of a page that leaves the page as it is, with all that was typed.
fn beside(status: StatusCode, content: &Markup) -> Response {
    let mut response = view::part(status, content);
    for (name, value) in
        [(HX_RETARGET, "#toasts"), (HX_RESWAP, "innerHTML"), (HX_RESELECT, "unset")]
    {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
