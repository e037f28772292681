//! A campaign's message as it is typed, for one person: the answer goes into the frame of the form.

use axum::{
    extract::Path,
    response::{Html, IntoResponse as _, Response},
};
use futures_util::future;
use http::{Method, StatusCode};
use maud::{DOCTYPE, Markup, html};
use serde_json::{Map, Value, json};

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
                     .subject { font-weight: 600; overflow-wrap: anywhere; } .preheader { color: #595959; font-size: 14px; overflow-wrap: anywhere; } \
                     pre { white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; } \
                     iframe { flex: 1; border: 0; border-top: 1px solid #d0d0d0; }";

/// Shows the message of the form of a campaign.
pub(super) async fn show(visitor: Visitor, Path(id): Path<String>, form: Form) -> Response {
    framed(&visitor, Some(&id), &form).await
}

/// Likewise before the campaign is saved.
pub(super) async fn show_unsaved(visitor: Visitor, form: Form) -> Response {
    framed(&visitor, None, &form).await
}

async fn framed(visitor: &Visitor, id: Option<&str>, form: &Form) -> Response {
    let found = future::join(rendered(visitor, id, form), preheader(visitor, id, form)).await;
    let content = match found {
        (Ok(rendered), preheader) => message(&rendered, preheader.as_deref()),
        (Err(failure), _) => faults(&failure),
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

async fn rendered(visitor: &Visitor, id: Option<&str>, form: &Form) -> PageResult<Rendered> {
    ask(visitor, id, form, variant(form)?).await
}

/// The preview text of an email as it is typed: it is rendered in the place of the subject, since it has no field in a
/// rendered message.
async fn preheader(visitor: &Visitor, id: Option<&str>, form: &Form) -> Option<String> {
    let mut variant = variant(form).ok()?;
    let message = variant.get_mut("message")?.as_object_mut()?;
    let typed = message.get("preheader").filter(|text| !text.is_null())?.clone();
    message.insert("subject".to_owned(), typed);
    let rendered = ask(visitor, id, form, variant).await.ok()?;
    rendered.message.get("subject").and_then(Value::as_str).map(str::to_owned)
}

fn person(form: &Form) -> PageResult<&str> {
    form.filled(PERSON).ok_or_else(|| {
        Failure::new(StatusCode::BAD_REQUEST, "Type the id of a person to see the message")
    })
}

fn variant(form: &Form) -> PageResult<Map<String, Value>> {
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
    Ok(variant)
}

async fn ask(
    visitor: &Visitor,
    id: Option<&str>,
    form: &Form,
    variant: Map<String, Value>,
) -> PageResult<Rendered> {
    let person = person(form)?;
    let Some(id) = id else { return ask_unsaved(visitor, form, person, variant).await };
    let body = json!({"userId": person, "variant": variant});
    let call = visitor.call(Method::POST, path(["campaigns", id, "preview"]));
    call.json(&body)?.read().await
}

/// Fields of a campaign that its message depends on, beside its variant.
const SURROUNDINGS: [&str; 4] =
    ["channel", "subscriptionCategoryId", "utmSettings", "channelConfig"];

async fn ask_unsaved(
    visitor: &Visitor,
    form: &Form,
    person: &str,
    mut variant: Map<String, Value>,
) -> PageResult<Rendered> {
    let of_fields =
        |errors| Failure { errors, ..Failure::new(StatusCode::BAD_REQUEST, "Bad Request") };
    let draft = Draft::of_form(form);
    let mut campaign = draft.body().map_err(of_fields)?;
    campaign.retain(|name, _| SURROUNDINGS.contains(&name.as_str()));
    // Alone, it has all of the weight.
    variant.insert("weight".to_owned(), json!(100));
    campaign.insert("variants".to_owned(), json!([variant]));
    let body = json!({"userId": person, "campaign": campaign});
    let call = visitor.call(Method::POST, "/campaigns/preview-message").json(&body)?;
    call.read().await.map_err(|failure| {
        let errors = failure.errors.iter().map(|error| {
            let error = error.strip_prefix("campaign.").unwrap_or(error);
            error.replacen("variants[0]", "variant", 1)
        });
        Failure { errors: errors.collect(), ..failure }
    })
}

/// What an inbox or a phone shows of a message: an email as subject, preview text and HTML, others field by field.
fn message(rendered: &Rendered, preheader: Option<&str>) -> Markup {
    let text = |name: &str| rendered.message.get(name).and_then(Value::as_str);
    if let Some(html) = text("html").filter(|_| rendered.channel == "email") {
        return html! {
            header {
                p class="subject" dir="auto" { (text("subject").unwrap_or_default()) }
                @if let Some(preheader) = preheader { p class="preheader" dir="auto" { (preheader) } }
            }
            iframe sandbox="" srcdoc=(html) title="The message as it looks" {}
        };
    }
    let html = text("html");
    let is_shown = |name: &str| !matches!(name, "html" | "headers");
    let fields = rendered.message.iter().filter(|(name, value)| is_shown(name) && !value.is_null());
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
