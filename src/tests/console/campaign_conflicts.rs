//! The form of a campaign that others change meanwhile, and where its faults are named.

use serde_json::{Value, json};

use super::{
    campaigns::{has, made, of, webhook},
    kit::{Person, Seen, link},
};
use crate::kit::{BrowserTab, Workspace, eventually, server};

/// The form of a page as a browser sends it, with another description.
fn form<'f>(loaded: &'f str, description: &'f str) -> Vec<(&'f str, &'f str)> {
    vec![
        ("loaded", loaded),
        ("name", "Spring"),
        ("description", description),
        ("channel", "webhook"),
        ("sendType", "immediate"),
        ("audience", "everyone"),
        ("resendPolicy", "only_new"),
        ("variants[0].id", "a"),
        ("variants[0].name", "A"),
        ("variants[0].weight", "100"),
        ("variants[0].message.url", "https://hook.test/in"),
        ("do", "save"),
    ]
}

fn hidden(seen: &Seen, name: &str) -> String {
    let value = seen.between(&format!("type=\"hidden\" name=\"{name}\" value=\""), "\">");
    value.replace("&quot;", "\"")
}

async fn change(workspace: &Workspace, address: &str, change: Value) {
    let id = address.rsplit('/').next().unwrap();
    let request = workspace.api.request(reqwest::Method::PUT, &format!("/campaigns/{id}"));
    workspace.api.send(request.json(&change), 200).await;
}

#[tokio::test]
async fn a_form_does_not_save_over_what_others_changed_meanwhile() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let address = made(&workspace, &webhook("Spring")).await;
    let loaded = hidden(&person.get(&address).await, "loaded");
    // What a button of the form shows anew still is of when the form was opened.
    change(&workspace, &address, json!({"description": "of another"})).await;
    let mut fields = form(&loaded, "mine");
    fields.pop();
    let seen = person.post(&address, &fields).await;
    assert_eq!(hidden(&seen, "loaded"), loaded);

    let seen = person.post(&address, &form(&loaded, "mine")).await;
    assert_eq!(seen.status, 409);
    has(
        &seen,
        &[
            "after this form was opened. Nothing was saved",
            "value=\"mine\"",
            &format!("{address}/versions?v1=1&amp;v2=2"),
            "Save over that change",
        ],
    );
    let author = of(&workspace, &address).await["updatedBy"].as_str().unwrap().to_owned();
    has(&seen, &[&format!("<bdi>{}</bdi> changed this campaign", &author["api_key:".len()..])]);
    assert_eq!(of(&workspace, &address).await["description"], "of another");
    has(&person.get(&format!("{address}/versions?v1=1&v2=2")).await, &["<ins>", "of another"]);

    // Saving over is of the change that was shown, and of no later one.
    let over = hidden(&seen, "seen");
    change(&workspace, &address, json!({"description": "of a third"})).await;
    let mut fields = form(&loaded, "mine");
    fields.pop();
    fields.extend([("seen", over.as_str()), ("do", "save-over")]);
    let seen = person.post(&address, &fields).await;
    assert_eq!(seen.status, 409, "{}", seen.text);
    assert_eq!(of(&workspace, &address).await["description"], "of a third");
    let over = hidden(&seen, "seen");
    let mut fields = form(&loaded, "mine");
    fields.pop();
    fields.extend([("seen", over.as_str()), ("do", "save-over")]);
    assert_eq!(person.post(&address, &fields).await.status, 303);
    assert_eq!(of(&workspace, &address).await["description"], "mine");

    // A form that is opened now saves.
    let loaded = hidden(&person.get(&address).await, "loaded");
    assert_eq!(person.post(&address, &form(&loaded, "next")).await.status, 303);
    assert_eq!(of(&workspace, &address).await["description"], "next");
}

#[tokio::test]
async fn edits_that_others_discarded_do_not_come_back_unasked() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let mut body = webhook("Spring");
    (body["sendType"], body["triggerConfig"]) =
        (json!("triggered"), json!({"eventName": "Signed Up"}));
    let address = made(&workspace, &body).await;
    let id = address.rsplit('/').next().unwrap();
    workspace.api.post(&format!("/campaigns/{id}/send"), &json!({}), 200).await;
    change(&workspace, &address, json!({"description": "pending"})).await;
    let loaded = hidden(&person.get(&address).await, "loaded");
    // Pausing changes nothing that the form has.
    workspace.api.post(&format!("/campaigns/{id}/pause"), &json!({}), 200).await;
    workspace.api.post(&format!("/campaigns/{id}/resume"), &json!({}), 200).await;
    assert_eq!(hidden(&person.get(&address).await, "loaded"), loaded);
    workspace.api.post(&format!("/campaigns/{id}/discard-draft"), &json!({}), 200).await;
    let fields: Vec<_> = form(&loaded, "pending")
        .into_iter()
        .map(|field| if field.0 == "sendType" { ("sendType", "triggered") } else { field })
        .chain([("triggerConfig.eventName", "Signed Up")])
        .collect();
    let seen = person.post(&address, &fields).await;
    assert_eq!(seen.status, 409, "{}", seen.text);
    has(&seen, &["changed this campaign", "Versions and history"]);
    assert_eq!(of(&workspace, &address).await["hasPendingDraft"], false);
}

/// A campaign to people with this attribute.
fn to_plan(plan: &str) -> Value {
    let filter = json!({"type": "attribute", "field": "plan", "operator": "equals", "value": plan});
    let mut body = webhook("Spring");
    body["targeting"] = json!({"filterGroups": [{"filters": [filter]}]});
    body
}

/// The fields by which a page asks whether to launch.
fn asked(seen: &Seen) -> [(&'static str, String); 3] {
    ["confirmed", "loaded", "people"].map(|name| (name, hidden(seen, name)))
}

async fn launch(person: &Person, address: &str, fields: &[(&'static str, String)]) -> Seen {
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    person.post(&format!("{address}/do/send"), &fields).await
}

#[tokio::test]
async fn a_launch_is_asked_about_again_where_others_changed_the_campaign() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    for (id, plan) in [("ann", "pro"), ("bob", "free"), ("cat", "free")] {
        let user = json!({"externalId": id, "attributes": {"plan": plan}});
        workspace.api.post("/users", &user, 201).await;
    }
    let address = made(&workspace, &to_plan("pro")).await;
    let confirm = format!("{address}/launch?confirm=on");
    let seen = eventually("the person is counted", || async {
        let seen = person.get(&confirm).await;
        seen.text.contains("Send now to 1 people<").then_some(seen)
    })
    .await;
    let before = asked(&seen);
    change(&workspace, &address, json!({"targeting": null})).await;

    let seen = eventually("all people are counted", || async {
        let seen = launch(&person, &address, &before).await;
        assert_eq!(seen.status, 409, "{}", seen.text);
        seen.text.contains("Send now to 3 people<").then_some(seen)
    })
    .await;
    has(
        &seen,
        &[
            "changed this campaign",
            "after this page was opened. Nothing was sent",
            &format!("{address}/versions?v1=1&amp;v2=2"),
            "Launch this campaign?",
        ],
    );
    assert_eq!(of(&workspace, &address).await["status"], "draft");
    // Without what was confirmed it is asked about, too.
    let unknown = launch(&person, &address, &before[..1]).await;
    assert_eq!(unknown.status, 200);
    has(&unknown, &["Launch this campaign?"]);
    assert_eq!(of(&workspace, &address).await["status"], "draft");
    assert_eq!(launch(&person, &address, &asked(&seen)).await.status, 303);
    assert_ne!(of(&workspace, &address).await["status"], "draft");
}

#[tokio::test]
async fn a_launch_is_asked_about_again_where_its_audience_has_grown() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    workspace.api.post("/users", &json!({"externalId": "ann"}), 201).await;
    let address = made(&workspace, &webhook("Spring")).await;
    let confirm = format!("{address}/launch?confirm=on");
    let counted = |text: &'static str| {
        let (person, confirm) = (&person, &confirm);
        eventually("the people are counted", move || async move {
            let seen = person.get(confirm).await;
            seen.text.contains(text).then_some(seen)
        })
    };
    let before = asked(&counted("Send now to 1 people<").await);
    for id in ["bob", "cat"] {
        workspace.api.post("/users", &json!({"externalId": id}), 201).await;
    }
    counted("Send now to 3 people<").await;
    let seen = launch(&person, &address, &before).await;
    assert_eq!(seen.status, 409, "{}", seen.text);
    has(
        &seen,
        &["It was confirmed for 1 people, and by now 3 would get it", "Launch this campaign?"],
    );
    assert_eq!(of(&workspace, &address).await["status"], "draft");
    assert_eq!(launch(&person, &address, &asked(&seen)).await.status, 303);
}

#[tokio::test]
async fn a_time_is_scheduled_as_the_page_has_shown_it() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let mut body = webhook("Spring");
    for (name, value) in
        [("sendType", "scheduled"), ("scheduledAt", "2040-07-01T09:00:00Z"), ("status", "draft")]
    {
        body[name] = json!(value);
    }
    let address = made(&workspace, &body).await;
    let page = format!("{address}/launch");
    let loaded = hidden(&person.get(&page).await, "loaded");
    change(&workspace, &address, json!({"scheduledAt": "2041-07-01T09:00:00Z"})).await;
    let action = format!("{address}/do/schedule");
    let seen = person.post(&action, &[("loaded", &loaded)]).await;
    assert_eq!(seen.status, 409, "{}", seen.text);
    has(&seen, &["changed this campaign", "2041-07-01"]);
    assert!(!seen.text.contains("Launch this campaign?"), "not to be sent now: {}", seen.text);
    assert_eq!(of(&workspace, &address).await["status"], "draft");
    let loaded = hidden(&seen, "loaded");
    assert_eq!(person.post(&action, &[("loaded", &loaded)]).await.status, 303);
    assert_eq!(of(&workspace, &address).await["status"], "scheduled");
}

#[tokio::test]
async fn faults_are_listed_above_the_form_with_links_to_their_fields() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let fields: Vec<_> = form("", "x")
        .into_iter()
        .filter(|(name, _)| !matches!(*name, "name" | "variants[0].weight"))
        .chain([
            ("variants[0].weight", "many"),
            ("quietTimeOverride.start", "25:00"),
            ("utmSettings.source", "{{ broken"),
            ("sendVolumeLimit.enabled", "present"),
            ("sendRateLimit.maxPerMinute", "fast"),
            ("name", ""),
        ])
        .collect();
    let seen = person.post("/console/campaigns", &fields).await;
    assert_eq!(seen.status, 400);
    let summary = seen.between("fault-summary", "</div>");
    let mut at = 0;
    for (field, label) in [
        ("name", "Name"),
        ("variants%5B0%5D%2Eweight", "Variant A: Share in %"),
        ("sendVolumeLimit%2EmaxSends", "Messages at most"),
        ("sendRateLimit%2EmaxPerMinute", "Messages a minute at most"),
        ("quietTimeOverride%2Estart", "From"),
        ("utmSettings%2Esource", "utm_source"),
    ] {
        let found = summary[at..].find(&format!("href=\"#{field}\">{label}</a>"));
        at += found.unwrap_or_else(|| panic!("no {field} after {at}: {summary}"));
    }
    has(&seen, &["id=\"quietTimeOverride.start-fault\"", "value=\"25:00\"", "value=\"fast\""]);
    assert_eq!(workspace.api.get("/campaigns", 200).await.json()["pagination"]["total"], 0);
}

#[tokio::test]
async fn limits_quiet_hours_and_utm_parameters_have_fields() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let mut body = webhook("Spring");
    let settings = [
        ("sendVolumeLimit", json!({"maxSends": 500, "cadence": "per_send"})),
        ("sendRateLimit", json!({"enabled": false, "maxPerMinute": 60})),
        (
            "quietTimeOverride",
            json!({"start": "21:00", "timezone": "Europe/Berlin", "behavior": "skip"}),
        ),
        ("utmSettings", json!({})),
        ("stoConfig", json!({"windowHours": 12})),
    ];
    for (name, value) in &settings {
        body[*name] = value.clone();
    }
    let address = made(&workspace, &body).await;
    let seen = person.get(&address).await;
    has(
        &seen,
        &[
            "name=\"sendVolumeLimit.maxSends\" type=\"text\" value=\"500\"",
            "name=\"sendRateLimit.maxPerMinute\" type=\"text\" value=\"60\"",
            "name=\"quietTimeOverride.start\" type=\"text\" value=\"21:00\"",
            "&quot;windowHours&quot;: 12",
        ],
    );
    assert!(!seen.text.contains("&quot;maxSends&quot;"), "{}", seen.text);
    // As a browser sends what the page has.
    let loaded = hidden(&seen, "loaded");
    let mut fields = form(&loaded, "");
    fields.extend([
        ("variants[0].message.body", "{\"id\": \"{{ user.externalId }}\"}"),
        ("sendVolumeLimit.maxSends", "500"),
        ("sendVolumeLimit.enabled", "present"),
        ("sendVolumeLimit.cadence", "per_send"),
        ("sendRateLimit.enabled", "false"),
        ("sendRateLimit.maxPerMinute", "60"),
        ("quietTimeOverride.enabled", "present"),
        ("quietTimeOverride.start", "21:00"),
        ("quietTimeOverride.timezone", "Europe/Berlin"),
        ("quietTimeOverride.behavior", "skip"),
        ("utmSettings.enabled", "present"),
        ("other", "{\"stoConfig\": {\"windowHours\": 12}}"),
    ]);
    assert_eq!(person.post(&address, &fields).await.status, 303);
    let saved = of(&workspace, &address).await;
    for (name, value) in &settings {
        assert_eq!(saved[*name], *value, "{name}");
    }
    assert_eq!(saved["version"], 1, "nothing was changed");
    // One setting in both places is refused.
    fields.retain(|(name, _)| *name != "other");
    fields.push(("other", "{\"sendRateLimit\": {\"maxPerMinute\": 1}}"));
    let seen = person.post(&address, &fields).await;
    assert_eq!(seen.status, 400);
    has(&seen, &["which is typed in its own fields, too", "id=\"other-fault\""]);
}

#[tokio::test]
async fn the_focus_is_on_the_faults_and_links_lead_to_their_fields() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!(
                "SKIPPED the_focus_is_on_the_faults_and_links_lead_to_them: {reason}"
            );
        }
    };
    let workspace = Workspace::new().await;
    tab.go(link(&workspace, "*").await.as_str()).await;
    tab.go(&format!("{}/console/campaigns/new", server().url)).await;
    tab.value("(() => { document.getElementById('variants[0].weight').value = 'many'; document.getElementById('variants[0].message.html').value = '{{ broken'; return true; })()").await;
    tab.click("button.primary[value=save]").await;
    tab.until("document.activeElement?.classList.contains('fault-summary')").await;
    tab.click(".fault-summary a[href='#variants%5B0%5D%2Eweight']").await;
    tab.until("document.activeElement?.id === 'variants[0].weight'").await;
    // Into the editor of code, too.
    tab.click(".fault-summary a[href='#variants%5B0%5D%2Emessage%2Ehtml']").await;
    tab.until("!!document.activeElement?.closest('.CodeMirror')").await;
    // What the browser reports is the answer to the form alone.
    let errors = tab.errors();
    assert!(errors.iter().all(|it| it.contains("status of 400")), "{errors:?}");
}
