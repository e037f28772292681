//! A page in the workspace's own HTML: Liquid is rendered, then everything that could run or load resources
//! is removed, then the form is inserted. In this order no attribute or template text reaches the form, and
//! the sanitizer need not allow form elements.

use content::template::{self, RenderFault, Template};
use serde_json::{Map, Value, json};

use super::{Filled, form, sanitize};
use crate::hosted_page::model::{SLOT, State};

/// Bytes of the rendered page without the form.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// The page's content. Blocks the thread for as long as a template may render.
///
/// # Errors
/// If the template exceeds its limits.
pub(in crate::hosted_page) fn authored(
    template: &Template,
    filled: &Filled,
) -> Result<String, RenderFault> {
    // A random word cannot occur in the template, so it marks the slot.
    let marker = format!("slot{:032x}", rand::random::<u128>());
    let globals = template::to_object(&variables(filled, &marker))
        .map_err(|error| RenderFault::Filter(error.to_string()))?;
    let rendered = template.render(&globals, PAGE_BYTES_MAX)?;
    Ok(sanitize::with_form(&rendered, &marker, &form::slot(filled)))
}

/// The template's variables: attributes by their bare names, then the built-in variables.
fn variables(filled: &Filled, marker: &str) -> Map<String, Value> {
    let choices = &filled.choices;
    let contact = &choices.contact;
    let mut user = contact.attributes.clone();
    for (name, value) in [
        ("id", json!(contact.id)),
        ("externalId", json!(contact.external_id)),
        ("email", json!(contact.email)),
        ("phone", json!(contact.phone)),
        ("attributes", json!(contact.attributes)),
    ] {
        user.insert(name.to_owned(), value);
    }
    let lists: Vec<Value> = choices
        .lists
        .iter()
        .map(|list| {
            let channels: Vec<_> = list.channels.iter().map(|(channel, _)| channel).collect();
            let subscribed = list.channels.iter().any(|(_, state)| *state == State::On);
            json!({"id": list.id, "name": list.name, "description": list.description,
                   "channels": channels, "subscribed": subscribed})
        })
        .collect();
    let channels: Vec<Value> = choices
        .channels
        .iter()
        .map(|(channel, on)| json!({"name": channel, "subscribed": on}))
        .collect();
    let mut variables = contact.attributes.clone();
    for (name, value) in [
        ("user", Value::Object(user)),
        ("workspace", json!({"name": choices.workspace})),
        ("lists", json!(lists)),
        ("channels", json!(channels)),
        ("saved", json!(filled.saved)),
        (SLOT, json!(marker)),
    ] {
        variables.insert(name.to_owned(), value);
    }
    variables
}
