//! Each field of each type of call missing, null, of a wrong type, too long and too deep. A row is one call; what became
//! of it is read back: its event, its profile, or its refusal with the reason.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    faulty_values::{Faulty, GROUP, PROPERTY, Reads, WHOLE, tried},
    *,
};
use Reads::{Anything, Email, Envelope, Holder, Needed, Phone, Text, Time, Type};

/// Rows of one batch: as many refusals of one request are listed.
const BATCH_ROWS: usize = 400;
/// What stands for the number of a row in a good call.
const ROW: &str = "ROW";

/// What a call becomes that breaks no rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Becomes {
    Event,
    Profile,
    /// It is accepted and changes nothing: no profile is known.
    NoChange,
}

/// A field of a type of call.
struct Field {
    /// Where it stands; a dot leads into an object.
    path: &'static str,
    /// What a reason calls it.
    name: &'static str,
    reads: Reads,
}

/// A type of call.
struct Kind {
    good: Value,
    becomes: Becomes,
    fields: Vec<Field>,
}

/// A call, and the reason why it is refused or what it becomes.
#[derive(Debug)]
struct Row {
    call: Value,
    expected: Result<Becomes, String>,
}

impl Row {
    /// Whether it makes a profile. Beside an event, traits do.
    fn is_of_a_profile(&self) -> bool {
        let has_traits = ["$set", "$set_once"].iter().any(|name| self.call[*name].is_object());
        match self.expected {
            Ok(Becomes::Profile) => true,
            Ok(Becomes::Event) => has_traits,
            Ok(Becomes::NoChange) | Err(_) => false,
        }
    }
}

/// A protocol, and the names of its ids.
struct Protocol {
    user: &'static str,
    message: &'static str,
    path: &'static str,
    /// A call that is refused.
    faulty: Value,
}

/// A field under its own name.
fn field(path: &'static str, reads: Reads) -> Field {
    Field { path, name: path, reads }
}

/// A field among the properties, under its bare name.
fn property(path: &'static str, reads: Reads) -> Field {
    let (_, name) = path.split_once('.').unwrap();
    Field { path, name, reads }
}

/// A value that is kept as a property.
fn kept(path: &'static str, name: &'static str) -> Field {
    Field { path, name, reads: PROPERTY }
}

/// A type of call of Segment, with how it reads its own fields. Those that all types read are added, and those that it
/// does not read.
fn segment(kind: &str, becomes: Becomes, own: Vec<Field>) -> Kind {
    let read = [
        field("type", Type),
        field("userId", Text),
        field("anonymousId", Text),
        field("messageId", Text),
        field("timestamp", Time),
        field("originalTimestamp", Time),
    ];
    let unread = [
        "event",
        "previousId",
        "groupId",
        "name",
        "category",
        "properties",
        "traits",
        "context",
        "sentAt",
        "integrations",
    ];
    let mut fields = own;
    for other in read.into_iter().chain(unread.map(|path| field(path, Anything))) {
        if fields.iter().all(|own| own.path != other.path) {
            fields.push(other);
        }
    }
    let good = json!({"type": kind, "event": "E", "userId": "uROW", "anonymousId": "aROW",
        "messageId": "mROW", "previousId": "pROW", "groupId": "g", "context": {"page": {"path": "/"}}});
    Kind { good, becomes, fields }
}

fn segment_kinds() -> Vec<Kind> {
    let viewed = || {
        vec![
            kept("name", "properties.name"),
            kept("category", "properties.category"),
            field("properties", WHOLE),
        ]
    };
    let traits =
        vec![field("traits", WHOLE), field("traits.email", Email), field("traits.phone", Phone)];
    let ids = vec![field("userId", Needed), field("previousId", Needed)];
    vec![
        segment("track", Becomes::Event, vec![field("event", Needed), field("properties", WHOLE)]),
        segment("page", Becomes::Event, viewed()),
        segment("screen", Becomes::Event, viewed()),
        segment("identify", Becomes::Profile, traits),
        segment("group", Becomes::Profile, vec![field("groupId", Needed), field("traits", GROUP)]),
        segment("alias", Becomes::Profile, ids),
    ]
}

/// An event of PostHog with these properties, with how it reads its own fields.
fn posthog(event: &str, properties: &Value, becomes: Becomes, own: Vec<Field>) -> Kind {
    let mut fields = own;
    fields.extend([
        field("uuid", Text),
        field("timestamp", Time),
        field("sent_at", Anything),
        field("offset", Anything),
    ]);
    let good =
        json!({"event": event, "uuid": "mROW", "distinct_id": "uROW", "properties": properties});
    Kind { good, becomes, fields }
}

fn posthog_kinds() -> Vec<Kind> {
    let traits = || [field("$set", WHOLE), field("$set_once", WHOLE)];
    let event = |own: Vec<Field>| {
        let mut fields = own;
        fields.extend([field("distinct_id", Needed), field("properties", WHOLE)]);
        fields.extend(traits());
        fields
    };
    let person = |own: Vec<Field>| {
        let mut fields = own;
        fields.extend([field("distinct_id", Text), field("properties", Envelope)]);
        fields.extend(traits());
        fields.push(field("$set.email", Email));
        fields
    };
    let needed = |name| Field { path: "properties", name, reads: Holder };
    let alias = vec![
        field("distinct_id", Needed),
        property("properties.alias", Needed),
        needed("alias"),
        field("$set", Anything),
    ];
    let group = vec![
        field("distinct_id", Text),
        property("properties.$group_key", Needed),
        property("properties.$group_set", GROUP),
        needed("$group_key"),
    ];
    let anonymous = property("properties.$anon_distinct_id", Text);
    let group_key = json!({"$group_type": "company", "$group_key": "g"});
    vec![
        posthog("E", &json!({"a": 1}), Becomes::Event, event(vec![field("event", Needed)])),
        posthog("$pageview", &json!({"a": 1}), Becomes::Event, event(Vec::new())),
        posthog(
            "$identify",
            &json!({"$anon_distinct_id": "aROW"}),
            Becomes::Profile,
            person(vec![anonymous]),
        ),
        posthog("$set", &json!({}), Becomes::Profile, person(Vec::new())),
        posthog("$create_alias", &json!({"alias": "pROW"}), Becomes::Profile, alias),
        posthog("$groupidentify", &group_key, Becomes::NoChange, group),
    ]
}

/// Sets the field at a path, or removes it.
fn set(call: &mut Value, path: &str, value: Option<Value>) {
    let (outer, name) =
        path.rsplit_once('.').map_or((None, path), |(outer, name)| (Some(outer), name));
    let object = match outer {
        Some(outer) => &mut call[outer],
        None => call,
    };
    match value {
        Some(value) => object[name] = value,
        None => drop(object.as_object_mut().and_then(|object| object.remove(name))),
    }
}

/// A row for each value that each field of each type of call is tried with, and one for each good call.
fn rows(kinds: &[Kind], protocol: &Protocol) -> Vec<Row> {
    let mut rows = Vec::new();
    let add = |kind: &Kind, field: Option<&Field>, faulty: Faulty, rows: &mut Vec<Row>| {
        let good = kind.good.to_string().replace(ROW, &rows.len().to_string());
        let mut call: Value = serde_json::from_str(&good).unwrap();
        if let Some(field) = field {
            set(&mut call, field.path, faulty.value);
        }
        let has_no_user = call[protocol.user].as_str().unwrap_or_default().is_empty();
        let becomes = match kind.becomes {
            Becomes::Profile if has_no_user => Becomes::NoChange,
            other => other,
        };
        let name = field.map_or("", |field| field.name);
        let expected = faulty.fault.map_or(Ok(becomes), |fault| Err(format!("{name}{fault}")));
        rows.push(Row { call, expected });
    };
    for kind in kinds {
        add(kind, None, Faulty::good(None), &mut rows);
        for field in &kind.fields {
            for faulty in tried(field.reads, rows.len()) {
                add(kind, Some(field), faulty, &mut rows);
            }
        }
    }
    rows
}

/// Sends the rows, and waits until the refusals of each batch are listed.
async fn send(workspace: &Workspace, protocol: &Protocol, rows: &[Row]) {
    let sender = Sender::of(workspace, "events:write,users:write").await;
    for (batch, rows) in rows.chunks(BATCH_ROWS).enumerate() {
        let mut calls: Vec<&Value> = rows.iter().map(|row| &row.call).collect();
        let mut last = protocol.faulty.clone();
        let id = format!("last of {batch}");
        last[protocol.message] = json!(id);
        calls.push(&last);
        let body = json!({"batch": calls, "api_key": sender.key});
        sender.post(protocol.path, &body, 200).await;
        eventually("the last faulty call is listed", || async {
            let list = workspace.api.get("/events/rejected?limit=1", 200).await.json();
            (list["data"][0]["messageId"] == json!(id)).then_some(())
        })
        .await;
    }
}

/// The places of the rows by the ids that they were sent with.
fn places<'r>(rows: &'r [Row], id: &str) -> HashMap<&'r str, usize> {
    let sent = rows.iter().enumerate().map(|(place, row)| (row.call[id].as_str(), place));
    sent.filter_map(|(id, place)| Some((id?, place))).collect()
}

/// Reads the rows back and compares what became of each with what is expected.
async fn compare(workspace: &Workspace, protocol: &Protocol, rows: &[Row]) {
    let (users, messages) = (places(rows, protocol.user), places(rows, protocol.message));
    let place = |message: &Value, user: &Value| {
        let place = |ids: &HashMap<&str, usize>, id: &Value| ids.get(id.as_str()?).copied();
        place(&messages, message).or_else(|| place(&users, user))
    };
    let list = workspace.api.get("/events/rejected?limit=1000", 200).await.json();
    let listed = list["data"].as_array().unwrap();
    assert_eq!(list["total"], listed.len(), "all are listed");
    let refused: Vec<(usize, &str)> = listed
        .iter()
        .filter_map(|it| Some((place(&it["messageId"], &it["userId"])?, it["reason"].as_str()?)))
        .collect();
    let batches = rows.len().div_ceil(BATCH_ROWS);
    assert_eq!(refused.len() + batches, listed.len(), "each is of a row");
    let refused: BTreeMap<usize, &str> = refused.into_iter().collect();
    for (place, row) in rows.iter().enumerate() {
        let reason = row.expected.as_ref().err().map(String::as_str);
        assert_eq!(refused.get(&place).copied(), reason, "{}", row.call);
    }
    let expected = |is: fn(&Row) -> bool| -> BTreeSet<usize> {
        (0..rows.len()).filter(|place| is(&rows[*place])).collect()
    };
    let events = expected(|row| row.expected == Ok(Becomes::Event));
    let found = arrived(workspace, "/events/query?limit=1000", events.len()).await;
    let found_places = found.iter().map(|it| place(&it["event_id"], &it["user_id"]).unwrap());
    assert_eq!((found.len(), found_places.collect()), (events.len(), events));
    let profiles = expected(Row::is_of_a_profile);
    let found = arrived(workspace, "/users?limit=200", profiles.len()).await;
    let found_places = found.iter().map(|it| users[it["externalId"].as_str().unwrap()]);
    assert_eq!((found.len(), found_places.collect()), (profiles.len(), profiles));
}

/// Waits until so many rows of a list are there; gives all.
async fn arrived(workspace: &Workspace, path: &str, count: usize) -> Vec<Value> {
    eventually(&format!("{count} rows of {path} are there"), || async {
        // While rows arrive, one may be on two pages.
        let found = all(workspace, path).await;
        let distinct: BTreeSet<String> = found.iter().map(Value::to_string).collect();
        (distinct.len() >= count).then_some(())
    })
    .await;
    all(workspace, path).await
}

/// All rows of a list, page by page.
async fn all(workspace: &Workspace, path: &str) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    loop {
        let page = workspace.api.get(format!("{path}&offset={}", found.len()), 200).await.json();
        let rows = page.as_array().or_else(|| page["data"].as_array()).unwrap();
        if rows.is_empty() {
            return found;
        }
        found.extend(rows.iter().cloned());
    }
}

#[tokio::test]
async fn each_field_of_each_call_of_segment_is_held_to_its_rules() {
    let workspace = Workspace::new().await;
    let protocol = Protocol {
        user: "userId",
        message: "messageId",
        path: "/v1/batch",
        faulty: json!({"type": "none"}),
    };
    let mut rows = rows(&segment_kinds(), &protocol);
    for kind in ["track", "page", "screen"] {
        let call =
            json!({"type": kind, "event": "E", "messageId": format!("{kind} without a user")});
        let expected = Err("userId or anonymousId is required".to_owned());
        rows.push(Row { call, expected });
    }
    send(&workspace, &protocol, &rows).await;
    compare(&workspace, &protocol, &rows).await;
}

#[tokio::test]
async fn each_field_of_each_call_of_posthog_is_held_to_its_rules() {
    let workspace = Workspace::new().await;
    let protocol = Protocol {
        user: "distinct_id",
        message: "uuid",
        path: "/batch/",
        faulty: json!({"event": "E"}),
    };
    let rows = rows(&posthog_kinds(), &protocol);
    send(&workspace, &protocol, &rows).await;
    compare(&workspace, &protocol, &rows).await;
}
