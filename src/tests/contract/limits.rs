//! The described limits of bodies are enforced: a value at a limit is accepted, one past it is refused.

use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::kit::{Client, Workspace, unique};

/// Objects of a path that take fields of several kinds, of which those of another kind are passed over: here only
/// the fields that are sent are tried.
const OF_SEVERAL_KINDS: &[(&str, &str)] = &[
    ("/campaigns", "/channelConfig"),
    ("/campaigns", "/variants/0/message"),
    ("/campaigns/spam-check", ""),
];

/// A call whose body is taken to the limits of its schema, field by field.
struct Call {
    method: Method,
    /// As it is described.
    path: &'static str,
    /// As it is asked.
    asked: String,
    /// A body that is accepted. Fields inside its objects, and inside the first elements of its lists, are tried too.
    body: Value,
}

/// A field with a value at a limit, or past it.
#[derive(Debug)]
struct Probe {
    pointer: String,
    value: Value,
    is_valid: bool,
}

/// Finds the limits of a schema along a body.
struct Walk<'d> {
    document: &'d Value,
    path: &'static str,
    probes: Vec<Probe>,
}

impl Walk<'_> {
    fn validator(&self, schema: &Value) -> jsonschema::Validator {
        let components = &self.document["components"];
        jsonschema::draft202012::new(&json!({"allOf": [schema], "components": components})).unwrap()
    }

    /// The schemas that a schema may be, without references and without null; what consists of several is
    /// one schema with the fields of all.
    fn alternatives(&self, schema: &Value) -> Vec<Value> {
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            let named = self.document.pointer(name.strip_prefix('#').unwrap()).unwrap();
            return self.alternatives(named);
        }
        for keyword in ["oneOf", "anyOf"] {
            if let Some(parts) = schema.get(keyword).and_then(Value::as_array) {
                return parts.iter().flat_map(|part| self.alternatives(part)).collect();
            }
        }
        if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
            return parts.iter().fold(
                vec![json!({"type": "object", "properties": {}})],
                |all, part| {
                    let more = self.alternatives(part);
                    let joined =
                        all.iter().flat_map(|one| more.iter().map(move |other| join(one, other)));
                    joined.collect()
                },
            );
        }
        if schema["type"] == "null" { Vec::new() } else { vec![schema.clone()] }
    }

    fn fields(&mut self, schema: &Value, body: &Value, pointer: &str) {
        let alternatives = self.alternatives(schema);
        match body {
            Value::Object(sent) => {
                // The one that has all that is sent.
                let mut known = alternatives.iter().filter_map(|it| it["properties"].as_object());
                let has_all =
                    |it: &&Map<String, Value>| sent.keys().all(|name| it.contains_key(name));
                for (name, field) in known.find(has_all).into_iter().flatten() {
                    let is_of_a_kind = OF_SEVERAL_KINDS.contains(&(self.path, pointer));
                    if is_of_a_kind && !sent.contains_key(name) {
                        continue;
                    }
                    let pointer = format!("{pointer}/{name}");
                    let body = sent.get(name).unwrap_or(&Value::Null);
                    self.probe(field, body, &pointer);
                    self.fields(field, body, &pointer);
                }
            }
            Value::Array(elements) => {
                let items = alternatives.iter().find_map(|it| it.get("items"));
                if let (Some(items), Some(first)) = (items, elements.first()) {
                    let pointer = format!("{pointer}/0");
                    self.probe(items, first, &pointer);
                    self.fields(items, first, &pointer);
                }
            }
            _ => {}
        }
    }

    fn probe(&mut self, schema: &Value, body: &Value, pointer: &str) {
        let validator = self.validator(schema);
        for alternative in self.alternatives(schema) {
            for value in candidates(&alternative, body) {
                let is_valid = validator.is_valid(&value);
                self.probes.push(Probe { pointer: pointer.to_owned(), value, is_valid });
            }
        }
    }
}

/// A schema with the fields of two.
fn join(one: &Value, other: &Value) -> Value {
    let mut joined = one.clone();
    let fields = other["properties"].as_object().cloned().unwrap_or_default();
    for (name, field) in fields {
        joined["properties"].as_object_mut().unwrap().entry(name).or_insert(field);
    }
    joined
}

/// Values at the limits of a schema, past them, and of another type.
fn candidates(schema: &Value, body: &Value) -> Vec<Value> {
    let mut values = vec![match schema["type"].as_str().or(schema["type"][0].as_str()) {
        Some("string" | "object") => json!(7),
        Some("array") => json!({"a": 1}),
        Some("boolean" | "number" | "integer") => json!("a"),
        // A field of any type is not checked by type.
        _ => return Vec::new(),
    }];
    if schema.get("enum").is_some() {
        values.push(json!("no-such-word"));
    }
    let limit = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    for length in [limit("minLength"), limit("maxLength")].into_iter().flatten() {
        for length in length.saturating_sub(1)..=length + 1 {
            values.push(json!("a".repeat(usize::try_from(length).unwrap())));
        }
    }
    let element = body.get(0).cloned();
    for length in [limit("minItems"), limit("maxItems")].into_iter().flatten() {
        for length in length.saturating_sub(1)..=length + 1 {
            let Some(element) = element.clone().or((length == 0).then_some(Value::Null)) else {
                continue;
            };
            values.push(json!(vec![element; usize::try_from(length).unwrap()]));
        }
    }
    let is_whole = schema["type"] == "integer" || schema["type"][0] == "integer";
    let step = if is_whole { 1.0 } else { 0.25 };
    for limit in ["minimum", "maximum"].into_iter().filter_map(|it| schema.get(it)?.as_f64()) {
        for number in [limit - step, limit, limit + step] {
            values.push(if is_whole { json!(number as i64) } else { json!(number) });
        }
    }
    values
}

/// The place of a pointer as errors name it: `variants[0].name`.
fn place(pointer: &str) -> String {
    let mut place = String::new();
    for step in pointer.split('/').skip(1) {
        if step.parse::<usize>().is_ok() {
            place = format!("{place}[{step}]");
        } else {
            place = if place.is_empty() { step.to_owned() } else { format!("{place}.{step}") };
        }
    }
    place
}

/// Puts a value where a pointer leads, making the last step.
fn with(body: &Value, pointer: &str, value: Value) -> Value {
    let mut changed = body.clone();
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    match changed.pointer_mut(parent).unwrap() {
        Value::Object(map) => drop(map.insert(last.to_owned(), value)),
        Value::Array(list) => list[last.parse::<usize>().unwrap()] = value,
        _ => unreachable!("{pointer} leads into no container"),
    }
    changed
}

/// Tries every probe of a call, and says which are not answered as the description has it.
async fn wrong_limits(document: &Value, client: &Client, call: &Call) -> Vec<String> {
    let operation = &document["paths"][call.path][call.method.as_str().to_lowercase()];
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    let mut walk = Walk { document, path: call.path, probes: Vec::new() };
    walk.fields(schema, &call.body, "");
    assert!(!walk.probes.is_empty(), "{} states no limits", call.path);
    let mut wrong = Vec::new();
    for Probe { pointer, value, is_valid } in walk.probes {
        let body = with(&call.body, &pointer, value.clone());
        let request = client.request(call.method.clone(), &call.asked).json(&body);
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        let place = place(&pointer);
        let names_it = answer["errors"].as_array().into_iter().flatten().any(|error| {
            let rest = error.as_str().unwrap().strip_prefix(&place);
            let of_limits = [
                " must be at ",
                " must be between ",
                " must have at ",
                " must have between ",
                " must not be empty",
                " must be one of",
                " is required",
            ];
            rest.is_some_and(|rest| of_limits.iter().any(|words| rest.starts_with(words)))
        });
        let shown: String = value.to_string().chars().take(60).collect();
        let what = format!("{} {} {place}: {shown}", call.method, call.path);
        if is_valid && status == 400 && names_it {
            wrong.push(format!("{what} is described as valid, but: {}", answer["errors"]));
        }
        if !is_valid && status != 400 {
            wrong.push(format!("{what} is described as invalid, but answered {status}"));
        }
    }
    wrong
}

fn variant(message: Value) -> Value {
    json!([{"id": "a", "name": "A", "weight": 100, "message": message, "isControlGroup": false}])
}

/// Campaigns of every channel, with all that they may say.
fn campaigns() -> Vec<Value> {
    let condition = json!({"field": "total", "operator": "gt", "value": 5});
    let filters = json!([{"filters": [{"type": "attribute", "field": "plan", "operator": "equals", "value": "pro"}]}]);
    let settings = json!({
        "description": "d",
        "tags": ["a"],
        "emailConfigId": "main",
        "resendPolicy": "cooldown",
        "resendCooldownDays": 3,
        "sendVolumeLimit": {"maxSends": 5, "cadence": "lifetime"},
        "sendRateLimit": {"maxPerMinute": 5},
        "quietTimeOverride": {"start": "21:00", "end": "08:00"},
        "utmSettings": {"source": "s"},
        "stoConfig": {"windowHours": 5},
        "abTestConfig": {"testPercentage": 20},
        "conversionTracking": {
            "primaryConversion": {"eventName": "Order Completed", "conditions": [condition]},
            "secondaryConversions": [{"eventName": "A"}],
        },
        "triggerConfig": {"eventName": "A", "conditions": [condition], "reEntry": "cooldown", "cooldownHours": 5},
        "recurringSchedule": {"frequency": "monthly", "dayOfMonth": 1, "dayOfWeek": [1]},
        "targeting": {"userIds": ["a"], "filterGroups": filters, "excludeFilterGroups": filters},
    });
    let button = json!({"id": "b", "text": "t", "action": "url", "url": "https://a.test"});
    let native =
        json!({"mode": "native", "title": "t", "buttons": [button], "style": {"fontSize": 12}});
    let in_app = json!({
        "type": "modal",
        "triggers": [{"type": "event", "eventName": "A", "conditions": [condition]}],
        "displayFrequency": {"maxPerUser": 1},
        "platforms": ["web"],
        "webAppIds": ["w"],
    });
    let auth = json!({"type": "basic", "username": "u", "password": "p"});
    let mut campaigns = vec![
        json!({"channel": "email", "variants": variant(json!({"subject": "s", "html": "<p>h</p>"})),
               "channelConfig": {"trackOpens": true, "replyTo": "a@example.test"}}),
        json!({"channel": "in_app", "channelConfig": in_app,
               "variants": [{"id": "a", "name": "A", "weight": 100, "customContent": native}]}),
        json!({"channel": "push",
               "channelConfig": {"ttlSeconds": 1, "collapseKey": "k", "deepLink": "app://a", "platforms": ["web"]},
               "variants": variant(json!({"title": "t", "body": "b", "icon": "i", "data": {}}))}),
        json!({"channel": "sms", "channelConfig": {"senderId": "s"},
               "variants": variant(json!({"body": "b", "from": "f", "shortenLinks": true}))}),
        json!({"channel": "whatsapp", "channelConfig": {"phoneNumberId": "1"},
               "variants": variant(json!({"messageType": "template", "templateId": "t", "wabaId": "w", "replyText": "r"}))}),
        json!({"channel": "webhook", "channelConfig": {"timeoutMs": 500, "maxAttempts": 2},
               "variants": variant(json!({"url": "https://a.test", "auth": auth}))}),
    ];
    for campaign in &mut campaigns {
        campaign["name"] = json!("n");
    }
    campaigns[0].as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    campaigns
}

/// What is known of people and events.
fn calls_about_people(user: &str, campaign: &str) -> Vec<Call> {
    let post = |path: &'static str, body: Value| Call {
        method: Method::POST,
        path,
        asked: path.to_owned(),
        body,
    };
    vec![
        post(
            "/users",
            json!({"externalId": "limits", "email": "a@example.test",
                   "subscriptions": [{"listId": "x", "channel": "email", "status": "subscribed"}]}),
        ),
        Call {
            method: Method::PUT,
            path: "/users/{userId}",
            asked: format!("/users/{user}"),
            body: json!({"phone": "1"}),
        },
        post(
            "/events/track",
            json!({"userId": "u", "eventName": "A", "userAlias": {"aliasLabel": "l", "aliasName": "n"}}),
        ),
        post("/events/aggregate", json!({"eventName": "A", "metrics": ["count"], "sumField": "t"})),
        Call {
            method: Method::PUT,
            path: "/subscriptions/contacts/{userId}/channels/{channel}",
            asked: format!("/subscriptions/contacts/{user}/channels/email"),
            body: json!({"channel": "email", "status": "optedIn"}),
        },
        Call {
            method: Method::POST,
            path: "/subscriptions/contacts/{userId}/clear-bounce",
            asked: format!("/subscriptions/contacts/{user}/clear-bounce"),
            body: json!({"reason": "r"}),
        },
        post("/suppressions", json!({"channel": "email", "identifier": "a@example.test"})),
        post("/suppressions/hard-bounce", json!({"identifier": "a@example.test"})),
        post(
            "/campaigns/transactional/send",
            json!({"userId": user, "channel": "email", "message": {"subject": "s", "body": "b"}}),
        ),
        post("/campaigns/preview", json!({"targeting": {"userIds": ["a"]}})),
        post(
            "/campaigns/spam-check",
            json!({"subject": "s", "html": "<p>h</p>", "text": "t", "from": "a@example.test", "fromName": "n"}),
        ),
        post("/campaigns/spam-check", json!({"campaignId": campaign, "variantId": "a"})),
        post("/campaigns/ml-path-warmth", json!({"pathIds": ["a"], "variantIds": ["b"]})),
    ]
}

/// Lists and the page of preferences.
fn calls_about_lists(list: &str, user: &str) -> Vec<Call> {
    let call = |method: Method, path: &'static str, asked: String, body: Value| Call {
        method,
        path,
        asked,
        body,
    };
    let page = "/subscriptions/hosted-page/preference-center";
    vec![
        call(
            Method::PUT,
            "/lists/{listId}",
            format!("/lists/{list}"),
            json!({"description": "d", "channels": ["email"]}),
        ),
        call(
            Method::POST,
            "/lists/{listId}/members/bulk",
            format!("/lists/{list}/members/bulk"),
            json!({"contactIds": [user], "channel": "email"}),
        ),
        call(
            Method::POST,
            "/subscriptions/contacts/{userId}/lists/{listId}",
            format!("/subscriptions/contacts/{user}/lists/{list}"),
            json!({"channel": "email"}),
        ),
        call(Method::PUT, page, page.to_owned(), json!({"mode": "default"})),
    ]
}

#[tokio::test]
async fn described_limits_of_users_and_lists_are_enforced() {
    let workspace = Workspace::new().await;
    let document = serde_json::to_value(millrace::router::description()).unwrap();
    let body = json!({"externalId": unique("ann"), "email": "ann@example.test"});
    let user = workspace.api.post("/users", &body, 201).await.json();
    let user = user["id"].as_str().unwrap();
    let list = workspace.api.post("/lists", &json!({"name": "News"}), 201).await.json();
    let list = list["id"].as_str().unwrap();
    let body =
        json!({"name": "n", "channel": "email", "variants": variant(json!({"subject": "s"}))});
    let campaign = workspace.api.post("/campaigns", &body, 201).await.json();
    let campaign = campaign["id"].as_str().unwrap();
    let mut wrong = Vec::new();
    for call in calls_about_people(user, campaign).into_iter().chain(calls_about_lists(list, user))
    {
        wrong.extend(wrong_limits(&document, &workspace.api, &call).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn described_limits_of_campaigns_are_enforced() {
    let workspace = Workspace::new().await;
    let document = serde_json::to_value(millrace::router::description()).unwrap();
    let mut wrong = Vec::new();
    for body in campaigns() {
        workspace.api.post("/campaigns", &body, 201).await;
        let call =
            Call { method: Method::POST, path: "/campaigns", asked: "/campaigns".to_owned(), body };
        wrong.extend(wrong_limits(&document, &workspace.api, &call).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
