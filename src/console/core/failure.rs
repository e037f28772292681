//! Why a page, or a part of it, cannot be shown.

use std::time::Duration;

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{StatusCode, header::RETRY_AFTER};
use kernel::Error;
use maud::{Markup, html};
use serde::Deserialize;
use web::http::OwnError;

use crate::view::{self, Fault};

/// The beginning of the API's text for a missing scope; the scope follows.
const MISSING_SCOPE: &str = "Missing required scope: ";
/// The API's text without PostgreSQL.
const NO_POSTGRES: &str = "The control-plane store is unavailable";
/// The API's text without ClickHouse.
const NO_CLICKHOUSE: &str = "The analytics store is unavailable";

/// A refusal or a failure, of the API or of the console itself.
#[derive(Debug, Clone)]
pub struct Failure {
    pub status: StatusCode,
    /// The API's own text.
    pub message: String,
    /// One text for each field that broke a rule; each begins with the field's path.
    pub errors: Vec<String>,
    /// When it may be tried again, where that is known.
    pub retry_after: Option<Duration>,
}

/// A field of a form that shows the faults of a path of the API.
#[derive(Debug, Clone, Copy)]
pub struct ShownAt<'s> {
    /// The path in the API, or the one that it is inside of; `[]` is any index.
    pub path: &'s str,
    /// The id of the field.
    pub field: &'s str,
    pub label: &'s str,
}

/// The faults in a list of the API's errors at the fields that show them, each once, and the errors that no field shows.
pub fn at_fields(errors: &[String], fields: &[ShownAt<'_>]) -> (Vec<Fault>, Vec<String>) {
    let (mut found, mut others): (Vec<Fault>, Vec<String>) = (Vec::new(), Vec::new());
    for error in errors {
        let (path, problem) = error.split_once(' ').unwrap_or((error, ""));
        let path = without_indices(path);
        let is_inside = |it: &&ShownAt<'_>| {
            let rest = path.strip_prefix(it.path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let Some(shown) = fields.iter().find(is_inside) else {
            others.push(error.clone());
            continue;
        };
        let (field, label) = (shown.field.to_owned(), shown.label.to_owned());
        let fault = Fault { field, label, problem: problem.to_owned() };
        if !found.contains(&fault) {
            found.push(fault);
        }
    }
    (found, others)
}

/// A path with `[]` for each index.
fn without_indices(path: &str) -> String {
    let mut is_index = false;
    let kept = path.chars().filter(|letter| {
        is_index = match letter {
            '[' => true,
            ']' => false,
            _ => is_index,
        };
        !is_index || *letter == '['
    });
    kept.collect()
}

/// The result of what may fail for a page.
pub type PageResult<T> = Result<T, Failure>;

/// The API's body of errors.
#[derive(Deserialize)]
struct ErrorBody {
    message: String,
    #[serde(default)]
    errors: Vec<String>,
}

impl Failure {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), errors: Vec::new(), retry_after: None }
    }

    /// There is nothing at this address.
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not Found")
    }

    /// The page needs a scope that the session lacks.
    pub fn missing_scope(scope: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, format!("{MISSING_SCOPE}{scope}"))
    }

    /// A failure that is the server's own, with its cause in the log.
    pub fn internal(cause: &dyn std::fmt::Display) -> Self {
        tracing::error!(error = %cause, "a page of the console failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error")
    }

    /// Says in the answer when it may be tried again.
    pub fn hint(&self, mut response: Response) -> Response {
        if let Some(wait) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, wait.as_secs().max(1).into());
        }
        response
    }

    /// The refusal that an answer of the API is.
    pub fn of_answer(status: StatusCode, body: &[u8]) -> Self {
        match serde_json::from_slice::<ErrorBody>(body) {
            Ok(ErrorBody { message, errors }) => Self { errors, ..Self::new(status, message) },
            Err(_) => {
                Self::new(status, status.canonical_reason().unwrap_or("The API did not answer"))
            }
        }
    }

    /// The text for people, in one sentence.
    pub fn text(&self) -> String {
        match self.message.as_str() {
            NO_POSTGRES => "PostgreSQL is unavailable".to_owned(),
            NO_CLICKHOUSE => "ClickHouse is unavailable".to_owned(),
            _ => self.message.clone(),
        }
    }

    /// The scope that was missing, if that is the reason.
    pub fn scope(&self) -> Option<&str> {
        let scope = self.message.strip_prefix(MISSING_SCOPE)?;
        scope.split(' ').next()
    }

    pub fn is_not_found(&self) -> bool {
        self.status == StatusCode::NOT_FOUND
    }

    /// Whether a form that was refused is shown again, with all that was typed and this failure above it. It is not where
    /// what it changes is not there.
    pub fn keeps_form(&self) -> bool {
        !self.is_not_found()
    }

    /// Whether fields broke rules.
    pub fn is_of_fields(&self) -> bool {
        matches!(self.status, StatusCode::BAD_REQUEST | StatusCode::CONFLICT)
    }

    /// The problem of a field, without its path; of fields inside of it as well.
    pub fn at(&self, field: &str) -> Option<String> {
        self.errors.iter().find_map(|error| {
            let rest = error.strip_prefix(field)?;
            let inner = rest.starts_with(['.', '[']);
            if inner { Some(error.clone()) } else { rest.strip_prefix(' ').map(str::to_owned) }
        })
    }

    /// What belongs to none of these fields.
    pub fn elsewhere(&self, fields: &[&str]) -> Option<String> {
        let is_shown = |error: &&String| {
            fields.iter().any(|field| {
                let rest = error.strip_prefix(*field);
                rest.is_some_and(|rest| rest.starts_with([' ', '.', '[']))
            })
        };
        let others: Vec<&str> =
            self.errors.iter().filter(|it| !is_shown(it)).map(String::as_str).collect();
        if self.errors.is_empty() {
            Some(self.text())
        } else {
            (!others.is_empty()).then(|| others.join("; "))
        }
    }

    /// The failure in place of a part of a page.
    pub fn card(&self, title: &str) -> Markup {
        view::card(
            title,
            &html! {
                (view::alert(&self.text()))
                @if self.status == StatusCode::SERVICE_UNAVAILABLE {
                    p class="quiet" { "Reload the page in a moment." }
                }
            },
        )
    }

    /// The whole page's content for this failure.
    pub fn content(&self) -> Markup {
        html! {
            h1 { (self.title()) }
            p { (self.explanation()) }
            @if !self.errors.is_empty() {
                ul { @for error in &self.errors { li { (error) } } }
            }
            p { a href=(crate::HOME) { "Home" } }
        }
    }

    /// The title of the page for this failure.
    pub fn title(&self) -> String {
        match self.status {
            StatusCode::FORBIDDEN => "Not allowed".to_owned(),
            StatusCode::NOT_FOUND => "Not found".to_owned(),
            StatusCode::SERVICE_UNAVAILABLE => self.text(),
            StatusCode::TOO_MANY_REQUESTS => "Too many requests".to_owned(),
            status if status.is_server_error() => "Something failed".to_owned(),
            _ => "That did not work".to_owned(),
        }
    }

    fn explanation(&self) -> String {
        match (self.scope(), self.status) {
            (Some(scope), _) => format!(
                "This session does not have the scope {scope}. Sign in by a link that has it: \
                 millrace console link --workspace NAME --scopes …"
            ),
            (None, StatusCode::NOT_FOUND) => {
                "There is nothing at this address, or it is in another workspace.".to_owned()
            }
            (None, StatusCode::SERVICE_UNAVAILABLE) => {
                "What has been acknowledged is safe. Reload the page in a moment.".to_owned()
            }
            (None, StatusCode::INTERNAL_SERVER_ERROR) => {
                "The cause is in the log of the server.".to_owned()
            }
            _ => self.text(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::Store(_) | Error::Unavailable { .. } if error.is_unavailable() => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Error::Throttled { .. } | Error::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
            Error::NotFound(_) | Error::RouteNotFound => StatusCode::NOT_FOUND,
            Error::Forbidden { .. } | Error::Denied(_) => StatusCode::FORBIDDEN,
            Error::Unauthenticated(_) => StatusCode::UNAUTHORIZED,
            Error::Store(_) | Error::Internal(_) | Error::Unavailable { .. } => {
                return Self::internal(&error);
            }
            _ => StatusCode::BAD_REQUEST,
        };
        Self { retry_after: error.retry_after(), ..Self::new(status, error.message()) }
    }
}

/// Why a page is shown again.
#[derive(Debug, Clone, Copy)]
pub enum Refused<'r> {
    /// Its form was refused, which it has as it was typed.
    Form(&'r Failure),
    /// A change of what it shows was refused.
    Change(&'r Failure),
}

impl<'r> Refused<'r> {
    pub const fn failure(self) -> &'r Failure {
        let (Self::Form(failure) | Self::Change(failure)) = self;
        failure
    }

    /// The failure to show at the form.
    pub const fn at_form(self) -> Option<&'r Failure> {
        match self {
            Self::Form(failure) => Some(failure),
            Self::Change(_) => None,
        }
    }

    /// What stands above that which the page shows.
    pub fn above(self) -> Markup {
        match self {
            Self::Form(_) => html! {},
            Self::Change(failure) => view::alert(&failure.elsewhere(&[]).unwrap_or_default()),
        }
    }
}

/// The gate makes the page of it, with the navigation around it.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        response.extensions_mut().insert(OwnError);
        response.extensions_mut().insert(self);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(errors: &[&str]) -> Failure {
        let errors = errors.iter().map(|it| (*it).to_owned()).collect();
        Failure { errors, ..Failure::new(StatusCode::BAD_REQUEST, "Bad Request") }
    }

    #[test]
    fn problems_are_found_at_their_fields() {
        let failure = of(&["name is required", "targeting.groups[0] is empty", "tags[1] is long"]);
        assert_eq!(failure.at("name").as_deref(), Some("is required"));
        assert_eq!(failure.at("tags").as_deref(), Some("tags[1] is long"));
        assert_eq!(failure.at("nam"), None);
        let rest = failure.elsewhere(&["name", "tags"]);
        assert_eq!(rest.as_deref(), Some("targeting.groups[0] is empty"));
        assert_eq!(failure.elsewhere(&["name", "tags", "targeting"]), None);
    }

    #[test]
    fn errors_stand_at_the_fields_that_show_them_each_once() {
        let fields = [
            ShownAt { path: "series[].field", field: "field", label: "Of the property" },
            ShownAt { path: "steps[].filters", field: "fp-0", label: "Filters" },
        ];
        let errors = [
            "series[0].field is required",
            "series[12].field is required",
            "steps[1].filters[0].value is too long",
            "steps[1].filtersets is unknown",
        ]
        .map(str::to_owned);
        let (found, others) = at_fields(&errors, &fields);
        let found: Vec<_> = found.iter().map(|it| [&*it.field, &*it.problem]).collect();
        assert_eq!(found, [["field", "is required"], ["fp-0", "is too long"]]);
        assert_eq!(others, ["steps[1].filtersets is unknown"]);
    }

    #[test]
    fn the_stores_are_named_as_people_know_them() {
        let body = br#"{"statusCode":503,"message":"The analytics store is unavailable"}"#;
        let failure = Failure::of_answer(StatusCode::SERVICE_UNAVAILABLE, body);
        assert_eq!(failure.text(), "ClickHouse is unavailable");
        assert_eq!(Failure::from(Error::store_unavailable()).text(), "PostgreSQL is unavailable");
    }

    #[test]
    fn a_form_is_shown_again_unless_there_is_nothing_to_change() {
        for (status, keeps_form) in
            [(400, true), (403, true), (409, true), (412, true), (413, true), (429, true)]
                .into_iter()
                .chain([(500, true), (502, true), (503, true), (404, false)])
        {
            let failure = Failure::new(StatusCode::from_u16(status).unwrap(), "x");
            assert_eq!(failure.keeps_form(), keeps_form, "{status}");
        }
    }

    #[test]
    fn a_missing_scope_is_named() {
        let failure = Failure::missing_scope("users:read");
        assert_eq!(failure.scope(), Some("users:read"));
        let by_channel = "Missing required scope: sms_suppression:read (channel sms)";
        let failure = Failure::new(StatusCode::FORBIDDEN, by_channel);
        assert_eq!(failure.scope(), Some("sms_suppression:read"));
    }
}
