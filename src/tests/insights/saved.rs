//! `/insights` and `/insights/:id`: questions saved under a name; and what can be asked about.

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{event, track};
use crate::kit::{Workspace, eventually, server};

fn trends() -> Value {
    json!({"series": [{"eventName": "Seen", "label": "Seen, \"all\""}], "from": "2026-03-01", "to": "2026-03-03", "breakdown": {"property": "plan"}})
}

pub(super) async fn save(
    workspace: &Workspace,
    name: &str,
    kind: &str,
    question: &Value,
) -> String {
    let body = json!({"name": name, "kind": kind, "question": question});
    let saved = workspace.api.post("/insights", &body, 201).await.json();
    assert_eq!(
        (&saved["name"], &saved["kind"], &saved["question"]),
        (&json!(name), &json!(kind), question)
    );
    saved["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_insight_is_saved_read_changed_listed_and_deleted() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    let first = save(&workspace, "Seen", "trends", &trends()).await;
    let steps = json!({"steps": [{"eventName": "A"}, {"eventName": "B"}], "window": {"amount": 1, "unit": "days"}, "last": {"amount": 7, "unit": "days"}});
    let second = save(&workspace, "Way", "funnels", &steps).await;
    let list = workspace.api.get("/insights", 200).await.json();
    let names: Vec<&Value> =
        list["data"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!((json!(names), &list["pagination"]["total"]), (json!(["Way", "Seen"]), &json!(2)));
    let path = format!("/insights/{first}");
    let series = json!([{"eventName": "Seen"}]);
    let backwards = json!({"series": series, "from": "2026-06-01", "to": "2026-05-31"});
    let century =
        json!({"series": series, "from": "1970-01-01", "to": "2070-01-01", "interval": "hour"});
    let put = async |body: Value, status: u16| {
        let request = workspace.api.request(Method::PUT, &path).json(&body);
        workspace.api.send(request, status).await.json()
    };
    assert_eq!(put(json!({"name": " Renamed "}), 200).await["name"], "Renamed");
    assert_eq!(put(json!({"kind": "funnels", "question": steps}), 200).await["kind"], "funnels");
    for (body, expected) in [
        (json!({"kind": "trends"}), "question is required with kind"),
        (json!({"question": trends()}), "question.steps is required"),
        (json!({"kind": "pie", "question": {}}), "kind must be one of: trends, funnels, retention"),
        (json!({"name": " "}), "name must not be empty"),
        (json!({"kind": "trends", "question": backwards}), "question.from must not be after to"),
        (
            json!({"kind": "trends", "question": century}),
            "question.interval must make at most 5000 intervals of the range",
        ),
        (
            json!({"question": {"from": "2026-06-01", "to": "2026-05-31", "steps": steps["steps"], "window": steps["window"]}}),
            "question.from must not be after to",
        ),
    ] {
        let text = put(body.clone(), 400).await.to_string();
        assert!(text.contains(expected), "{body}: {text}");
    }
    assert_eq!(workspace.api.get(&path, 200).await.json()["question"], steps);
    for path in [path.clone(), format!("{path}/result")] {
        other.api.get(&path, 404).await;
    }
    workspace.api.send(workspace.api.request(Method::DELETE, &path), 204).await;
    workspace.api.get(&path, 404).await;
    workspace.api.get(format!("/insights/{second}/result"), 200).await;
}

#[tokio::test]
async fn a_question_that_does_not_fit_its_kind_is_refused() {
    let workspace = Workspace::new().await;
    let long = json!({"series": [{"filters": [{"property": "a", "operator": "in", "value": vec!["x".repeat(200); 400]}]}], "from": "2026-03-01"});
    for (body, expected) in [
        (
            json!({"name": "a", "kind": "retention", "question": trends()}),
            "question.start is required",
        ),
        (
            json!({"name": "a", "kind": "trends", "question": {"series": [{"metric": "sum"}], "from": "2026-03-01"}}),
            "question.series[0].field is required",
        ),
        (
            json!({"name": "a", "kind": "trends", "question": long}),
            "question must have at most 65536 bytes of JSON",
        ),
        (json!({"name": "a", "kind": "trends"}), "question is required"),
        (
            json!({"name": "x".repeat(256), "kind": "trends", "question": trends()}),
            "name must be at most 255 characters",
        ),
    ] {
        let text = workspace.api.post("/insights", &body, 400).await.text;
        assert!(text.contains(expected), "{text}");
    }
}

/// A question of exactly so many bytes of JSON.
fn question_of(bytes: usize) -> Value {
    let question = |values: &[String]| {
        let filter = json!({"property": "a", "operator": "in", "value": values});
        json!({"series": [{"filters": [filter]}], "from": "2026-03-01"})
    };
    let mut values = vec!["x".repeat(100); 640];
    while question(&values).to_string().len() > bytes {
        values.pop();
    }
    let left = bytes - question(&values).to_string().len();
    values[0].push_str(&"x".repeat(left));
    question(&values)
}

#[tokio::test]
async fn a_question_has_a_limit_of_bytes_whether_its_kind_is_sent_or_not() {
    let workspace = Workspace::new().await;
    let (longest, longer) = (question_of(65_536), question_of(65_537));
    assert_eq!(longer.to_string().len(), 65_537);
    let id = save(&workspace, "Long", "trends", &longest).await;
    let put = async |body: Value, status: u16| {
        let request = workspace.api.request(Method::PUT, &format!("/insights/{id}"));
        workspace.api.send(request.json(&body), status).await.text
    };
    put(json!({"question": longest}), 200).await;
    put(json!({"kind": "trends", "question": longest}), 200).await;
    let expected = "question must have at most 65536 bytes of JSON, received 65537";
    for body in [json!({"question": longer}), json!({"kind": "trends", "question": longer})] {
        let text = put(body, 400).await;
        assert!(text.contains(expected), "{text}");
    }
    let body = json!({"name": "Longer", "kind": "trends", "question": longer});
    let text = workspace.api.post("/insights", &body, 400).await.text;
    assert!(text.contains(expected), "{text}");
}

#[tokio::test]
async fn of_two_changes_at_once_neither_is_lost() {
    let workspace = Workspace::new().await;
    let id = save(&workspace, "Before", "trends", &trends()).await;
    let path = format!("/insights/{id}");
    let (db, api, renamed_path) = (server().db(), workspace.api.clone(), path.clone());
    let changed = json!({"series": [{"eventName": "Changed"}], "from": "2026-03-01"});
    let question = changed.clone();
    let renamed = server()
        .on(async move {
            // A change of the question that is not committed yet.
            let mut tx = db.begin().await.unwrap();
            sqlx::query("update insight set question = $2 where id = $1")
                .bind(id.parse::<Uuid>().unwrap())
                .bind(question)
                .execute(&mut *tx)
                .await
                .unwrap();
            let process: i32 =
                sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut *tx).await.unwrap();
            let rename = api.request(Method::PUT, &renamed_path).json(&json!({"name": "After"}));
            let renamed = tokio::spawn(async move { api.send(rename, 200).await.json() });
            eventually("the other change waits", || async {
                let waiting = "select exists (
                    select from pg_stat_activity where $1 = any(pg_blocking_pids(pid)))";
                let waits: bool =
                    sqlx::query_scalar(waiting).bind(process).fetch_one(&db).await.unwrap();
                waits.then_some(())
            })
            .await;
            tx.commit().await.unwrap();
            renamed.await.unwrap()
        })
        .await;
    assert_eq!((&renamed["name"], &renamed["question"]), (&json!("After"), &changed));
    let stored = workspace.api.get(&path, 200).await.json();
    assert_eq!((&stored["name"], &stored["question"]), (&json!("After"), &changed));
}

#[tokio::test]
async fn a_question_about_a_segment_that_does_not_exist_is_not_saved() {
    let (workspace, other) = (Workspace::new().await, Workspace::new().await);
    let segment = |workspace: &Workspace| {
        let api = workspace.api.clone();
        async move { api.post("/segments", &json!({"name": "VIP", "targeting": {}}), 201).await.json() }
    };
    let (known, foreign) = (segment(&workspace).await, segment(&other).await);
    let questions = |people: &Value| {
        let mut trends = trends();
        let mut steps = json!({"steps": [{"eventName": "A"}, {"eventName": "B"}], "window": {"amount": 1, "unit": "days"}, "last": {"amount": 7, "unit": "days"}});
        let mut returns = json!({"start": {"eventName": "A"}, "return": {"eventName": "B"}, "interval": "week", "intervals": 2, "last": {"amount": 7, "unit": "days"}});
        for question in [&mut trends, &mut steps, &mut returns] {
            question["people"] = people.clone();
        }
        [("trends", trends), ("funnels", steps), ("retention", returns)]
    };
    let member = |segment: &Value| {
        json!({"filterGroups": [{"filters": [{"type": "attribute", "field": "plan", "operator": "exists"},
        {"type": "segment", "field": segment["id"], "operator": "member"}]}]})
    };
    let good = save(&workspace, "Good", "trends", &questions(&member(&known))[0].1).await;
    save(&workspace, "Whole", "funnels", &questions(&json!({"segmentId": known["id"]}))[1].1).await;
    let absent = json!({"id": "00000000-0000-7000-8000-000000005e9d"});
    for unknown in [&absent, &foreign] {
        for people in [json!({"segmentId": unknown["id"]}), member(unknown)] {
            for (kind, question) in questions(&people) {
                // As the question itself is answered, within the field that it stands in.
                let asked = workspace.api.post(&format!("/insights/{kind}"), &question, 400).await;
                let errors: Vec<String> =
                    asked.errors().iter().map(|error| format!("question.{error}")).collect();
                assert!(
                    errors.len() == 1 && errors[0].starts_with("question.people."),
                    "{errors:?}"
                );
                let body = json!({"name": "a", "kind": kind, "question": question});
                assert_eq!(workspace.api.post("/insights", &body, 400).await.errors(), errors);
                let request = workspace.api.request(Method::PUT, &format!("/insights/{good}"));
                let changed = json!({"kind": kind, "question": question});
                let refused = workspace.api.send(request.json(&changed), 400).await;
                assert_eq!(refused.errors(), errors);
            }
        }
    }
    let list = workspace.api.get("/insights", 200).await.json();
    assert_eq!(list["pagination"]["total"], 2);
    let path = format!("/insights/{good}");
    assert_eq!(workspace.api.get(&path, 200).await.json()["question"]["people"], member(&known));
    // Deletion looks at the same uses.
    let used = format!("/segments/{}", known["id"].as_str().unwrap());
    let delete = workspace.api.request(Method::DELETE, &used);
    let refused = workspace.api.send(delete, 409).await.json();
    assert_eq!(refused["message"], "The segment is in use by the insights \"Good\", \"Whole\"");
}

#[tokio::test]
async fn names_and_properties_of_events_are_listed() {
    let workspace = Workspace::new().await;
    let now = kernel::Clock::system().now().utc();
    let at = |days: i64| {
        (now - chrono::TimeDelta::days(days)).to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
    };
    let mut events = vec![
        event("ann", "Seen", &at(1), json!({"plan": "pro", "n": 1, "deep": {"a": 1}})),
        event("ann", "Seen", &at(2), json!({"plan": "pro", "n": 2.5, "flag": true})),
        event("bob", "Seen", &at(3), json!({"plan": null, "n": "x", "list": []})),
        event("bob", "Old", &at(40), json!({})),
    ];
    events.extend(
        (0..25).map(|number| event("cid", "Many", &at(1), json!({"id": format!("v{number}")}))),
    );
    track(&workspace, &events).await;
    let expected = json!([["Many", 25, at(1)], ["Seen", 3, at(1)], ["Old", 0, at(40)]]);
    // A view of ClickHouse counts an event a moment after it is stored.
    eventually("the names are counted", || async {
        let names = workspace.api.get("/insights/events", 200).await.json();
        let names = names["data"].as_array().unwrap().iter().filter(|it| it["name"] != "Marker");
        let shown: Vec<Value> =
            names.map(|it| json!([it["name"], it["count"], it["newest"]])).collect();
        (json!(shown) == expected).then_some(())
    })
    .await;
    assert_eq!(
        workspace.api.get("/insights/events?limit=1", 200).await.json()["data"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let found = workspace.api.get("/insights/properties?eventName=Seen", 200).await.json();
    assert_eq!(found["sampled"], 3);
    let shown: Vec<Value> = found["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| json!([it["name"], it["types"]]))
        .collect();
    assert_eq!(
        json!(shown),
        json!([
            ["n", ["number", "string"]],
            ["plan", ["null", "string"]],
            ["deep", ["object"]],
            ["flag", ["boolean"]],
            ["list", ["array"]]
        ])
    );
    let plan = &found["data"][1];
    assert_eq!((&plan["values"][0]["value"], plan["share"].as_f64()), (&json!("pro"), Some(1.0)));
    assert!((plan["values"][0]["share"].as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-12);
    let many = workspace.api.get("/insights/properties?eventName=Many", 200).await.json();
    assert_eq!(many["data"][0].get("values"), None);
    assert_eq!(
        workspace.api.get("/insights/properties?eventName=Never", 200).await.json(),
        json!({"sampled": 0, "data": []})
    );
    workspace.api.get("/insights/properties", 400).await;
}

#[tokio::test]
async fn events_dated_ahead_are_not_among_those_of_the_last_days() {
    let workspace = Workspace::new().await;
    let now = || kernel::Clock::system().now().utc();
    let at =
        |ago: chrono::TimeDelta| (now() - ago).to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
    let (day, hour) = (chrono::TimeDelta::days(1), chrono::TimeDelta::hours(1));
    let yesterday = at(day);
    let events = [
        event("ann", "Seen", &yesterday, json!({"plan": "pro"})),
        event("ann", "Seen", &at(-day * 2), json!({"ahead": 1})),
        event("bob", "Later", &yesterday, json!({})),
        event("bob", "Later", &at(-hour), json!({})),
        event("cid", "Ahead", &at(-day * 2), json!({"ahead": 1})),
    ];
    track(&workspace, &events).await;
    let names = eventually("the names are counted", || async {
        let names = workspace.api.get("/insights/events", 200).await.json();
        let names: Vec<Value> = names["data"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|it| it["name"] != "Marker")
            .cloned()
            .collect();
        (names.len() == 2).then_some(names)
    })
    .await;
    let of = |name: &str| names.iter().find(|it| it["name"] == name).unwrap();
    assert_eq!(of("Seen"), &json!({"name": "Seen", "count": 1, "newest": yesterday}));
    let newest = of("Later")["newest"].as_str().unwrap();
    assert!(chrono::DateTime::parse_from_rfc3339(newest).unwrap() <= now(), "{newest}");
    let properties = async |name: &str| {
        let found = workspace.api.get(format!("/insights/properties?eventName={name}"), 200).await;
        let found = found.json();
        let names: Vec<Value> =
            found["data"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
        json!([found["sampled"], names])
    };
    assert_eq!(properties("Seen").await, json!([1, ["plan"]]));
    assert_eq!(properties("Ahead").await, json!([0, []]));
}
