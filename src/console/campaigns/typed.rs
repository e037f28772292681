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
    values::Readable,
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
                     dl, p, pre { margin: 0; } dt { color: #595959; font-size: 14px; } dd { margin: 0 0 8px; overflow-wrap: anywhere; } .fault { color: #b3261e; } \
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
    let typed = Typed::of(form, id);
    let found = future::join(rendered(visitor, &typed), preheader(visitor, &typed)).await;
    let content = match found {
        (Ok(rendered), preheader) => message(&rendered, preheader.as_deref(), &typed.unreadable),
        (Err(failure), _) => faults(&failure, &typed.unreadable),
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

/// A field whose JSON cannot be read. The message is shown without it.
#[derive(Debug, PartialEq, Eq)]
struct Unreadable {
    /// Its path within the variant, or the name of the setting.
    path: String,
    problem: String,
}

impl Unreadable {
    /// From an error in the words of the API.
    fn of(error: &str) -> Self {
        let (name, problem) = error.split_once(' ').unwrap_or((error, ""));
        let path = name.split_once("].").map_or(name, |(_, path)| path);
        Self { path: path.to_owned(), problem: problem.to_owned() }
    }

    /// Its name among the fields of a message.
    fn label(&self) -> &str {
        self.path.strip_prefix("message.").unwrap_or(&self.path)
    }

    /// Whether an error of the API is of this field, which was not sent.
    fn explains(&self, error: &str) -> bool {
        let rest = error.strip_prefix("variant.").and_then(|it| it.strip_prefix(&*self.path));
        rest.is_some_and(|rest| rest.starts_with([' ', '.', '[']))
    }
}

/// The form, as far as the message depends on it.
struct Typed<'f> {
    person: Option<&'f str>,
    /// The id of the campaign; none before it is saved.
    id: Option<&'f str>,
    variant: Map<String, Value>,
    /// The settings around the variant; of a saved campaign they are those that are saved.
    surroundings: Map<String, Value>,
    unreadable: Vec<Unreadable>,
}

impl<'f> Typed<'f> {
    fn of(form: &'f Form, id: Option<&'f str>) -> Self {
        let draft = Draft::of_form(form);
        let at = form.filled(VARIANT).and_then(|at| at.parse().ok()).unwrap_or(0);
        let Readable { fields: mut variant, errors } = draft.variant(at);
        // The message does not depend on them, and they may be missing while one types.
        for (name, value) in
            [("name", json!("Preview")), ("weight", json!(0)), ("isControlGroup", Value::Null)]
        {
            variant.insert(name.to_owned(), value);
        }
        let around = if id.is_none() { draft.settings(&SURROUNDINGS) } else { Readable::default() };
        let unreadable = errors.iter().chain(&around.errors).map(|it| Unreadable::of(it)).collect();
        Self { person: form.filled(PERSON), id, variant, surroundings: around.fields, unreadable }
    }
}

async fn rendered(visitor: &Visitor, typed: &Typed<'_>) -> PageResult<Rendered> {
    ask(visitor, typed, typed.variant.clone()).await
}

/// The preview text of an email as it is typed: it is rendered in the place of the subject, since it has no field in a
/// rendered message.
async fn preheader(visitor: &Visitor, typed: &Typed<'_>) -> Option<String> {
    let mut variant = typed.variant.clone();
    let message = variant.get_mut("message")?.as_object_mut()?;
    let preheader = message.get("preheader").filter(|text| !text.is_null())?.clone();
    message.insert("subject".to_owned(), preheader);
    let rendered = ask(visitor, typed, variant).await.ok()?;
    rendered.message.get("subject").and_then(Value::as_str).map(str::to_owned)
}

async fn ask(
    visitor: &Visitor,
    typed: &Typed<'_>,
    variant: Map<String, Value>,
) -> PageResult<Rendered> {
    let person = typed.person.ok_or_else(|| {
        Failure::new(StatusCode::BAD_REQUEST, "Type the id of a person to see the message")
    })?;
    let Some(id) = typed.id else { return ask_unsaved(visitor, typed, person, variant).await };
    let body = json!({"userId": person, "variant": variant});
    let call = visitor.call(Method::POST, path(["campaigns", id, "preview"]));
    call.json(&body)?.changes_nothing().read().await
}

/// Fields of a campaign that its message depends on, beside its variant.
const SURROUNDINGS: [&str; 4] =
    ["channel", "subscriptionCategoryId", "utmSettings", "channelConfig"];

async fn ask_unsaved(
    visitor: &Visitor,
    typed: &Typed<'_>,
    person: &str,
    mut variant: Map<String, Value>,
) -> PageResult<Rendered> {
    let mut campaign = typed.surroundings.clone();
    // Alone, it has all of the weight.
    variant.insert("weight".to_owned(), json!(100));
    campaign.insert("variants".to_owned(), json!([variant]));
    let body = json!({"userId": person, "campaign": campaign});
    let call = visitor.call(Method::POST, "/campaigns/preview-message").json(&body)?;
    call.changes_nothing().read().await.map_err(|failure| {
        let errors = failure.errors.iter().map(|error| {
            let error = error.strip_prefix("campaign.").unwrap_or(error);
            error.replacen("variants[0]", "variant", 1)
        });
        Failure { errors: errors.collect(), ..failure }
    })
}

/// What an inbox or a phone shows of a message: an email as subject, preview text and HTML, others field by field.
fn message(rendered: &Rendered, preheader: Option<&str>, unreadable: &[Unreadable]) -> Markup {
    let text = |name: &str| rendered.message.get(name).and_then(Value::as_str);
    if let Some(html) = text("html").filter(|_| rendered.channel == "email") {
        return html! {
            header {
                p class="subject" dir="auto" { (text("subject").unwrap_or_default()) }
                @if let Some(preheader) = preheader { p class="preheader" dir="auto" { (preheader) } }
            }
            (left_out(unreadable))
            iframe sandbox="" srcdoc=(html) title="The message as it looks" {}
        };
    }
    let html = text("html");
    let is_unreadable = |name: &str| unreadable.iter().any(|it| it.label() == name);
    let is_shown = |name: &str| !matches!(name, "html" | "headers") && !is_unreadable(name);
    let fields = rendered.message.iter().filter(|(name, value)| is_shown(name) && !value.is_null());
    html! {
        p { "By " (view::channel_label(&rendered.channel)) }
        dl {
            @for (name, value) in fields { dt { (name) } dd { pre dir="auto" { (field_text(value)) } } }
        }
        (left_out(unreadable))
        @if let Some(html) = html { iframe sandbox="" srcdoc=(html) title="The message as it looks" {} }
    }
}

/// The fields that are missing in a message that is shown, each with its fault.
fn left_out(unreadable: &[Unreadable]) -> Markup {
    html! {
        @if !unreadable.is_empty() {
            p { "The message is shown without what cannot be read:" }
            (at_their_fields(unreadable))
        }
    }
}

fn at_their_fields(unreadable: &[Unreadable]) -> Markup {
    html! {
        dl { @for it in unreadable { dt { (it.label()) } dd class="fault" { (it.problem) } } }
    }
}

fn faults(failure: &Failure, unreadable: &[Unreadable]) -> Markup {
    let explained = |error: &&String| unreadable.iter().any(|it| it.explains(error));
    let others: Vec<&String> = failure.errors.iter().filter(|it| !explained(it)).collect();
    html! {
        @if failure.errors.is_empty() { p role="alert" { (failure.text()) } }
        @if !unreadable.is_empty() {
            @if !failure.errors.is_empty() { p role="alert" { "The message cannot be shown before these are right:" } }
            (at_their_fields(unreadable))
        }
        ul { @for error in others { li { (error) } } }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::draft::OTHER, *};

    /// The form of an email that is not saved, with a source of its own in the links.
    fn unsaved(other: &str) -> Form {
        let fields = [
            ("channel", "email"),
            ("variants[0].message.subject", "Hi"),
            ("utmSettings.source", "typed"),
            ("sendVolumeLimit.maxSends", "5"),
            (OTHER, other),
        ];
        Form::new(fields.map(|(name, text)| (name.to_owned(), text.to_owned())))
    }

    #[test]
    fn a_setting_that_is_typed_twice_is_shown_as_its_own_fields_have_it() {
        const BOTH: &str =
            r#"{"utmSettings": {"source": "other"}, "channelConfig": {"from": "a"}}"#;
        let form = unsaved(BOTH);
        let Typed { surroundings, unreadable, .. } = Typed::of(&form, None);
        assert_eq!(surroundings["utmSettings"], json!({"source": "typed"}));
        assert_eq!(surroundings["channelConfig"], json!({"from": "a"}));
        let twice = "has utmSettings, which is typed in its own fields, too".to_owned();
        assert_eq!(unreadable, [Unreadable { path: OTHER.to_owned(), problem: twice }]);
        // No message depends on this one.
        let form = unsaved(r#"{"sendVolumeLimit": {"maxSends": 6}}"#);
        let Typed { surroundings, unreadable, .. } = Typed::of(&form, None);
        assert!(unreadable.is_empty() && !surroundings.contains_key("sendVolumeLimit"));
    }

    #[test]
    fn an_unreadable_field_explains_its_own_errors_alone() {
        let data = Unreadable::of("variants[0].message.data is not valid JSON: EOF");
        assert_eq!((data.label(), data.problem.as_str()), ("data", "is not valid JSON: EOF"));
        assert_eq!(Unreadable::of("other must be an object").label(), "other");
        for (error, expected) in [
            ("variant.message.data is required", true),
            ("variant.message.data.plan must be a string", true),
            ("variant.message.dataset is unknown", false),
            ("variant.message.title is required", false),
            ("userId is required", false),
        ] {
            assert_eq!(data.explains(error), expected, "{error}");
        }
    }
}
