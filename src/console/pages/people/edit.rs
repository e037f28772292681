//! Changing a profile: its addresses and attributes.

use std::collections::BTreeMap;

use axum::{extract::Path, response::Response};
use http::{Method, StatusCode};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use web::auth::ScopeName;

use super::{ENTRY, Profile, frame};
use crate::{
    failure::{Failure, PageResult, Refused},
    in_process::path,
    view::{self, Field, Kind},
    visitor::{Form, Visitor},
};

/// Fields of the form that show their own faults.
const FIELDS: &[&str] = &["email", "phone", "attributes"];

const ATTRIBUTES: Kind = Kind::Code { rows: 16, mode: "application/json" };

/// What a form shows of a profile, which it sends along: what was not touched in it is not changed, whatever else changed
/// the profile meanwhile.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct DisplayedProfile {
    email: Option<String>,
    phone: Option<String>,
    attributes: Map<String, Value>,
}

/// A profile as it is typed.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    shown: DisplayedProfile,
    email: String,
    phone: String,
    /// The attributes as a JSON object.
    attributes: String,
}

impl Draft {
    fn of(profile: &Profile) -> Self {
        let Profile { email, phone, attributes, .. } = profile;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Self {
            shown: DisplayedProfile {
                email: email.clone(),
                phone: phone.clone(),
                attributes: attributes.clone(),
            },
            email: text(email),
            phone: text(phone),
            attributes: serde_json::to_string_pretty(attributes).unwrap_or_default(),
        }
    }

    fn of_form(form: &Form) -> PageResult<Self> {
        let text = |name: &str| form.text(name).unwrap_or_default().trim().to_owned();
        let shown = serde_json::from_str(&text("shown")).map_err(|_| {
            Failure::new(StatusCode::BAD_REQUEST, "shown must be as the form has it")
        })?;
        let (email, phone, attributes) = (text("email"), text("phone"), text("attributes"));
        Ok(Self { shown, email, phone, attributes })
    }

    /// What the API has to change. An attribute that was shown and is left out becomes null.
    fn change(&self) -> PageResult<Change> {
        let text = if self.attributes.is_empty() { "{}" } else { &self.attributes };
        let mut attributes: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text)
            .map_err(|fault| faulty(format!("attributes must be a JSON object: {fault}")))?;
        let shown = &self.shown;
        let left_out = |(name, value): &(&String, &Value)| {
            !value.is_null() && !attributes.contains_key(name.as_str())
        };
        let left_out: Vec<String> =
            shown.attributes.iter().filter(left_out).map(|(name, _)| name.clone()).collect();
        attributes.retain(|name, value| {
            let value: Option<Value> = serde_json::from_str(value.get()).ok();
            value.as_ref() != shown.attributes.get(name)
        });
        attributes.extend(left_out.into_iter().map(|name| (name, RawValue::NULL.to_owned())));
        let mut addresses = BTreeMap::new();
        for (name, typed, shown) in
            [("email", &self.email, &shown.email), ("phone", &self.phone, &shown.phone)]
        {
            if typed != shown.as_deref().unwrap_or_default() {
                addresses.insert(name, Some(typed.clone()).filter(|typed| !typed.is_empty()));
            }
        }
        Ok(Change { addresses, attributes })
    }
}

/// The body of the API. An address that is null is taken away.
#[derive(Debug, Serialize)]
struct Change {
    #[serde(flatten)]
    addresses: BTreeMap<&'static str, Option<String>>,
    /// As they were typed, so that numbers keep their digits.
    attributes: BTreeMap<String, Box<RawValue>>,
}

fn faulty(error: String) -> Failure {
    Failure { errors: vec![error], ..Failure::new(StatusCode::BAD_REQUEST, "Bad Request") }
}

/// The form, with what was typed before and why it was refused.
pub(super) fn tab(
    visitor: &Visitor,
    profile: &Profile,
    typed: Option<&Draft>,
    failure: Option<&Failure>,
) -> Markup {
    let scope = ScopeName::UsersWrite;
    match typed {
        Some(typed) => form(visitor, &profile.path(), typed, failure),
        None if visitor.may(scope) => form(visitor, &profile.path(), &Draft::of(profile), failure),
        None => Failure::missing_scope(scope.as_str()).card("Edit"),
    }
}

/// The form of the person whose page has this address.
fn form(visitor: &Visitor, page: &str, draft: &Draft, failure: Option<&Failure>) -> Markup {
    let fault = |name: &str| failure.and_then(|failure| failure.at(name));
    let (email, phone, attributes) = (fault("email"), fault("phone"), fault("attributes"));
    html! {
        @if let Some(rest) = failure.and_then(|failure| failure.elsewhere(FIELDS)) { (view::alert(&rest)) }
        form method="post" action={ (page) "/edit" } data-keep="fields" data-typed[failure.is_some()] {
            (visitor.csrf_field())
            (view::hidden("shown", &serde_json::to_string(&draft.shown).unwrap_or_default()))
            (view::field(&Field::text("email", "Email", &draft.email).fault(email.as_deref())))
            (view::field(&Field::text("phone", "Phone", &draft.phone).fault(phone.as_deref())))
            (view::field(&Field::text("attributes", "Attributes", &draft.attributes).of(ATTRIBUTES)
                .hint("A JSON object; an attribute that is left out becomes null").fault(attributes.as_deref())))
            button class="button primary" type="submit" { "Save" }
        }
        (view::code_editor())
    }
}

pub(super) async fn save(
    visitor: Visitor,
    Path(user): Path<String>,
    form: Form,
) -> PageResult<Response> {
    let draft = Draft::of_form(&form)?;
    let current: Profile = match visitor.get(path(["users", &user])).read().await {
        Ok(current) => current,
        Err(failure) if failure.keeps_form() => {
            return Ok(alone(&visitor, &user, &draft, &failure));
        }
        Err(failure) => return Err(failure),
    };
    let saved = match draft.change() {
        Ok(change) => {
            visitor.call(Method::PUT, path(["users", &current.id])).json(&change)?.done().await
        }
        Err(failure) => Err(failure),
    };
    match saved {
        Ok(()) => {
            let to = format!("{}?tab=attributes", current.path());
            Ok(visitor.done(&to, "The profile was saved."))
        }
        Err(failure) if failure.keeps_form() => {
            let form = tab(&visitor, &current, Some(&draft), Some(&failure));
            Ok(frame::page(&visitor, &current, "edit", Some(Refused::Form(&failure)), &form))
        }
        Err(failure) => Err(failure),
    }
}

/// The form as it was typed, where the person cannot be read.
fn alone(visitor: &Visitor, user: &str, draft: &Draft, failure: &Failure) -> Response {
    let content = html! {
        p { a href=(ENTRY.path) { "People" } }
        h1 { "Edit a person" }
        (form(visitor, &path(["console", "people", user]), draft, Some(failure)))
    };
    visitor.page_after(Some(failure), &ENTRY, "Edit a person", &content)
}
