//! `/console/explore`: the same numbers as the API's, under addresses that can be sent.

use serde_json::json;
use url::form_urlencoded;
use web::workspaces::{self, Days, WorkspaceChanges};

use super::kit::{Person, link};
use crate::kit::{BrowserTab, Workspace, eventually, server};

/// Three orders of two people, one signed up before.
pub(super) async fn with_events() -> Workspace {
    let workspace = Workspace::new().await;
    let event = |user: &str, name: &str, at: &str, properties: serde_json::Value| json!({"userId": user, "eventName": name, "timestamp": at, "properties": properties});
    let events = json!([
        event("ann", "Signed Up", "2026-03-01T08:00:00Z", json!({"plan": "pro"})),
        event("ann", "Bought", "2026-03-01T09:00:00Z", json!({"total": 10.5, "country": "GB"})),
        event("ann", "Bought", "2026-03-02T09:00:00Z", json!({"total": 20, "country": "GB"})),
        event("bob", "Bought", "2026-03-02T10:00:00Z", json!({"total": 5, "country": "<b>FR</b>"})),
    ]);
    workspace.api.post("/events/track", &events, 200).await;
    let question = json!({"series": [{}], "from": "2026-03-01", "to": "2026-03-03"});
    eventually("the events are visible", || async {
        let trends = workspace.api.post("/insights/trends", &question, 200).await.json();
        (trends["series"][0]["total"] == 4.0).then_some(())
    })
    .await;
    workspace
}

pub(super) const RANGE: &str = "from=2026-03-01&to=2026-03-03";

#[tokio::test]
async fn a_trend_has_the_numbers_of_the_api() {
    let workspace = with_events().await;
    let person = Person::signed_in(&workspace, "*").await;
    let address = format!(
        "/console/explore?tab=trends&event=Bought&metric=sum&field=total&breakdown=country&{RANGE}&answer=on"
    );
    let seen = person.get(&address).await;
    assert_eq!(seen.status, 200, "{}", seen.text);
    let chart = seen.chart();
    assert_eq!(chart["series"][0]["label"], "Bought: GB");
    assert_eq!(chart["series"][0]["values"], json!([10.5, 20.0, 0.0]));
    assert!(!seen.text.contains("<b>FR") && seen.text.contains("Show data"), "{}", seen.text);
    assert!(seen.text.contains("API call") && seen.text.contains("ifNull(sum("), "{}", seen.text);
    let csv = seen.between("<a href=\"/console/explore/csv?", "\"").replace("&amp;", "&");
    let csv = person.get(&format!("/console/explore/csv?{csv}")).await;
    assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8");
    assert!(csv.text.starts_with("interval,label,"), "{}", csv.text);
    assert_eq!(csv.text.lines().count(), 7, "{}", csv.text);
}

#[tokio::test]
async fn an_answer_comes_with_the_page_or_in_its_place() {
    let workspace = with_events().await;
    let person = Person::signed_in(&workspace, "*").await;
    let sql = "tab=sql&sql=SELECT+%27an+answer%27+AS+text".to_owned();
    for (query, answer) in [
        (format!("tab=trends&event=Bought&{RANGE}"), "Totals of the whole range"),
        (format!("tab=funnels&event=Signed+Up&event=Bought&{RANGE}"), "1 people entered"),
        (format!("tab=retention&event=Bought&{RANGE}"), "<h2>Cohorts</h2>"),
        (sql, "Rows of the answer"),
    ] {
        let first = person.get(&format!("/console/explore?{query}")).await;
        // On a busy machine the answer comes later than the page.
        let is_there = first.text.contains("<div id=\"explore-answer\">");
        let place = format!("/console/explore?{query}&answer=on");
        let is_promised =
            first.text.contains(&format!("hx-get=\"{}\"", place.replace('&', "&amp;")));
        assert!(is_there != is_promised, "{query}: {}", first.text);
        // Without a script the link leads to the whole page.
        let whole = eventually("the views are there", || async {
            let whole = person.get(&place).await;
            whole.text.contains(answer).then_some(whole)
        })
        .await;
        assert!(whole.text.contains("<main") && !whole.text.contains("hx-get"), "{}", whole.text);
        let request = person.request(http::Method::GET, &place).header("hx-request", "true");
        let part = person.send(request).await;
        assert!(part.text.contains(answer), "{query}: {}", part.text);
        assert!(part.text.starts_with("<div id=\"explore-answer\">"), "{query}: {}", part.text);
    }
}

#[tokio::test]
async fn answers_name_the_day_from_which_they_are_complete() {
    let workspace = Workspace::new().await;
    let (db, name) = (server().db(), workspace.name.clone());
    let changes = WorkspaceChanges { events: Some(Days::Of(10)), ..WorkspaceChanges::default() };
    server().on(async move { workspaces::set(&db, &name, &changes).await.unwrap() }).await;
    let person = Person::signed_in(&workspace, "*").await;
    for tab in ["trends&event=Bought", "funnels&event=Seen&event=Bought", "retention&event=Bought"]
    {
        for (range, is_cut) in [("last=90d", true), ("last=7d", false)] {
            let seen = person.get(&format!("/console/explore?tab={tab}&{range}&answer=on")).await;
            assert_eq!(seen.status, 200, "{}", seen.text);
            assert_eq!(seen.text.contains("Complete from"), is_cut, "{tab} {range}: {}", seen.text);
        }
    }
}

#[tokio::test]
async fn what_is_not_right_in_a_question_is_named_by_its_field() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let more = format!("{RANGE}&answer=on");
    for (question, fault) in [
        ("tab=trends&event=A&event=B&metric=sum", "#field\">Of the property</a>: is required"),
        ("tab=trends&event=A&filters=x", "#fp%2D0\">Filters</a>: must be a JSON array"),
        (
            "tab=funnels&event=A&event=B&window=abc",
            "#window\">Within</a>: must be like 30min, 24h, 7d",
        ),
        ("tab=funnels&event=A", "#event%2D0\">Steps</a>: must have"),
        ("tab=retention&event=A&intervals=1000", "#intervals\">Intervals</a>: must be"),
    ] {
        let seen = person.get(&format!("/console/explore?{question}&{more}")).await;
        assert_eq!(seen.text.matches(fault).count(), 1, "{question}: {}", seen.text);
        assert!(
            !seen.text.contains("series[") && !seen.text.contains("steps must"),
            "{}",
            seen.text
        );
    }
    let fields = [("question", "tab=funnels&last=7d"), ("name", "Empty")];
    let seen = person.post("/console/explore/save", &fields).await;
    assert_eq!(seen.status, 400);
    assert!(
        seen.text.contains("Steps</a>: must have") && !seen.text.contains("question.steps"),
        "{}",
        seen.text
    );
    assert!(seen.text.contains("value=\"Empty\""), "{}", seen.text);
}

#[tokio::test]
async fn filters_of_the_form_become_a_part_of_the_address() {
    let workspace = with_events().await;
    let person = Person::signed_in(&workspace, "*").await;
    let form = format!("tab=trends&event=Bought&{RANGE}&fp=total&fo=gte&fv=10&fp=&fo=equals&fv=");
    let seen = person.get(&format!("/console/explore?{form}")).await;
    assert_eq!(seen.status, 303);
    let address = seen.location().to_owned();
    assert!(address.contains("filters=%5B") && !address.contains("fp="), "{address}");
    let seen = person.get(&format!("{address}&answer=on")).await;
    assert!(seen.text.contains(">2</td>"), "two of three: {}", seen.text);
    let wrong = person.get("/console/explore?event=Bought&filters=x").await;
    assert!(wrong.text.contains("Filters</a>: must be a JSON array"), "{}", wrong.text);
    let refused = person.get("/console/explore?event=Bought&metric=sum&answer=on").await;
    assert!(refused.text.contains("Of the property</a>: is required"), "{}", refused.text);
}

#[tokio::test]
async fn funnels_and_retention_are_tables() {
    let workspace = with_events().await;
    let person = Person::signed_in(&workspace, "*").await;
    let funnel =
        format!("/console/explore?tab=funnels&event=Signed%20Up&event=Bought&{RANGE}&answer=on");
    let seen = person.get(&funnel).await;
    assert!(seen.text.contains("1 people entered"), "{}", seen.text);
    assert!(seen.text.contains("2. Bought") && seen.text.contains("100.0 %"), "{}", seen.text);
    let retention = format!(
        "/console/explore?tab=retention&event=Bought&interval=day&intervals=2&{RANGE}&answer=on"
    );
    let seen = person.get(&retention).await;
    assert!(seen.text.contains("2026-03-01") && seen.text.contains("heat-10"), "{}", seen.text);
    let empty = person.get("/console/explore?tab=funnels").await;
    assert!(empty.text.contains("Choose events"), "{}", empty.text);
}

#[tokio::test]
async fn a_question_is_saved_opened_and_deleted() {
    let workspace = with_events().await;
    let person = Person::signed_in(&workspace, "*").await;
    let question = format!("tab=trends&event=Bought&metric=unique&{RANGE}");
    let fields = [("question", question.as_str()), ("name", "Buyers <1>")];
    assert_eq!(person.post_bare("/console/explore/save", &fields).await.status, 403, "CSRF");
    let saved = person.post("/console/explore/save", &fields).await;
    assert_eq!(saved.status, 303, "{}", saved.text);
    let address = saved.location().to_owned();
    assert!(address.starts_with("/console/explore?insight="), "{address}");
    let seen = person.get(&address).await;
    assert!(seen.text.contains("Buyers &lt;1&gt;") && seen.text.contains("was saved"));
    assert!(seen.text.contains("value=\"Bought\""), "{}", seen.text);
    // Reading is open to sessions that may not save.
    let reader = Person::signed_in(&workspace, "events:read").await;
    let seen = reader.get(&address).await;
    assert!(seen.text.contains("Buyers") && !seen.text.contains("Save this question"));
    let delete = address.replace("explore?", "explore/delete?");
    assert_eq!(person.post(&delete, &[("confirm", "Buyers")]).await.status, 400);
    assert_eq!(person.post(&delete, &[("confirm", "Buyers <1>")]).await.status, 303);
    assert_eq!(person.get(&address).await.status, 404);
}

#[tokio::test]
async fn a_saved_question_is_changed_renamed_and_kept_as_typed_when_refused() {
    let workspace = with_events().await;
    let person = Person::signed_in(&workspace, "*").await;
    let question = format!("tab=trends&event=Bought&{RANGE}");
    let fields = [("question", question.as_str()), ("name", "Buyers")];
    let address = person.post("/console/explore/save", &fields).await.location().to_owned();
    let id = address.split_once('=').unwrap().1;
    // The form keeps which question is opened, so that what is changed can be saved in its place.
    let seen = person.get(&address).await;
    assert!(seen.text.contains(&format!("name=\"insight\" value=\"{id}\"")), "{}", seen.text);
    let changed = format!("tab=trends&metric=unique&insight={id}&{RANGE}");
    let seen = person.get(&format!("/console/explore?{changed}")).await;
    assert!(seen.text.contains("Save as a new question"), "{}", seen.text);
    let update = format!("/console/explore/update?insight={id}");
    let fields = [("question", changed.as_str()), ("name", "People")];
    assert_eq!(person.post_bare(&update, &fields).await.status, 403, "CSRF");
    assert_eq!(person.post(&update, &fields).await.location(), address);
    let saved = workspace.api.get(&format!("/insights/{id}"), 200).await.json();
    let series = json!([{"metric": "unique", "label": "All events"}]);
    assert_eq!((&saved["name"], &saved["question"]["series"]), (&json!("People"), &series));

    let long = "x".repeat(300);
    for (path, insight) in [("/console/explore/save", ""), (update.as_str(), id)] {
        let question = format!("tab=funnels&event=Bought&event=Seen&insight={insight}&{RANGE}");
        let fields = [("question", question.as_str()), ("name", long.as_str())];
        let seen = person.post(path, &fields).await;
        assert_eq!(seen.status, 400, "{path}");
        assert!(
            seen.text.contains(&long) && seen.text.contains("id=\"name-fault\""),
            "{path}: {}",
            seen.text
        );
        assert!(seen.text.contains("value=\"Seen\""), "{path}: {}", seen.text);
    }
    let reader = Person::signed_in(&workspace, "events:read").await;
    let seen = reader.post(&update, &fields).await;
    assert_eq!(seen.status, 403);
    assert!(seen.text.contains("events:write"), "{}", seen.text);
}

#[tokio::test]
async fn a_question_with_parts_that_the_page_does_not_show_is_only_renamed() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let series =
        json!([{"metric": "count", "eventName": "A"}, {"metric": "unique", "eventName": "B"}]);
    let question = json!({"series": series, "from": "2026-03-01", "to": "2026-03-03"});
    let new = json!({"name": "Both", "kind": "trends", "question": question});
    let saved = workspace.api.post("/insights", &new, 201).await.json();
    let id = saved["id"].as_str().unwrap();
    let seen = person.get(&format!("/console/explore?insight={id}")).await;
    assert!(seen.text.contains(">Rename</button>"), "{}", seen.text);
    let fields = [("question", "tab=trends&event=A&last=7d"), ("name", "A and B")];
    let update = format!("/console/explore/update?insight={id}");
    assert_eq!(person.post(&update, &fields).await.status, 303);
    let saved = workspace.api.get(&format!("/insights/{id}"), 200).await.json();
    assert_eq!((&saved["name"], &saved["question"]), (&json!("A and B"), &question));
}

#[tokio::test]
async fn a_saved_question_with_more_than_the_page_shows_says_so() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let mut shown = Vec::new();
    for second in ["count", "unique"] {
        let series =
            json!([{"metric": "count", "eventName": "A"}, {"metric": second, "eventName": "B"}]);
        let question = json!({"series": series, "from": "2026-03-01", "to": "2026-03-03"});
        let new = json!({"name": second, "kind": "trends", "question": question});
        let saved = workspace.api.post("/insights", &new, 201).await.json();
        let address = format!("/console/explore?insight={}", saved["id"].as_str().unwrap());
        shown.push(person.get(&address).await.text.contains("parts that this page does not show"));
    }
    assert_eq!(shown, [false, true]);
}

#[tokio::test]
async fn a_chart_is_drawn_in_a_browser() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            eprintln!("SKIPPED a_chart_is_drawn_in_a_browser: {reason}");
            return;
        }
    };
    let workspace = with_events().await;
    tab.go(link(&workspace, "*").await.as_str()).await;
    let address = format!("{}/console/explore?tab=trends&event=Bought&{RANGE}", server().url);
    tab.go(&address).await;
    tab.until("document.querySelector('.chart-canvas canvas')").await;
    let over = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(tab.value(over).await, json!(0));
    assert_eq!(tab.errors(), [""; 0]);
}

#[tokio::test]
async fn a_statement_in_sql_has_rows_a_chart_and_a_file() {
    let workspace = with_events().await;
    let person = Person::signed_in(&workspace, "*").await;
    // The views are made after the server has begun.
    eventually("the views are listed", || async {
        let empty = person.get("/console/explore?tab=sql").await;
        assert_eq!(empty.status, 200, "{}", empty.text);
        empty.text.contains("<code>people</code>").then_some(())
    })
    .await;
    let statement = "SELECT toStartOfDay(timestamp) AS day, event_name, sum(revenue) AS total, \
                     '<b>' AS text FROM events GROUP BY day, event_name ORDER BY day";
    let of = |statement: &str| {
        form_urlencoded::Serializer::new(String::new())
            .append_pair("tab", "sql")
            .append_pair("sql", statement)
            .finish()
    };
    let seen = person.get(&format!("/console/explore?{}&answer=on", of(statement))).await;
    assert!(seen.text.contains("&lt;b&gt;") && !seen.text.contains("<b>"), "{}", seen.text);
    assert!(seen.text.contains("3 rows"), "{}", seen.text);
    let over_time = "SELECT toDate(timestamp) AS day, event_name, count() AS n FROM events \
                     GROUP BY day, event_name ORDER BY day";
    let seen = person.get(&format!("/console/explore?{}&answer=on", of(over_time))).await;
    let chart = seen.chart();
    assert_eq!(chart["labels"], json!(["2026-03-01", "2026-03-02"]));
    let bought = chart["series"].as_array().unwrap().iter().find(|it| it["label"] == "Bought");
    assert_eq!(bought.unwrap()["values"], json!([1.0, 2.0]));
    let file = person.get(&format!("/console/explore/csv?{}", of(over_time))).await;
    assert_eq!(file.headers["content-type"], "text/csv; charset=utf-8");
    assert!(file.text.starts_with("\"day\",\"event_name\",\"n\"\n"), "{}", file.text);
    assert_eq!(file.text.lines().count(), 4, "{}", file.text);
}

#[tokio::test]
async fn statements_are_those_of_the_listener_with_its_errors() {
    let workspace = with_events().await;
    let person = Person::signed_in(&workspace, "*").await;
    eventually("statements are taken", || async {
        let seen = person.get("/console/explore?tab=sql").await;
        seen.text.contains("<code>people</code>").then_some(())
    })
    .await;
    let ask = async |statement: &str| {
        let statement: String = form_urlencoded::byte_serialize(statement.as_bytes()).collect();
        person.get(&format!("/console/explore?tab=sql&answer=on&sql={statement}")).await
    };
    for (statement, text) in [
        ("SELECT * FROM system.users", "Code: 60"),
        ("SELECT file('/etc/passwd')", "Code: 497"),
        ("INSERT INTO events VALUES (1)", "Code: 164"),
        ("SELECT nothing FROM events", "Code: 47"),
        ("SELECT throwIf(number = 3) FROM numbers(9)", "Code: 395"),
    ] {
        let seen = ask(statement).await;
        assert!(seen.text.contains(text), "{statement}: {}", seen.text);
    }
    let seen = ask("SELECT number FROM numbers(5000)").await;
    assert!(seen.text.contains("1,000 rows; there are more"), "{}", seen.text);
    let seen = ask("SELECT 1 AS one FORMAT Vertical").await;
    assert!(seen.text.contains("Row 1:"), "a format of its own is a text: {}", seen.text);
    for (letters, status) in [(3_991, 200), (3_992, 400)] {
        let seen = ask(&format!("SELECT '{}'", "x".repeat(letters))).await;
        assert_eq!(
            (seen.status.as_u16(), seen.text.contains("id=\"sql-fault\"")),
            (status, status == 400)
        );
        assert!(seen.text.contains(&"x".repeat(letters)), "it is kept: {}", seen.text);
    }
    // Without the scope the tab is not shown, and its address is refused.
    let reader = Person::signed_in(&workspace, "events:read").await;
    let seen = reader.get("/console/explore").await;
    assert!(!seen.text.contains("tab=sql"), "{}", seen.text);
    let seen = reader.get("/console/explore?tab=sql").await;
    assert_eq!(seen.status, 403);
    assert!(seen.text.contains("analytics:sql"), "{}", seen.text);
}
