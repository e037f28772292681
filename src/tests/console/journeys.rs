//! What people of each role do, in a real browser, signed in as a member with that role.

use serde_json::{Value, json};

use super::explore;
use crate::kit::{BrowserTab, Workspace, eventually, server, unique};

/// A member of this role at the console; the reason where there is no browser.
async fn member(workspace: &Workspace, role: &str) -> Result<BrowserTab, String> {
    let tab = BrowserTab::open().await?;
    let body = json!({"email": format!("{}@example.test", unique(role)), "role": role});
    let made = workspace.api.post("/members", &body, 201).await.json();
    tab.go(made["invitation"]["url"].as_str().unwrap()).await;
    fill(&tab, &[("password", "correct horse battery")]).await;
    tab.click("main button[type=submit]").await;
    tab.until("document.title.startsWith('Home')").await;
    Ok(tab)
}

/// Types into fields by their ids.
async fn fill(tab: &BrowserTab, fields: &[(&str, &str)]) {
    for (id, value) in fields {
        let (id, value) = (json!(id), json!(value));
        tab.value(&format!("document.getElementById({id}).value = {value}; null")).await;
    }
}

async fn go(tab: &BrowserTab, path: &str) {
    tab.go(&format!("{}{path}", server().url)).await;
}

/// What the navigation offers.
async fn offers(tab: &BrowserTab) -> Value {
    tab.value("[...document.querySelectorAll('nav.nav a')].map((it) => it.textContent.trim()).filter((it, at, all) => all.indexOf(it) === at)").await
}

#[tokio::test]
async fn an_analyst_builds_a_funnel_and_shares_its_address() {
    let workspace = explore::with_events().await;
    let tab = match member(&workspace, "analyst").await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!(
                "SKIPPED an_analyst_builds_a_funnel_and_shares_its_address: {reason}"
            );
        }
    };
    go(&tab, &format!("/console/explore?tab=funnels&{}", explore::RANGE)).await;
    tab.value(
        "(() => { const steps = document.getElementsByName('event');\
         steps[0].value = 'Signed Up'; steps[1].value = 'Bought';\
         steps[0].form.requestSubmit(); return true; })()",
    )
    .await;
    tab.until("document.body?.textContent.includes('people entered')").await;
    let address = tab.address().await;
    assert!(address.contains("Signed+Up") || address.contains("Signed%20Up"), "{address}");
    let numbers = "document.querySelector('main table').textContent";
    let own = tab.value(numbers).await;
    let other = member(&workspace, "owner").await.unwrap();
    go(&other, &address).await;
    other.until("document.body?.textContent.includes('people entered')").await;
    assert_eq!(other.value(numbers).await, own);
    // What an analyst may not open is not offered.
    let offered = offers(&tab).await;
    assert!(!offered.as_array().unwrap().contains(&json!("Suppressions")), "{offered}");
    assert_eq!((tab.errors(), other.errors()), (vec![], vec![]));
}

#[tokio::test]
async fn an_operator_finds_the_lag_and_its_metric() {
    let workspace = Workspace::new().await;
    let tab = match member(&workspace, "operator").await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!("SKIPPED an_operator_finds_the_lag_and_its_metric: {reason}");
        }
    };
    workspace.api.post("/events/track", &json!({"userId": "ann", "eventName": "Seen"}), 200).await;
    tab.click("a[href='/console/health']").await;
    tab.until("document.title.startsWith('Health')").await;
    let row = "[...document.querySelectorAll('main tr')].find((it) => it.textContent.includes('Until queries see an event')).textContent";
    // The page asks again by itself.
    tab.until(&format!("{row}.includes('median')")).await;
    let row = tab.value(row).await;
    assert!(row.as_str().unwrap().contains("millrace_"), "{row}");
    let offered = offers(&tab).await;
    assert!(!offered.as_array().unwrap().contains(&json!("People")), "{offered}");
    assert_eq!(tab.errors(), [""; 0]);
}

/// A webhook campaign to people of a plan, sent; every message to the refused target fails.
async fn campaign(workspace: &Workspace) -> String {
    let people = json!([
        {"externalId": "ann", "attributes": {"plan": "pro"}},
        {"externalId": "bob", "attributes": {"plan": "free"}},
    ]);
    workspace.api.post("/users", &people, 200).await;
    let filter =
        json!({"type": "attribute", "field": "plan", "operator": "equals", "value": "pro"});
    let body = json!({
        "name": "Spring", "channel": "webhook", "sendType": "immediate",
        "targeting": {"filterGroups": [{"filters": [filter]}]},
        "variants": [{"id": "a", "name": "A", "weight": 100, "message": {"url": "http://127.0.0.1:9/", "body": {}}}],
    });
    let made = workspace.api.post("/campaigns", &body, 201).await.json();
    let id = made["id"].as_str().unwrap().to_owned();
    workspace.api.post(&format!("/campaigns/{id}/send"), &json!({}), 200).await;
    eventually("the message has failed", || async {
        // Not found until the first of them has landed.
        let path = format!("/campaigns/{id}/recipients/ann");
        let answer = workspace.api.request(reqwest::Method::GET, &path).send().await.unwrap();
        let timeline: Value = answer.json().await.unwrap();
        let events = timeline["messages"][0]["events"].as_array()?;
        events.iter().any(|event| event["type"] == "failed").then_some(())
    })
    .await;
    id
}

#[tokio::test]
async fn support_answers_why_a_person_got_no_message() {
    let workspace = Workspace::new().await;
    let tab = match member(&workspace, "support").await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!("SKIPPED support_answers_why_a_person_got_no_message: {reason}");
        }
    };
    let campaign = campaign(&workspace).await;
    let report = format!("/console/campaigns/{campaign}/report");
    for (person, answer) in [
        ("ann", "failed port 9 is not called"),
        ("bob", "As of now they would not get it: not in audience"),
        ("unknown", "User not found"),
    ] {
        go(&tab, &report).await;
        fill(&tab, &[("person", person)]).await;
        tab.value("document.getElementById('person').form.requestSubmit(); null").await;
        tab.until("location.search.includes('person=') && document.readyState === 'complete'")
            .await;
        let text = tab.text().await;
        assert!(text.contains(answer), "{person}: {text}");
    }
    // The plan changes, and with it the answer.
    let bob = json!({"externalId": "bob", "attributes": {"plan": "pro"}});
    workspace.api.post("/users", &bob, 200).await;
    go(&tab, &format!("{report}?person=bob")).await;
    assert!(tab.text().await.contains("As of now they would get it"), "{}", tab.text().await);
    assert_eq!(tab.errors(), [""; 0]);
}
