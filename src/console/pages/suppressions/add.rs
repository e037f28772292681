//! Adding one row to a ledger.

use http::Method;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use web::auth::ScopeName;

use super::ENTRY;
use crate::{
    failure::{Failure, PageResult},
    view::{self, Choice, Field},
    visitor::{Form, Visitor},
};

/// Fields of the form that show their own faults.
const FIELDS: &[&str] = &["identifier", "listId"];

/// A row as it is typed.
#[derive(Debug, Clone, Default)]
pub(super) struct Added {
    identifier: String,
    reason: String,
    list: String,
}

impl Added {
    pub(super) fn of(form: &Form) -> Self {
        let text = |name: &str| form.text(name).unwrap_or_default().to_owned();
        Self { identifier: text("newIdentifier"), reason: text("newReason"), list: text("listId") }
    }

    /// The address or number without the blanks around it.
    pub(super) fn identifier(&self) -> &str {
        self.identifier.trim()
    }

    fn body(&self, channel: &str) -> Value {
        let mut body = Map::new();
        body.insert("channel".to_owned(), json!(channel));
        body.insert("identifier".to_owned(), json!(self.identifier()));
        if !self.reason.is_empty() {
            body.insert("reason".to_owned(), json!(self.reason));
        }
        if !self.list.is_empty() {
            body.insert("scope".to_owned(), json!("group"));
            body.insert("listId".to_owned(), json!(self.list));
        }
        Value::Object(body)
    }
}

#[derive(Deserialize)]
struct NamedList {
    id: String,
    name: String,
}

/// The form, with what was typed and its faults.
pub(super) async fn form(
    visitor: &Visitor,
    channel: &str,
    added: &Added,
    failure: Option<&Failure>,
) -> Markup {
    let lists: Vec<NamedList> = if visitor.may(ScopeName::SettingsRead) {
        visitor.get("/lists").read().await.unwrap_or_default()
    } else {
        Vec::new()
    };
    let mut reach = vec![Choice { value: "", label: "Everything on the channel" }];
    reach.extend(lists.iter().map(|list| Choice { value: &list.id, label: &list.name }));
    let mut reasons = vec![
        Choice { value: "manual", label: "By hand" },
        Choice { value: "unsubscribe", label: "Opted out" },
    ];
    if channel == "email" {
        reasons.push(Choice { value: "hard_bounce", label: "The address does not exist" });
    }
    let fault = failure.and_then(|failure| failure.at("identifier"));
    let content = html! {
        @if let Some(rest) = failure.and_then(|failure| failure.elsewhere(FIELDS)) { (view::alert(&rest)) }
        form method="post" action=(ENTRY.path) {
            (visitor.csrf_field())
            (view::hidden("channel", channel))
            (view::field(&Field::text("newIdentifier", "Identifier", &added.identifier).required()
                .hint(if channel == "email" { "An email address" } else { "A phone number" })
                .fault(fault.as_deref())))
            (view::select("newReason", "Why", &added.reason, &reasons))
            (view::select("listId", "For", &added.list, &reach))
            @if let Some(fault) = failure.and_then(|failure| failure.at("listId")) { p class="fault" { (fault) } }
            button class="button primary" type="submit" { "Add" }
        }
    };
    view::card("Add a suppression", &content)
}

/// Stores what was typed.
pub(super) async fn store(visitor: &Visitor, channel: &str, added: &Added) -> PageResult<()> {
    let call = if added.reason == "hard_bounce" {
        let body = json!({"identifier": added.identifier()});
        visitor.call(Method::POST, "/suppressions/hard-bounce").json(&body)?
    } else {
        visitor.call(Method::POST, "/suppressions").json(&added.body(channel))?
    };
    call.done().await
}
