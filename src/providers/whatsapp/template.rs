//! A template with its variables, in the form of the Cloud API.
//!
//! A variable is of the template's body by its number (`1`) or name (`first_name`); of its header with
//! `header.` before that, a picture, film or document by `header.image`, `header.video`,
//! `header.document`; of a button's address by `button.0`, the buttons counted from 0.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Writes a template. `name:language` names its language, else it is the channel's.
pub(super) fn written(template: &str, language: &str, variables: &Map<String, Value>) -> Value {
    let (name, language) = template.split_once(':').unwrap_or((template, language));
    let mut parts = Parts::default();
    for (key, value) in variables {
        parts.put(key, text(value));
    }
    json!({ "name": name, "language": { "code": language }, "components": parts.components() })
}

/// The variables by where they stand.
#[derive(Default)]
struct Parts {
    header: Vec<Variable>,
    media: Option<(&'static str, String)>,
    body: Vec<Variable>,
    buttons: BTreeMap<u8, String>,
}

/// A variable of a text, by its number or name.
struct Variable {
    name: String,
    text: String,
}

impl Parts {
    fn put(&mut self, key: &str, value: String) {
        match key.split_once('.') {
            Some(("header", "image")) => self.media = Some(("image", value)),
            Some(("header", "video")) => self.media = Some(("video", value)),
            Some(("header", "document")) => self.media = Some(("document", value)),
            Some(("header", name)) => {
                self.header.push(Variable { name: name.to_owned(), text: value });
            }
            Some(("button", index)) if index.parse::<u8>().is_ok() => {
                self.buttons.extend(index.parse::<u8>().ok().map(|index| (index, value)));
            }
            _ => self.body.push(Variable { name: key.to_owned(), text: value }),
        }
    }

    fn components(self) -> Vec<Value> {
        let mut components = Vec::new();
        if let Some((kind, link)) = self.media {
            let parameter = json!({ "type": kind, kind: { "link": link } });
            components.push(json!({ "type": "header", "parameters": [parameter] }));
        } else if !self.header.is_empty() {
            components.push(json!({ "type": "header", "parameters": parameters(self.header) }));
        }
        if !self.body.is_empty() {
            components.push(json!({ "type": "body", "parameters": parameters(self.body) }));
        }
        components.extend(self.buttons.into_iter().map(|(index, text)| {
            json!({
                "type": "button",
                "sub_type": "url",
                "index": index.to_string(),
                "parameters": [{ "type": "text", "text": text }],
            })
        }));
        components
    }
}

/// Parameters in the order of their numbers, or with their names.
fn parameters(mut variables: Vec<Variable>) -> Vec<Value> {
    let number = |name: &str| name.parse::<u32>().ok();
    let is_numbered = variables.iter().all(|it| number(&it.name).is_some());
    if is_numbered {
        variables.sort_by_key(|it| number(&it.name));
        variables.into_iter().map(|it| json!({ "type": "text", "text": it.text })).collect()
    } else {
        variables
            .into_iter()
            .map(|it| json!({ "type": "text", "parameter_name": it.name, "text": it.text }))
            .collect()
    }
}

/// A value as it is read.
pub(in super::super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "values a test has written itself")]
    fn components(variables: Value) -> Value {
        let variables = variables.as_object().unwrap();
        written("order", "en", variables)["components"].clone()
    }

    #[test]
    fn a_template_names_its_language_or_takes_the_channels() {
        for (template, name, code) in
            [("order", "order", "en"), ("order:pt_BR", "order", "pt_BR"), ("a_1:de", "a_1", "de")]
        {
            let written = written(template, "en", &Map::new());
            assert_eq!(
                written,
                json!({ "name": name, "language": { "code": code }, "components": [] })
            );
        }
    }

    #[test]
    fn variables_are_placed_by_their_names() {
        assert_eq!(
            components(json!({ "2": "b", "10": "c", "1": 5, "3": null })),
            json!([{ "type": "body", "parameters": [
                { "type": "text", "text": "5" }, { "type": "text", "text": "b" },
                { "type": "text", "text": "" }, { "type": "text", "text": "c" },
            ]}]),
            "by number, as numbers count"
        );
        assert_eq!(
            components(json!({ "name": "Ann", "order.id": "7" })),
            json!([{ "type": "body", "parameters": [
                { "type": "text", "parameter_name": "name", "text": "Ann" },
                { "type": "text", "parameter_name": "order.id", "text": "7" },
            ]}])
        );
        assert_eq!(
            components(json!({
                "header.image": "https://x.test/a.png", "1": "b", "button.1": "x?y", "button.0": "z",
            })),
            json!([
                { "type": "header", "parameters": [
                    { "type": "image", "image": { "link": "https://x.test/a.png" } }] },
                { "type": "body", "parameters": [{ "type": "text", "text": "b" }] },
                { "type": "button", "sub_type": "url", "index": "0",
                  "parameters": [{ "type": "text", "text": "z" }] },
                { "type": "button", "sub_type": "url", "index": "1",
                  "parameters": [{ "type": "text", "text": "x?y" }] },
            ])
        );
        assert_eq!(
            components(json!({ "header.1": "Hi" })),
            json!([{ "type": "header", "parameters": [{ "type": "text", "text": "Hi" }] }])
        );
    }
}
