//! Checks answers against the OpenAPI description.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, LazyLock, Mutex},
};

use jsonschema::{Draft, Validator};
use reqwest::{Method, StatusCode, header::HeaderMap};
use serde_json::{Map, Value, json};

/// Where the schemas with a name are.
const SCHEMAS: &str = "#/components/schemas/";

/// Routes that are left out of the description on purpose: the description itself and its page, metrics,
/// pages and links of messages, and callbacks of providers.
const UNDESCRIBED: &[&str] = &[
    "/openapi.json",
    "/docs",
    "/metrics",
    "/p/",
    "/u/",
    "/c/",
    "/o/",
    "/l/",
    "/s/",
    "/callbacks/",
    "/v1/projects/",
    "/array/",
    "/sourceConfig",
];

/// Routes of event SDKs, whose protocols define their forms.
const OF_EVENT_SDKS: &[&str] = &[
    "/v1/batch",
    "/v1/import",
    "/v1/identify",
    "/v1/page",
    "/v1/screen",
    "/v1/group",
    "/v1/alias",
    "/v1/b",
    "/v1/t",
    "/v1/i",
    "/v1/p",
    "/v1/s",
    "/v1/g",
    "/v1/a",
    "/v1/m",
    "/beacon/v1/batch",
    "/pixel/v1/track",
    "/pixel/v1/page",
    "/batch",
    "/capture",
    "/e",
    "/i/v0/e",
    "/flags",
    "/decide",
];

/// Characters of a problem and of an answer that a failed test shows.
const SHOWN_CHARS_MAX: usize = 4_000;

/// An answer that is to be looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) method: &'a Method,
    /// As it was asked, without the query.
    pub(super) path: &'a str,
    pub(super) status: StatusCode,
    pub(super) headers: &'a HeaderMap,
    pub(super) text: &'a str,
}

/// Fails the test when the answer is not one that the description has for its operation: an operation or a
/// status that is not described, another content type, or a body that breaks the schema or has a field that the
/// schema does not know.
pub(super) fn require_described(seen: Seen<'_>) {
    static DESCRIPTION: LazyLock<Description> = LazyLock::new(Description::new);
    let is_left_out = UNDESCRIBED.iter().any(|path| seen.path.starts_with(path))
        || OF_EVENT_SDKS.contains(&seen.path.trim_end_matches('/'));
    // What these two answer follows from the other methods.
    let is_implied = [Method::HEAD, Method::OPTIONS].contains(seen.method);
    if is_left_out || is_implied {
        return;
    }
    if let Err(problem) = DESCRIPTION.check(seen) {
        let Seen { method, path, status, text, .. } = seen;
        let shown: String = problem.chars().take(SHOWN_CHARS_MAX).collect();
        let text: String = text.chars().take(SHOWN_CHARS_MAX).collect();
        panic!("{method} {path} answered {status}, but /openapi.json: {shown}\n{text}");
    }
}

struct Description {
    document: Value,
    /// The named schemas, closed.
    closed: Map<String, Value>,
    /// By the place of the schema in the document: as it is, and closed. Made when first needed.
    validators: Mutex<HashMap<String, Arc<[Validator; 2]>>>,
}

impl Description {
    fn new() -> Self {
        let document = serde_json::to_value(millrace::router::description()).unwrap();
        let named = document["components"]["schemas"].as_object().unwrap();
        let closed = named
            .iter()
            .map(|(name, schema)| {
                let mut schema = schema.clone();
                close_inside(&mut schema, named);
                (name.clone(), schema)
            })
            .collect();
        Self { document, closed, validators: Mutex::default() }
    }

    fn check(&self, seen: Seen<'_>) -> Result<(), String> {
        let paths = self.document["paths"].as_object().unwrap();
        let method = seen.method.as_str().to_lowercase();
        let Some(path) = described_path(paths, seen.path) else {
            return match seen.status {
                StatusCode::NOT_FOUND => self.check_error(seen.text),
                _ => Err("has no such path".to_owned()),
            };
        };
        // A process that delivers and nothing else has none of the routes.
        if seen.status == StatusCode::NOT_FOUND && message_of(seen.text) == "Not Found" {
            return self.check_error(seen.text);
        }
        let Some(operation) = paths[path].get(&method) else {
            return match seen.status {
                StatusCode::METHOD_NOT_ALLOWED => self.check_error(seen.text),
                _ => Err(format!("has no {method} of {path}")),
            };
        };
        let place = format!("paths {path} {method} responses {}", seen.status.as_str());
        let Some(answer) = operation["responses"].get(seen.status.as_str()) else {
            return Err(format!("{place} is not there"));
        };
        let Some(forms) = answer.get("content").and_then(Value::as_object) else {
            return match seen.text {
                "" => Ok(()),
                _ => Err(format!("{place} has no content")),
            };
        };
        let sent = seen.headers.get("content-type").and_then(|it| it.to_str().ok());
        let form = sent.unwrap_or_default().split(';').next().unwrap_or_default();
        let Some(form) = forms.get(form) else {
            return Err(format!("{place} has no content {form:?}"));
        };
        if sent.is_none_or(|sent| !sent.starts_with("application/json")) {
            // A table, which is no JSON.
            return Ok(());
        }
        self.validate(&place, &form["schema"], seen.text)
    }

    fn check_error(&self, text: &str) -> Result<(), String> {
        self.validate("components schemas Error", &json!({"$ref": format!("{SCHEMAS}Error")}), text)
    }

    fn validate(&self, place: &str, schema: &Value, text: &str) -> Result<(), String> {
        let body = serde_json::from_str(text).map_err(|_| format!("{place} is not JSON"))?;
        let known = self.validators.lock().unwrap().get(place).cloned();
        let validators = known.unwrap_or_else(|| {
            let made = Arc::new([self.validator(schema), self.closed_validator(schema)]);
            self.validators.lock().unwrap().insert(place.to_owned(), Arc::clone(&made));
            made
        });
        let problems: Vec<String> = validators
            .iter()
            .flat_map(|validator| validator.iter_errors(&body))
            .map(|error| format!("{place} at {:?}: {error}", error.instance_path().as_str()))
            .collect();
        if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
    }

    fn named(&self) -> &Map<String, Value> {
        self.document["components"]["schemas"].as_object().unwrap()
    }

    fn validator(&self, schema: &Value) -> Validator {
        validator(schema, self.named())
    }

    fn closed_validator(&self, schema: &Value) -> Validator {
        let mut schema = schema.clone();
        close(&mut schema, self.named());
        validator(&schema, &self.closed)
    }
}

/// What an error says.
fn message_of(text: &str) -> Value {
    let error: Value = serde_json::from_str(text).unwrap_or_default();
    error["message"].clone()
}

/// A validator of a schema that refers to these.
fn validator(schema: &Value, named: &Map<String, Value>) -> Validator {
    let mut needed = BTreeSet::new();
    references(schema, &mut needed);
    let mut schemas = Map::new();
    while let Some(name) = needed.pop_first() {
        if !schemas.contains_key(&name) {
            references(&named[&name], &mut needed);
            schemas.insert(name.clone(), named[&name].clone());
        }
    }
    let whole = json!({"allOf": [schema], "components": {"schemas": schemas}});
    let options = jsonschema::options().with_draft(Draft::Draft202012);
    options.should_validate_formats(true).build(&whole).unwrap()
}

/// The path of the description that a request means; one without parameters is preferred.
fn described_path<'d>(paths: &'d Map<String, Value>, asked: &str) -> Option<&'d str> {
    let asked: Vec<&str> = asked.split('/').collect();
    let is_parameter = |segment: &str| segment.starts_with('{');
    let fits = |path: &&String| {
        let segments: Vec<&str> = path.split('/').collect();
        segments.len() == asked.len()
            && segments
                .iter()
                .zip(&asked)
                .all(|(segment, asked)| segment == asked || is_parameter(segment))
    };
    let fitting = paths.keys().filter(fits);
    let parameters = |path: &&String| path.split('/').filter(|it| is_parameter(it)).count();
    fitting.min_by_key(parameters).map(String::as_str)
}

/// Collects the names of the schemas that a schema refers to.
fn references(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(map) => {
            let name = map.get("$ref").and_then(Value::as_str);
            names.extend(name.and_then(|it| it.strip_prefix(SCHEMAS)).map(str::to_owned));
            map.values().for_each(|inside| references(inside, names));
        }
        Value::Array(items) => items.iter().for_each(|inside| references(inside, names)),
        _ => {}
    }
}

/// Makes a schema refuse fields that it does not name. Callers have to expect new ones, but none is to be
/// answered that is not described.
fn close(schema: &mut Value, named: &Map<String, Value>) {
    close_inside(schema, named);
    if names_fields(schema, named)
        && let Some(map) = schema.as_object_mut()
    {
        map.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
    }
}

/// Closes the schemas of what is inside, but not the schema itself, which may be a part of another.
fn close_inside(schema: &mut Value, named: &Map<String, Value>) {
    let Some(map) = schema.as_object_mut() else { return };
    for (keyword, inside) in map.iter_mut() {
        match keyword.as_str() {
            "properties" => {
                for field in inside.as_object_mut().unwrap().values_mut() {
                    close(field, named);
                }
            }
            "items" | "additionalProperties" => close(inside, named),
            "oneOf" | "anyOf" | "allOf" => {
                for part in inside.as_array_mut().unwrap() {
                    close_inside(part, named);
                }
            }
            _ => {}
        }
    }
}

/// Whether a schema, or one that it consists of, names the fields of an object.
fn names_fields(schema: &Value, named: &Map<String, Value>) -> bool {
    let Some(map) = schema.as_object() else { return false };
    let inside = |part: &Value| names_fields(part, named);
    map.iter().any(|(keyword, value)| match keyword.as_str() {
        "properties" => true,
        "$ref" => value
            .as_str()
            .and_then(|it| it.strip_prefix(SCHEMAS))
            .is_some_and(|name| inside(&named[name])),
        "oneOf" | "anyOf" | "allOf" => value.as_array().unwrap().iter().any(inside),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(method: Method, path: &str, status: u16, body: &Value) -> Option<String> {
        let headers = HeaderMap::from_iter([(
            reqwest::header::CONTENT_TYPE,
            "application/json".parse().unwrap(),
        )]);
        let (text, status) = (body.to_string(), StatusCode::from_u16(status).unwrap());
        let seen = Seen { method: &method, path, status, headers: &headers, text: &text };
        Description::new().check(seen).err()
    }

    #[test]
    fn undescribed_answers_are_detected() {
        let list = "/lists/00000000-0000-7000-8000-00000000dead/stats";
        let counts = json!({"email": 1, "sms": 0, "whatsapp": 0, "push": 0, "viber": 0});
        let stats = json!({"total": 1, "subscribed": 1, "unsubscribed": 0, "byChannel": counts});
        let found = |status, body: &Value| problem(Method::GET, list, status, body);
        assert_eq!(found(200, &stats), None);
        assert!(found(201, &stats).unwrap().contains("get responses 201 is not there"));
        let mut other = stats.clone();
        other["total"] = json!("1");
        assert!(found(200, &other).unwrap().contains("at \"/total\""));
        let mut missing = stats.clone();
        missing.as_object_mut().unwrap().remove("total");
        assert!(found(200, &missing).unwrap().contains("required"));
        let mut more = stats;
        more["byChannel"]["pigeon"] = json!(1);
        assert!(found(200, &more).unwrap().contains("pigeon"));
        assert!(
            problem(Method::GET, "/pigeons", 200, &json!({})).unwrap().contains("no such path")
        );
        assert!(problem(Method::GET, "/pigeons", 404, &json!({})).unwrap().contains("Error"));
        assert!(problem(Method::PATCH, list, 200, &json!({})).unwrap().contains("has no patch"));
    }
}
