//! `/console/suppressions`: searching, adding, removing and importing rows.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::kit::{Person, link};
use crate::{
    consent::fixture,
    kit::{BrowserTab, Workspace, server},
};

const IMPORT: &str = "/console/suppressions/import";

async fn rows(workspace: &Workspace, channel: &str) -> Value {
    workspace.api.get(format!("/suppressions?channel={channel}"), 200).await.json()
}

#[tokio::test]
async fn a_row_is_added_found_and_removed() {
    let workspace = Workspace::new().await;
    let ann = json!({"externalId": "ann", "email": "ann@example.test"});
    let ann = workspace.api.post("/users", &ann, 201).await.json();
    let person = Person::signed_in(&workspace, "*").await;
    let seen = person.get("/console/suppressions").await;
    assert!(seen.text.contains("No suppressions"), "{}", seen.text);
    let fields =
        [("channel", "email"), ("newIdentifier", " Ann@Example.test"), ("newReason", "manual")];
    let seen = person.post("/console/suppressions", &fields).await;
    assert_eq!(
        (seen.status.as_u16(), seen.location()),
        (303, "/console/suppressions?channel=email")
    );
    let fields = [
        ("channel", "email"),
        ("newIdentifier", "gone@example.test"),
        ("newReason", "hard_bounce"),
    ];
    assert_eq!(person.post("/console/suppressions", &fields).await.status, 303);
    assert_eq!(rows(&workspace, "email").await["items"][0]["reason"], "hard_bounce");
    let seen = person.get("/console/suppressions?channel=email&reason=manual").await;
    assert!(
        seen.text.contains(">ann@example.test</a>")
            && !seen.text.contains(">gone@example.test</a>"),
        "{}",
        seen.text
    );

    // The search has the row, and the person with that address.
    let found = "/console/suppressions?channel=email&identifier=ann%40example.test";
    let seen = person.get(found).await;
    let history = format!("/console/people/{}?tab=consent", ann["id"].as_str().unwrap());
    for text in ["added by hand", "Remove…", history.as_str()] {
        assert!(seen.text.contains(text), "no {text}: {}", seen.text);
    }
    let seen =
        person.get("/console/suppressions?channel=email&identifier=other%40example.test").await;
    assert!(seen.text.contains("Not suppressed"), "{}", seen.text);
    let seen = person.get("/console/suppressions?channel=email&identifier=nonsense").await;
    assert!(
        seen.text.contains("role=\"alert\"") && seen.text.contains("value=\"nonsense\""),
        "{}",
        seen.text
    );
    let remove = "/console/suppressions/remove?channel=email&identifier=ann%40example.test";
    assert_eq!(person.post(remove, &[("confirm", "other")]).await.status, 400);
    assert_eq!(rows(&workspace, "email").await["total"], 2);
    let seen = person.post(remove, &[("confirm", "ann@example.test")]).await;
    assert_eq!((seen.status.as_u16(), seen.location()), (303, found));
    assert_eq!(rows(&workspace, "email").await["total"], 1);
    // Where it has its history, with the person who added and removed it.
    let seen = person.get(found).await;
    for text in [
        "1 removed for ann@example.test.",
        "Not suppressed",
        "<caption class=\"unseen\">History</caption>",
        ">removed</span>",
        ">added</span>",
        "<bdi>user:ann@example.test</bdi>",
    ] {
        assert!(seen.text.contains(text), "no {text}: {}", seen.text);
    }
    let history = seen.between("<caption class=\"unseen\">History</caption>", "</table>");
    assert_eq!(history.matches("<bdi>user:ann@example.test</bdi>").count(), 2, "{history}");
    let seen =
        person.get("/console/suppressions?channel=email&identifier=other%40example.test").await;
    assert!(seen.text.contains("It was never suppressed."), "{}", seen.text);
}

#[tokio::test]
async fn the_history_of_an_identifier_has_pages_and_shows_texts_as_texts() {
    let workspace = Workspace::new().await;
    fixture::run(
        workspace.id,
        "insert into suppression_removal (workspace_id, id, channel, identifier, reason, source, scope, created_at,
             removed_at, removed_source, removed_actor)
         select $1, gen_random_uuid(), 'sms', '+4915112345', 'manual', '<img src=x onerror=alert(1)>', 'global',
             now() - n * interval '2 hours', now() - n * interval '2 hours' + interval '1 hour',
             '<script>source' || n, '<script>actor' || n
         from generate_series(1, 30) n",
    )
    .await;
    let person = Person::signed_in(&workspace, "sms_suppression:read").await;
    let path = "/console/suppressions?channel=sms&identifier=%2B4915112345";
    let first = person.get(path).await;
    assert!(!first.text.contains("<script>source") && !first.text.contains("<img src=x"));
    for text in ["&lt;script&gt;source1<", "&lt;script&gt;actor25<", "&lt;img src=x", ">removed<"] {
        assert!(first.text.contains(text), "no {text}: {}", first.text);
    }
    assert!(!first.text.contains("actor26<"), "{}", first.text);
    let next = first.between("rel=\"next\" href=\"", "\"").replace("&amp;", "&");
    assert_eq!(next, format!("{path}&offset=50"));
    let second = person.get(&next).await;
    assert!(
        second.text.contains("actor26<") && second.text.contains("actor30<"),
        "{}",
        second.text
    );
    let before = second.between("rel=\"prev\" href=\"", "\"").replace("&amp;", "&");
    assert_eq!(before, format!("{path}&offset=0"));
    assert!(!second.text.contains("rel=\"next\""), "{}", second.text);
    // Another channel, another workspace, and a session without the scope have none of it.
    let whatsapp = path.replace("sms", "whatsapp");
    assert!(person.get(&whatsapp).await.text.contains("It was never suppressed."));
    let elsewhere = Person::signed_in(&Workspace::new().await, "*").await;
    assert!(elsewhere.get(path).await.text.contains("It was never suppressed."));
    let email = Person::signed_in(&workspace, "email_suppression:read").await;
    let seen = email.get(path).await;
    assert!(
        seen.text.contains("sms_suppression:read") && !seen.text.contains("actor"),
        "{}",
        seen.text
    );
}

#[tokio::test]
async fn thousands_of_lines_are_imported_and_counted() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let mut lines = "identifier,reason\n".to_owned();
    for number in 0..5_001 {
        writeln!(lines, "a{number}@example.test,unsubscribe").unwrap();
    }
    lines.push_str("\"a0@example.test\",unsubscribe\n");
    let fields = [("channel", "email"), ("entries", lines.as_str())];
    let seen = person.post("/console/suppressions/import", &fields).await;
    assert_eq!(seen.status, 200, "{}", seen.text);
    for text in ["5,002", "5,001", "Skipped: there already or repeated"] {
        assert!(seen.text.contains(text), "no {text}: {}", seen.text);
    }
    let stored = rows(&workspace, "email").await;
    assert_eq!(
        (&stored["total"], &stored["items"][0]["reason"]),
        (&json!(5_001), &json!("unsubscribe"))
    );
    let seen = person
        .post("/console/suppressions/import", &[("channel", "sms"), ("entries", " \n")])
        .await;
    assert_eq!(seen.status, 400);
    assert!(seen.text.contains("id=\"entries-fault\""), "{}", seen.text);
}

#[tokio::test]
async fn a_file_with_faulty_lines_imports_nothing_and_names_them() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let import =
        async |lines: &str| person.post(IMPORT, &[("channel", "email"), ("entries", lines)]).await;
    // The faults are in the second part, of several parts that are checked.
    let mut lines = "Identifier;reason\r\n".to_owned();
    for number in 0..5_200 {
        write!(lines, "\"a{number}@example.test\";unsubscribe\r\n").unwrap();
    }
    let good = lines.clone();
    lines.push_str("\r\n<script>alert(1)</script>;manual\r\nb@example.test;bounced\r\n");
    let seen = import(&lines).await;
    assert_eq!(seen.status, 400);
    for text in [
        "Nothing was imported: 2 lines cannot be read.",
        ">5203</td>",
        "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>",
        "identifier must be an email address",
        ">5204</td>",
        "reason must be one of: manual, unsubscribe",
        // What was typed is kept.
        "value=\"email\" selected",
        "&quot;a5199@example.test&quot;;unsubscribe",
    ] {
        assert!(seen.text.contains(text), "no {text}: {}", seen.text);
    }
    assert!(!seen.text.contains("<script>alert"), "{}", seen.text);
    assert_eq!(rows(&workspace, "email").await["total"], 0);
    assert_eq!(import(&good).await.status, 200);
    assert_eq!(rows(&workspace, "email").await["total"], 5_200);

    // The first are named, the others counted.
    let seen = import(&"nonsense\n".repeat(1_725)).await;
    for text in ["1,725 lines cannot be read", ">20</td>", "And 1,705 lines more."] {
        assert!(seen.text.contains(text), "no {text}: {}", seen.text);
    }
    assert!(!seen.text.contains(">21</td>"), "{}", seen.text);
    let seen = import("x").await;
    assert!(seen.text.contains("Nothing was imported: 1 line cannot be read."), "{}", seen.text);
    assert!(!seen.text.contains("more."), "{}", seen.text);
}

#[tokio::test]
async fn an_import_without_a_script_takes_50000_lines_and_no_more() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let mut lines = String::new();
    for number in 0..50_000 {
        writeln!(lines, "+49151{number:07}").unwrap();
    }
    let file = |lines: &str| [("channel", "sms".to_owned()), ("file", lines.to_owned())];
    let post = async |lines: &str| {
        let fields = file(lines);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(k, v)| (*k, v.as_str())).collect();
        person.post(IMPORT, &fields).await
    };
    let seen = post(&format!("{lines}+4915112345\n")).await;
    assert_eq!(seen.status, 400);
    let text = "must have between 1 and 50000 lines, received 50001";
    assert!(seen.text.contains(text), "{}", seen.text);
    assert_eq!(rows(&workspace, "sms").await["total"], 0);
    let seen = post(&lines).await;
    assert_eq!(seen.status, 200, "{}", seen.text);
    assert_eq!(rows(&workspace, "sms").await["total"], 50_000);
}

/// Opens the page in a browser, and has it import a file that this script makes.
async fn import_by_script(tab: &BrowserTab, channel: &str, file: &str) {
    tab.go(&format!("{}{IMPORT}", server().url)).await;
    tab.value(&format!(
        "(async () => {{ const files = new DataTransfer(); files.items.add({file});\
         document.getElementById('file').files = files.files;\
         document.getElementById('channel').value = '{channel}';\
         document.getElementById('import').requestSubmit(); return 1; }})()"
    ))
    .await;
}

#[tokio::test]
async fn a_file_is_checked_and_imported_piece_by_piece() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!("SKIPPED a_file_is_checked_and_imported_piece_by_piece: {reason}");
        }
    };
    let workspace = Workspace::new().await;
    tab.go(link(&workspace, "*").await.as_str()).await;
    // 12,000 lines are some 600 KiB: ten pieces. A cell has a line end in it, and the last line has none.
    let lines = "[...Array(12000).keys()].map((n) => `\"n${n}@example.test\";unsubscribe;\"a, \"\"note\"\"\\nof two lines\"`)";
    let counts = "document.getElementById('import-counts').textContent";
    let progress = "document.getElementById('import-progress').value";
    let faulty = format!(
        "new File([{lines}.concat(['<b>nonsense</b>', 'x@example.test;gone'], Array(30).fill('?')).join('\\n')], 'a.csv')"
    );
    import_by_script(&tab, "email", &faulty).await;
    tab.until(&format!("{counts} === 'Nothing was imported: 32 of 12,032 lines cannot be read'"))
        .await;
    let text = tab.text().await;
    for line in ["Line 24,001: identifier must be", "Line 24,002: reason must be", "12 other lines"]
    {
        assert!(text.contains(line), "no {line}: {text}");
    }
    assert!(!text.contains("Line 24,021"), "{text}");
    assert_eq!(tab.value(progress).await, json!(0.5));
    assert_eq!(rows(&workspace, "email").await["total"], 0);

    // What the progress shows meanwhile.
    let good = format!("new File([{lines}.join('\\n')], 'a.csv')");
    tab.go(&format!("{}{IMPORT}", server().url)).await;
    let watch = format!(
        "(() => {{ window.steps = []; new MutationObserver(() => window.steps.push([{counts}, {progress}]))\
         .observe(document.getElementById('import-counts'), {{childList: true}}); return 1; }})()"
    );
    tab.value(&watch).await;
    tab.value(&format!(
        "(async () => {{ const files = new DataTransfer(); files.items.add({good});\
         document.getElementById('file').files = files.files;\
         document.getElementById('import').requestSubmit(); return 1; }})()"
    ))
    .await;
    tab.until(&format!(
        "{counts} === 'Done: 12,000 lines, 12,000 imported, 0 there already or repeated'"
    ))
    .await;
    let steps = tab.value("window.steps").await;
    let steps: Vec<(String, f64)> = serde_json::from_value(steps).unwrap();
    for step in ["Checking", "Importing"] {
        let count = steps.iter().filter(|(text, _)| text.starts_with(step)).count();
        assert!(count > 5, "{step}: {steps:?}");
    }
    assert!(steps.is_sorted_by(|one, next| one.1 <= next.1), "{steps:?}");
    let stored = rows(&workspace, "email").await;
    assert_eq!(
        (&stored["total"], &stored["items"][0]["reason"]),
        (&json!(12_000), &json!("unsubscribe"))
    );

    // The same file once more, and one without lines.
    import_by_script(&tab, "email", &good).await;
    tab.until(&format!(
        "{counts} === 'Done: 12,000 lines, 0 imported, 12,000 there already or repeated'"
    ))
    .await;
    import_by_script(&tab, "sms", "new File(['identifier,reason\\n'], 'b.csv')").await;
    tab.until(&format!("{counts} === 'The file has no lines'")).await;
    assert_eq!(tab.errors(), [""; 0]);
}

#[tokio::test]
async fn faults_scopes_and_csrf_hold_by_channel() {
    let workspace = Workspace::new().await;
    let person =
        Person::signed_in(&workspace, "email_suppression:read,email_suppression:write").await;
    let fields =
        [("channel", "email"), ("newIdentifier", "<b>\"no address"), ("newReason", "unsubscribe")];
    let seen = person.post("/console/suppressions", &fields).await;
    assert_eq!(seen.status, 400);
    for text in [
        "id=\"newIdentifier-fault\"",
        "value=\"&lt;b&gt;&quot;no address\"",
        "value=\"unsubscribe\" selected",
    ] {
        assert!(seen.text.contains(text), "no {text}: {}", seen.text);
    }
    assert_eq!(person.post_bare("/console/suppressions", &fields).await.status, 403);
    let seen = person.get("/console/suppressions?channel=sms").await;
    assert!(
        seen.text.contains("sms_suppression:read") && !seen.text.contains("newIdentifier"),
        "{}",
        seen.text
    );
    let fields = [("channel", "sms"), ("newIdentifier", "+4915112345678"), ("newReason", "manual")];
    assert_eq!(person.post("/console/suppressions", &fields).await.status, 403);
    assert_eq!(rows(&workspace, "sms").await["total"], 0);
    // A session for numbers alone begins with them.
    let numbers = Person::signed_in(&workspace, "sms_suppression:read").await;
    let seen = numbers.get("/console/suppressions").await;
    assert!(seen.text.contains("aria-current=\"page\">sms"), "{}", seen.text);
    assert_eq!(numbers.get("/console/suppressions/import").await.status, 403);
    assert_eq!(numbers.get("/console/suppressions?channel=post").await.status, 404);
    let none = Person::signed_in(&workspace, "users:read").await;
    assert_eq!(none.get("/console/suppressions").await.status, 403);
}
