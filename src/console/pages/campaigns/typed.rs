//! A campaign's message as it is typed, for one person: the answer goes into the frame of the form.

use axum::{
    extract::Path,
    response::{Html, IntoResponse as _, Response},
};
use http::{Method, StatusCode};
use maud::{DOCTYPE, Markup, html};
use serde_json::{Value, json};

use super::{
    draft::Draft,
    trial::{Rendered, field_text},
};
use crate::{
    failure::{Failure, PageResult},
    gate::FramedMessage,
    in_process::path,
    view,
    visitor::{Form, Visitor},
};

/// Fields of the form with the person, the variant and the width of the preview.
pub(super) const PERSON: &str = "preview.person";
pub(super) const VARIANT: &str = "preview.variant";
pub(super) const DEVICE: &str = "preview.device";
/// The name of the frame.
pub(super) const FRAME: &str = "typed-message";

/// The document of the frame has its own style: it is not of the console's pages.
const STYLE: &str = "body { display: flex; flex-direction: column; gap: 12px; margin: 0; padding: 12px; min-height: 100vh; \
                     box-sizing: border-box; font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #ffffff; } \
                     dl, p, pre { margin: 0; } dt { color: #595959; font-size: 14px; } dd { margin: 0 0 8px; overflow-wrap: anywhere; } \
                     pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; } \
                     iframe { flex: 1; border: 0; border-top: 1px solid #d0d0d0; }";

/// Shows the message of a form that is not saved.
pub(super) async fn show(visitor: Visitor, Path(id): Path<String>, form: Form) -> Response {
    let content = match rendered(&visitor, &id, &form).await {
        Ok(rendered) => message(&rendered),
        Err(failure) => faults(&failure),
    };
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "The message as it is typed" }
                style { (STYLE) }
            }
            body { (content) }
        }
    };
    let mut response = Html(document.into_string()).into_response();
    response.extensions_mut().insert(FramedMessage);
    response
}

async fn rendered(visitor: &Visitor, id: &str, form: &Form) -> PageResult<Rendered> {
    let person = form.filled(PERSON).ok_or_else(|| {
        Failure::new(StatusCode::BAD_REQUEST, "Type the id of a person to see the message")
    })?;
    let at = form.filled(VARIANT).and_then(|at| at.parse().ok()).unwrap_or(0);
    let mut variant = Draft::of_form(form).variant(at).map_err(|errors| Failure {
        errors,
        ..Failure::new(StatusCode::BAD_REQUEST, "Bad Request")
    })?;
    // The message does not depend on them, and they may be missing while one types.
    for (name, value) in
        [("name", json!("Preview")), ("weight", json!(0)), ("isControlGroup", Value::Null)]
    {
        variant.insert(name.to_owned(), value);
    }
    let body = json!({"userId": person, "variant": variant});
    let call = visitor.call(Method::POST, path(["campaigns", id, "preview"]));
    call.json(&body)?.read().await
}

fn message(rendered: &Rendered) -> Markup {
    let is_html = |name: &str| name == "html";
    let fields = rendered.message.iter().filter(|(name, value)| !is_html(name) && !value.is_null());
    let html = rendered.message.get("html").and_then(Value::as_str);
    html! {
        p { "By " (view::channel_label(&rendered.channel)) }
        dl {
            @for (name, value) in fields { dt { (name) } dd { pre dir="auto" { (field_text(value)) } } }
        }
        @if let Some(html) = html { iframe sandbox="" srcdoc=(html) title="The message as it looks" {} }
    }
}

fn faults(failure: &Failure) -> Markup {
    html! {
        @if failure.errors.is_empty() { p role="alert" { (failure.text()) } }
        ul { @for error in &failure.errors { li { (error) } } }
    }
}
