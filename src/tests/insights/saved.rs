//! `/insights` and `/insights/:id`: questions saved under a name, and their answers in every format.

use reqwest::Method;
use serde_json::{Value, json};
use tables::{Format, TableReader};

use super::{event, track};
use crate::kit::{Workspace, eventually};

fn trends() -> Value {
    json!({"series": [{"eventName": "Seen", "label": "Seen, \"all\""}], "from": "2026-03-01", "to": "2026-03-03", "breakdown": {"property": "plan"}})
}

async fn save(workspace: &Workspace, name: &str, kind: &str, question: &Value) -> String {
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

/// The rows of a table, as objects by column; nulls are left out.
fn rows(format: Format, bytes: &[u8]) -> Vec<Value> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, bytes).unwrap();
    let mut reader = TableReader::open(file.path(), format).unwrap();
    let mut rows = Vec::new();
    while let Some(row) = reader.next_row().unwrap() {
        let fields = row.fields.unwrap().into_iter();
        let fields = fields.map(|field| {
            (field.name.to_string(), serde_json::from_str(field.value.get()).unwrap())
        });
        rows.push(Value::Object(fields.collect()));
    }
    rows
}

#[tokio::test]
async fn every_format_has_the_same_rows() {
    let workspace = Workspace::new().await;
    track(
        &workspace,
        &[
            event("ann", "Seen", "2026-03-01T10:00:00Z", json!({"plan": "pro"})),
            event("ann", "Seen", "2026-03-03T10:00:00Z", json!({"plan": "a,\"b\"\n"})),
            event("bob", "Seen", "2026-03-03T10:00:00Z", json!({})),
        ],
    )
    .await;
    let id = save(&workspace, "Seen", "trends", &trends()).await;
    let answer = workspace.api.get(format!("/insights/{id}/result"), 200).await.json();
    let mut expected = Vec::new();
    for series in answer["series"].as_array().unwrap() {
        for (interval, value) in
            answer["intervals"].as_array().unwrap().iter().zip(series["values"].as_array().unwrap())
        {
            expected.push(json!([interval, series["breakdown"], value]));
        }
    }
    assert_eq!(expected.len(), 9);
    let shown = |row: &Value| {
        let at = row["interval"].as_str().unwrap().replace(".000Z", "Z");
        let number = |value: &Value| {
            value.as_str().map_or(value.clone(), |text| {
                text.parse::<f64>().map_or(Value::Null, |it| json!(it))
            })
        };
        let text = row["breakdown"].as_str().filter(|text| !text.is_empty());
        json!([at, text, number(&row["value"]).as_f64()])
    };
    let expected: Vec<Value> =
        expected.iter().map(|row| json!([row[0], row[1], row[2].as_f64()])).collect();
    for format in [Format::Csv, Format::Parquet] {
        for by_header in [false, true] {
            let path = if by_header {
                format!("/insights/{id}/result")
            } else {
                format!("/insights/{id}/result?format={}", format.name())
            };
            let mut request = workspace.api.request(Method::GET, &path);
            if by_header {
                request = request.header("accept", format.media_type());
            }
            let answer = request.send().await.unwrap();
            assert_eq!(answer.headers()["content-type"], format.media_type());
            let found: Vec<Value> =
                rows(format, &answer.bytes().await.unwrap()).iter().map(shown).collect();
            assert_eq!(found, expected, "{format:?}");
        }
    }
    let request =
        workspace.api.request(Method::POST, "/insights/trends?format=arrow").json(&trends());
    let stream = request.send().await.unwrap().bytes().await.unwrap();
    let reader = arrow_ipc::reader::StreamReader::try_new(stream.as_ref(), None).unwrap();
    assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 9);
    // `?format=` beats the header.
    let request = workspace
        .api
        .request(Method::GET, &format!("/insights/{id}/result?format=json"))
        .header("accept", "text/csv");
    assert_eq!(request.send().await.unwrap().headers()["content-type"], "application/json");
    let text = workspace.api.get(format!("/insights/{id}/result?format=xlsx"), 400).await.text;
    assert!(text.contains("format must be one of: json, csv, parquet, arrow"), "{text}");
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
