//! A page in the workspace's own HTML: Liquid first, then everything that could run or reach out is
//! removed, then our form takes the place of the slot. In this order nothing of a contact's or an
//! author's reaches the form, and the form's own elements need not be allowed to anybody.

use content::template::{self, RenderFault, Template};
use serde_json::{Map, Value, json};

use super::{Filled, form, sanitize};
use crate::hosted_page::model::{SLOT, State};

/// Bytes a page may render to, before the form is put in.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// The page's content. Blocks the thread for as long as a template may render.
///
/// # Errors
/// When the template does more than it may.
pub(in crate::hosted_page) fn authored(
    template: &Template,
    filled: &Filled,
) -> Result<String, RenderFault> {
    // Nobody can write this word beforehand, so what stands there is the slot.
    let place = format!("slot{:032x}", rand::random::<u128>());
    let globals = template::to_object(&variables(filled, &place))
        .map_err(|error| RenderFault::Filter(error.to_string()))?;
    let rendered = template.render(&globals, PAGE_BYTES_MAX)?;
    Ok(sanitize::with_form(&rendered, &place, &form::slot(filled)))
}

/// What a template can write: attributes by their bare names, then what has a meaning of its own.
fn variables(filled: &Filled, place: &str) -> Map<String, Value> {
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
        (SLOT, json!(place)),
    ] {
        variables.insert(name.to_owned(), value);
    }
    variables
}
