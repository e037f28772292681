//! `/console/campaigns`: the list, the form, launching, pausing, tests and versions.

use serde_json::{Value, json};

use super::kit::{Person, Seen, link};
use crate::kit::{BrowserTab, Workspace, eventually, server};

/// A form of an email to everyone.
const EMAIL: [(&str, &str); 8] = [
    ("channel", "email"),
    ("sendType", "immediate"),
    ("audience", "everyone"),
    ("resendPolicy", "only_new"),
    ("variants[0].id", "a"),
    ("variants[0].name", "A"),
    ("variants[0].weight", "100"),
    ("variants[0].message.html", "<p>Hello {{ unsubscribe_url }}</p>"),
];

/// A webhook, which needs no provider.
pub(super) fn webhook(name: &str) -> Value {
    json!({"name": name, "channel": "webhook", "variants": [
        {"id": "a", "name": "A", "weight": 100, "message": {"url": "https://hook.test/in", "body": {"id": "{{ user.externalId }}"}}}]})
}

pub(super) fn has(seen: &Seen, texts: &[&str]) {
    for text in texts {
        assert!(seen.text.contains(text), "no {text}: {}", seen.text);
    }
}

pub(super) async fn of(workspace: &Workspace, address: &str) -> Value {
    let id = address.rsplit('/').next().unwrap();
    workspace.api.get(format!("/campaigns/{id}"), 200).await.json()
}

pub(super) async fn made(workspace: &Workspace, body: &Value) -> String {
    let made = workspace.api.post("/campaigns", body, 201).await.json();
    format!("/console/campaigns/{}", made["id"].as_str().unwrap())
}

async fn roll_back(workspace: &Workspace, person: &Person, address: &str) {
    // A second version, what changed, and back.
    let versions = person.get(&format!("{address}/versions")).await;
    has(&versions, &["<ins>", "recurringSchedule", "Roll back", "created"]);
    let seen = person.post(&format!("{address}/do/rollback"), &[("version", "1")]).await;
    assert_eq!(seen.status, 303, "{}", seen.text);
    assert_eq!(of(workspace, address).await["sendType"], "immediate");
}

#[tokio::test]
async fn a_campaign_is_made_changed_listed_and_deleted() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    has(
        &person.get("/console/campaigns").await,
        &["No campaigns yet", "curl -s", "/console/campaigns/new"],
    );
    has(
        &person.get("/console/campaigns/new").await,
        &["id=\"variants[0].message.subject\"", "value=\"everyone\""],
    );

    // A button changes the form and saves nothing; what was typed stays.
    let typed =
        [&EMAIL[..], &[("name", "March"), ("variants[0].message.subject", "Hi"), ("tags", "a, b")]]
            .concat();
    let fields = [&typed[..], &[("do", "add-variant")]].concat();
    let seen = person.post("/console/campaigns", &fields).await;
    assert_eq!(seen.status, 200);
    has(
        &seen,
        &["value=\"March\"", "name=\"variants[1].message.subject\"", "abTestConfig.testPercentage"],
    );
    let fields = [&typed[..], &[("channel", "sms")]].concat();
    let fields: Vec<_> = fields.into_iter().skip(1).collect();
    has(&person.post("/console/campaigns", &fields).await, &["variants[0].message.shortenLinks"]);
    assert_eq!(workspace.api.get("/campaigns", 200).await.json()["pagination"]["total"], 0);

    let fields = [&typed[..], &[("do", "save")]].concat();
    let seen = person.post("/console/campaigns", &fields).await;
    assert_eq!(seen.status, 303, "{}", seen.text);
    let address = seen.location().to_owned();
    let campaign = of(&workspace, &address).await;
    assert_eq!((&campaign["status"], &campaign["tags"]), (&json!("draft"), &json!(["a", "b"])));
    assert_eq!(campaign["variants"][0]["message"]["subject"], "Hi");
    has(&person.get(&address).await, &["March was saved.", "value=\"Hi\"", "Preview and test"]);

    let schedule = [
        ("sendType", "recurring"),
        ("recurringSchedule.frequency", "weekly"),
        ("recurringSchedule.dayOfWeek", "mon, 3"),
        ("recurringSchedule.timeOfDay", "09:00"),
        ("recurringSchedule.timezone", "Europe/Berlin"),
        ("conversionTracking.primaryConversion.eventName", "Order Completed"),
        ("other", "{\"sendRateLimit\": {\"maxPerMinute\": 60}}"),
        ("do", "save"),
    ];
    let fields: Vec<_> =
        typed.iter().filter(|(name, _)| *name != "sendType").chain(&schedule).copied().collect();
    let seen = person.post(&address, &fields).await;
    assert_eq!(seen.status, 303, "{}", seen.text);
    let campaign = of(&workspace, &address).await;
    assert_eq!(campaign["recurringSchedule"]["dayOfWeek"], json!([1, 3]));
    assert_eq!(campaign["sendRateLimit"]["maxPerMinute"], 60);
    let seen = person.get(&address).await;
    has(
        &seen,
        &[
            "Next occurrences",
            "09:00:00 Europe/Berlin",
            "value=\"1, 3\"",
            "name=\"sendRateLimit.maxPerMinute\" type=\"text\" value=\"60\"",
        ],
    );

    let list = person.get("/console/campaigns?q=mar&status=draft").await;
    has(&list, &["March", "Again and again", "1 campaigns"]);
    has(&person.get("/console/campaigns?q=april").await, &["No campaign matches"]);

    roll_back(&workspace, &person, &address).await;

    let seen = person.post(&format!("{address}/do/duplicate"), &[]).await;
    assert_eq!(of(&workspace, seen.location()).await["name"], "March (copy)");
    let refused = person.post(&format!("{address}/do/delete"), &[("confirm", "April")]).await;
    assert_eq!(refused.status, 400);
    let seen = person.post(&format!("{address}/do/delete"), &[("confirm", "March")]).await;
    assert_eq!((seen.status.as_u16(), seen.location()), (303, "/console/campaigns"));
    assert_eq!(person.get(&address).await.status, 404);
}

#[tokio::test]
async fn faults_stand_at_their_fields_and_nothing_is_lost() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let fields = [
        &EMAIL[1..6],
        &[
            ("channel", "email"),
            ("name", ""),
            ("variants[0].weight", "many"),
            ("description", "kept <as> typed"),
        ],
        &[
            ("variants[0].message.subject", "Hi {{ name "),
            ("other", "{\"quietTimeOverride\": {\"start\": \"x\"}}"),
        ],
        &[("do", "save")],
    ]
    .concat();
    let fields: Vec<_> = fields.into_iter().filter(|(name, _)| *name != "audience").collect();
    let fields =
        [&fields[..], &[("audience", "json"), ("targeting", "{\"filterGroups\": 1}")]].concat();
    let seen = person.post("/console/campaigns", &fields).await;
    assert_eq!(seen.status, 400);
    has(
        &seen,
        &[
            "id=\"name-fault\"",
            "id=\"variants[0].weight-fault\"",
            "id=\"variants[0].message.subject-fault\"",
            "is not valid Liquid",
            "id=\"targeting-fault\"",
            "id=\"other-fault\"",
            "value=\"many\"",
            "kept &lt;as&gt; typed",
        ],
    );
    // JSON that is none is a fault before the API is asked.
    let fields = [&fields[..fields.len() - 1], &[("targeting", "{")]].concat();
    has(
        &person.post("/console/campaigns", &fields).await,
        &["is not valid JSON", "value=\"many\""],
    );
    assert_eq!(workspace.api.get("/campaigns", 200).await.json()["pagination"]["total"], 0);
}

/// The progress on the report has a rate once there is an earlier count.
async fn has_a_rate(person: &Person, address: &str) {
    let at = kernel::Clock::system().now().millis() - 5_000;
    let part = person.get(&format!("{address}/progress?from=report&sent=0&at={at}")).await;
    has(&part, &["Sent a second", "name=\"from\" value=\"report\""]);
    assert!(
        !person.get(address).await.text.contains("Sent a second"),
        "of one count there is no rate"
    );
}

/// The campaign is paused at first.
async fn edits_of_a_live_campaign_wait_until_they_are_published(
    workspace: &Workspace,
    person: &Person,
    address: &str,
) {
    let fields = [
        ("name", "Welcome"),
        ("channel", "webhook"),
        ("sendType", "triggered"),
        ("triggerConfig.eventName", "Signed Up"),
        ("audience", "everyone"),
        ("resendPolicy", "only_new"),
        ("variants[0].id", "a"),
        ("variants[0].name", "A"),
        ("variants[0].weight", "100"),
        ("variants[0].message.url", "https://hook.test/other"),
        ("do", "save"),
    ];
    assert_eq!(person.post(&format!("{address}/do/resume"), &[]).await.status, 303);
    assert_eq!(person.post(address, &fields).await.status, 303);
    assert_eq!(of(workspace, address).await["hasPendingDraft"], true);
    has(&person.get(address).await, &["https://hook.test/other", "not published", "Publish edits"]);
    assert_eq!(person.post(&format!("{address}/do/publish"), &[]).await.status, 303);
    assert_eq!(of(workspace, address).await["hasPendingDraft"], false);
}

#[tokio::test]
async fn a_campaign_is_checked_launched_paused_resumed_and_cancelled() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    workspace
        .api
        .post("/users", &json!({"externalId": "ann", "attributes": {"plan": "pro"}}), 201)
        .await;
    let config = json!({"type": "event", "eventName": "Signed Up"});
    let mut body = webhook("Welcome");
    (body["sendType"], body["triggerConfig"]) = (json!("triggered"), config);
    let address = made(&workspace, &body).await;

    let preview = person.get(&format!("{address}/test?person=ann")).await;
    has(&preview, &["{&quot;id&quot;:&quot;ann&quot;}", "There are no tests on this channel"]);
    has(&person.get(&format!("{address}/test?person=unknown")).await, &["role=\"alert\""]);

    let launch = person.get(&format!("{address}/launch")).await;
    has(&launch, &["content present", "Make it live…", "People match"]);
    assert!(!launch.text.contains("/do/send"), "asked about first: {}", launch.text);
    let asked = person.post(&format!("{address}/do/send"), &[]).await;
    has(
        &asked,
        &["Launch this campaign?", "whenever the event of a person of the audience occurs"],
    );
    assert_eq!(of(&workspace, &address).await["status"], "draft");
    let confirmed = [("confirmed", "yes"), ("loaded", "\"1\""), ("people", "1")];
    let seen = person.post(&format!("{address}/do/send"), &confirmed).await;
    assert_eq!((seen.status.as_u16(), seen.location()), (303, address.as_str()));
    assert_eq!(of(&workspace, &address).await["status"], "active");
    has(
        &person.get(&address).await,
        &["hx-trigger=\"every 2s\"", "The campaign was launched.", "/do/pause"],
    );
    has_a_rate(&person, &address).await;
    let part = person.get(&format!("{address}/progress?shown=active")).await;
    assert!(part.text.starts_with("<div id=\"progress\""), "{}", part.text);
    assert!(!part.text.contains("hx-swap-oob"), "the page shows it already: {}", part.text);

    // From the report, and back to it.
    let seen = person.post(&format!("{address}/do/pause"), &[("from", "report")]).await;
    assert_eq!(seen.location(), format!("{address}/report"));
    assert_eq!(of(&workspace, &address).await["status"], "paused");
    has(&person.get(&format!("{address}/report")).await, &["Resume", "The campaign is paused."]);
    // A page that shows the state before gets the new one with the progress.
    let part = person.get(&format!("{address}/progress?from=report&shown=active")).await;
    has(
        &part,
        &[
            "<div id=\"campaign-head\" hx-swap-oob=\"true\">",
            "<section id=\"campaign-confirmations\" hx-swap-oob=\"true\"",
            "Resume",
        ],
    );
    assert!(!part.text.contains("/do/pause"), "{}", part.text);
    assert_eq!(person.post(&format!("{address}/do/pause"), &[]).await.status, 409);

    edits_of_a_live_campaign_wait_until_they_are_published(&workspace, &person, &address).await;

    assert_eq!(person.post(&format!("{address}/do/cancel"), &[]).await.status, 400);
    let seen = person.post(&format!("{address}/do/cancel"), &[("confirm", "Welcome")]).await;
    assert_eq!(seen.status, 303, "{}", seen.text);
    assert_eq!(of(&workspace, &address).await["status"], "cancelled");
    has(
        &person.get(&address).await,
        &["it cannot be changed any more", "fieldset class=\"plain\" disabled"],
    );
}

#[tokio::test]
async fn what_prevents_a_launch_is_shown_and_a_time_schedules() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let body = json!({"name": "Empty", "channel": "webhook", "variants": [{"id": "a", "name": "A", "weight": 50}]});
    let address = made(&workspace, &body).await;
    let unasked = person.get(&format!("{address}/launch?confirm=on")).await;
    assert!(!unasked.text.contains("Launch this campaign?"), "{}", unasked.text);
    let confirmed = [("confirmed", "yes"), ("loaded", "\"1\""), ("people", "0")];
    let seen = person.post(&format!("{address}/do/send"), &confirmed).await;
    assert_eq!(seen.status, 400);
    has(&seen, &["role=\"alert\"", "Checks", "badge bad"]);

    // A winner is selected by hand where the test is to be decided so.
    let mut body = webhook("Test");
    body["variants"][0]["weight"] = json!(50);
    body["variants"].as_array_mut().unwrap().push(
        json!({"id": "b", "name": "B", "weight": 50, "message": {"url": "https://hook.test/b"}}),
    );
    body["abTestConfig"] = json!({"winnerSelection": "manual"});
    (body["sendType"], body["triggerConfig"]) =
        (json!("triggered"), json!({"eventName": "Signed Up"}));
    let address = made(&workspace, &body).await;
    let seen = person.post(&format!("{address}/do/select-winner"), &[("variant", "b")]).await;
    assert!(matches!(seen.status.as_u16(), 400 | 409), "{}", seen.text);
    has(&seen, &["role=\"alert\"", "One person"]);

    let mut body = webhook("Later");
    for (name, value) in [
        ("sendType", "scheduled"),
        ("scheduledAt", "2040-07-01T09:00:00"),
        ("scheduledTimezone", "Europe/Berlin"),
        ("status", "draft"),
    ] {
        body[name] = json!(value);
    }
    let address = made(&workspace, &body).await;
    has(&person.get(&address).await, &["value=\"2040-07-01T09:00:00\""]);
    has(
        &person.get(&format!("{address}/launch")).await,
        &["Schedule</button>", "2040-07-01 09:00:00 Europe/Berlin"],
    );
    assert_eq!(person.post(&format!("{address}/do/schedule"), &[]).await.status, 303);
    assert_eq!(of(&workspace, &address).await["status"], "scheduled");
    has(&person.get(&format!("{address}/launch")).await, &["It is scheduled"]);
}

/// A campaign that is not saved has the same message, and its faults are named.
async fn is_shown_unsaved(workspace: &Workspace, campaign: &Value, saved: &Value) {
    let preview = async |body: Value, status: u16| {
        workspace.api.post("/campaigns/preview-message", &body, status).await
    };
    let mut unnamed = campaign.clone();
    unnamed.as_object_mut().unwrap().remove("name");
    let shown =
        preview(json!({"userId": "ann", "campaign": unnamed, "variantId": "a"}), 200).await.json();
    assert_eq!(shown["message"]["subject"], saved["subject"]);
    assert_eq!((&shown["channel"], &shown["variantId"]), (&json!("email"), &json!("a")));
    let mut broken = campaign.clone();
    broken["variants"][0]["message"]["subject"] = json!("{{ broken");
    let mut unweighted = campaign.clone();
    unweighted["variants"][0]["weight"] = json!(101);
    for (body, status, problem) in [
        (json!({"userId": "ann"}), 400, "campaign is required"),
        (json!({"campaign": campaign}), 400, "userId is required"),
        (json!({"campaign": {}, "userId": "ann"}), 400, "campaign.channel is required"),
        (json!({"campaign": broken, "userId": "ann"}), 400, "campaign.variants[0].message.subject"),
        (json!({"campaign": unweighted, "userId": "ann"}), 400, "campaign.variants[0].weight"),
        (
            json!({"campaign": campaign, "userId": "ann", "variantId": "z"}),
            400,
            "variantId must be",
        ),
        (json!({"campaign": campaign, "userId": "unknown"}), 404, "User not found"),
    ] {
        let answer = preview(body, status).await;
        assert!(answer.text.contains(problem), "{problem}: {}", answer.text);
    }
    assert_eq!(workspace.api.get("/campaigns", 200).await.json()["pagination"]["total"], 1);
}

#[tokio::test]
async fn a_spam_check_and_a_preview_are_those_of_the_api() {
    let workspace = Workspace::new().await;
    let ann = json!({"externalId": "ann", "email": "ann@example.test", "attributes": {"firstName": "<i>Ann</i>"}});
    workspace.api.post("/users", &ann, 201).await;
    let body = json!({"name": "Mail", "channel": "email", "variants": [{"id": "a", "name": "A", "weight": 100,
        "message": {"subject": "Hi {{ user.firstName }}", "html": "<p>{{ user.firstName }} <a href=\"{{ unsubscribe_url }}\">out</a></p>"}}]});
    let address = made(&workspace, &body).await;
    let id = address.rsplit('/').next().unwrap();
    let asked = json!({"userId": "ann"});
    let preview = workspace.api.post(&format!("/campaigns/{id}/preview"), &asked, 200).await.json();
    assert_eq!((&preview["channel"], &preview["variantId"]), (&json!("email"), &json!("a")));
    assert_eq!(preview["message"]["subject"], "Hi <i>Ann</i>");
    // Who reads it cannot unsubscribe the person.
    let html = preview["message"]["html"].as_str().unwrap();
    let start = html.find("/u/").unwrap() + 1;
    let link = &html[start..start + html[start..].find('"').unwrap()];
    let answer =
        Person::new().post_bare(&format!("/{link}"), &[("List-Unsubscribe", "One-Click")]).await;
    assert!(answer.status.as_u16() < 500, "{}", answer.text);
    let status = workspace.api.get("/users/by-user-id/ann", 200).await.json();
    let path = format!("/subscriptions/contacts/{}", status["id"].as_str().unwrap());
    let consent = workspace.api.get(path, 200).await.json();
    assert_ne!(consent["channels"]["email"]["status"], "unsubscribed", "{consent}");
    for (body, status) in [
        (json!({}), 400),
        (json!({"userId": "unknown"}), 404),
        (json!({"userId": "ann", "variantId": "z"}), 400),
    ] {
        workspace.api.post(&format!("/campaigns/{id}/preview"), &body, status).await;
    }
    is_shown_unsaved(&workspace, &body, &preview["message"]).await;

    let person = Person::signed_in(&workspace, "*").await;
    let seen = person.get(&format!("{address}/test?person=ann&spam=on")).await;
    has(&seen, &["Hi &lt;i&gt;Ann&lt;/i&gt;", " points, by "]);
    assert!(!seen.text.contains("<i>Ann"), "{}", seen.text);
    // As it looks: in a frame in which nothing of it runs.
    let seen = person.get(&format!("{address}/test?person=ann&device=phone")).await;
    let frame =
        seen.between("class=\"device phone\" sandbox=\"\" src=\"", "\"").replace("&amp;", "&");
    let framed = person.get(&frame).await;
    assert_eq!(framed.headers["x-frame-options"], "SAMEORIGIN");
    let policy = framed.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.starts_with("sandbox; default-src 'none'") && !policy.contains("script-src"),
        "{policy}"
    );
    has(&framed, &["&lt;i&gt;Ann&lt;/i&gt;"]);
    let reader = Person::signed_in(&workspace, "campaigns:read").await;
    has(&reader.get(&format!("{address}/test?person=ann")).await, &["users:read"]);
}

#[tokio::test]
async fn scopes_csrf_and_hostile_names_hold() {
    let workspace = Workspace::new().await;
    let hostile = format!("<img src=x onerror=alert(1)>\"' مرحبا {}", "n".repeat(200));
    let id = "<b>\"'".to_owned();
    let body = json!({"name": hostile, "description": hostile, "tags": ["<script>"], "channel": "webhook",
        "conversionTracking": {"primaryConversion": {"eventName": "<script>alert(1)</script>"}},
        "targeting": {"filterGroups": [{"filters": [{"type": "attribute", "field": "<b>", "operator": "equals", "value": "</textarea><script>"}]}]},
        "variants": [{"id": id, "name": hostile, "weight": 100, "message": {"url": "https://hook.test/<b>", "body": "</textarea><script>"}}]});
    let address = made(&workspace, &body).await;
    let reader = Person::signed_in(&workspace, "campaigns:read").await;
    let all = Person::signed_in(&workspace, "*").await;
    for path in ["/console/campaigns".to_owned(), "/console/campaigns?rates=on".to_owned()]
        .into_iter()
        .chain(
            [
                "",
                "/test",
                "/launch",
                "/launch?confirm=on",
                "/report?numbers=on",
                "/recipients",
                "/versions",
            ]
            .map(|page| format!("{address}{page}")),
        )
    {
        for person in [&reader, &all] {
            let seen = person.get(&path).await;
            assert_eq!(seen.status, 200, "{path}: {}", seen.text);
            assert!(
                !seen.text.contains("<img") && !seen.text.contains("<script>"),
                "{path}: {}",
                seen.text
            );
            assert!(!seen.text.contains(" style=\"") && !seen.text.contains(" onclick="), "{path}");
        }
    }
    let seen = reader.get(&address).await;
    assert!(!seen.text.contains("/do/"), "no button without its scope: {}", seen.text);
    assert_eq!(reader.post(&format!("{address}/do/archive"), &[]).await.status, 403);
    assert_eq!(reader.get("/console/campaigns/new").await.status, 403);
    assert_eq!(all.post_bare(&format!("{address}/do/archive"), &[]).await.status, 403);
    let other = Person::signed_in(&workspace, "events:read").await;
    let seen = other.get("/console/campaigns").await;
    assert_eq!(seen.status, 403);
    has(&seen, &["campaigns:read"]);
    assert_eq!(all.get("/console/campaigns/none").await.status, 404);
    assert_eq!(all.post(&format!("{address}/do/none"), &[]).await.status, 404);
}

#[tokio::test]
async fn a_campaign_that_is_sent_shows_its_progress_and_the_list_its_rates() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    for name in ["ann", "bob"] {
        workspace.api.post("/users", &json!({"externalId": name}), 201).await;
    }
    // Port 9 of this machine is refused as a target, so every message fails at once.
    let mut body = webhook("Now");
    body["variants"][0]["message"]["url"] = json!("http://127.0.0.1:9/");
    let address = made(&workspace, &body).await;
    has(&person.get(&format!("{address}/launch")).await, &["Send now to 2 people…"]);
    let asked = person.get(&format!("{address}/launch?confirm=on")).await;
    has(&asked, &["<strong>2</strong> people get a message by Webhook", "Send now to 2 people<"]);
    let confirmed = [("confirmed", "yes"), ("loaded", "\"1\""), ("people", "2")];
    assert_eq!(person.post(&format!("{address}/do/send"), &confirmed).await.status, 303);
    let campaign = eventually("the campaign is over", || async {
        let campaign = of(&workspace, &address).await;
        (campaign["status"] != "active").then_some(campaign)
    })
    .await;
    let id = campaign["id"].as_str().unwrap();
    let seen = eventually("the report has both", || async {
        let stats = workspace.api.get(format!("/campaigns/{id}/stats"), 200).await.json();
        if stats["stats"]["failed"] != 2 {
            return None;
        }
        let seen = person.get(&format!("{address}/report?numbers=on")).await;
        seen.text.contains("forbidden_target").then_some(seen)
    })
    .await;
    has(&seen, &["Failures", "forbidden_target"]);
    let seen = eventually("the message of one person has failed", || async {
        let seen = person.get(&format!("{address}/report?person=ann")).await;
        seen.text.contains("failed").then_some(seen)
    })
    .await;
    has(&seen, &["One person"]);
    let list = person.get("/console/campaigns?rates=on").await;
    has(
        &list,
        &[
            &format!("{address}/report"),
            "<th scope=\"col\" class=\"number\">Failed</th>",
            ">100.0 %<",
        ],
    );
    assert!(!list.text.contains("hx-trigger=\"load\""), "asked for once: {}", list.text);
    has(&person.get("/console/campaigns").await, &["hx-trigger=\"load\"", "rates=on"]);
}

/// Types into a field as a person does, after what a script has put into the page answers.
async fn type_into(tab: &BrowserTab, id: &str, text: &str) {
    tab.until("!document.querySelector('.htmx-added, .htmx-settling, .htmx-request')").await;
    let (id, text) = (json!(id), json!(text));
    tab.value(&format!(
        "(() => {{ const field = document.getElementById({id}); field.value = {text};\
         field.dispatchEvent(new Event('change', {{bubbles: true}})); return true; }})()"
    ))
    .await;
}

#[tokio::test]
async fn a_marketer_builds_launches_and_pauses_a_campaign_in_a_browser() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!(
                "SKIPPED a_marketer_builds_launches_and_pauses_a_campaign_in_a_browser: {reason}"
            );
        }
    };
    let workspace = Workspace::new().await;
    workspace.api.post("/users", &json!({"externalId": "ann"}), 201).await;
    tab.go(link(&workspace, "*").await.as_str()).await;
    tab.go(&format!("{}/console/campaigns/new", server().url)).await;
    tab.value("window.kept = true").await;
    type_into(&tab, "name", "Welcome").await;
    // Another channel and another time bring their own fields; what was typed stays.
    type_into(&tab, "channel", "webhook").await;
    tab.until("!!document.getElementById('variants[0].message.url')").await;
    type_into(&tab, "variants[0].message.url", "https://hook.test/in").await;
    type_into(&tab, "sendType", "triggered").await;
    tab.until("!!document.getElementById('triggerConfig.eventName')").await;
    type_into(&tab, "triggerConfig.eventName", "Signed Up").await;
    tab.click("button.button[value=add-variant]").await;
    tab.until("!!document.getElementById('variants[1].id')").await;
    tab.click("button.button[value='remove-variant 1']").await;
    tab.until("!document.getElementById('variants[1].id')").await;
    assert_eq!(tab.value("window.kept").await, json!(true), "the page was not loaded anew");
    tab.click("button.primary[value=save]").await;
    tab.until("document.title.startsWith('Welcome')").await;

    tab.click("nav.tabs a[href$='/test']").await;
    tab.until("!!document.getElementById('person')").await;
    tab.value("(() => { document.getElementById('person').value = 'ann'; document.getElementById('person').form.requestSubmit(); return true; })()").await;
    tab.until("document.body?.textContent.includes('hook.test/in')").await;
    tab.click("nav.tabs a[href$='/launch']").await;
    tab.until("!!document.querySelector('form[action$=\"/launch\"] button')").await;
    tab.click("form[action$='/launch'] button").await;
    tab.until("!!document.querySelector('form[action$=\"/do/send\"] button')").await;
    tab.click("form[action$='/do/send'] button").await;
    tab.until("!!document.querySelector('#progress [role=status]')").await;
    tab.click("#progress form[action$='/do/pause'] button").await;
    tab.until("!!document.querySelector('#progress form[action$=\"/do/resume\"]')").await;
    let campaigns = workspace.api.get("/campaigns", 200).await.json();
    assert_eq!(campaigns["data"][0]["status"], "paused");
    tab.click("nav.tabs a[href$='/report']").await;
    tab.until("document.body?.textContent.includes('No messages yet')").await;
    // What is done on the report leads back to it.
    tab.click("#progress form[action$='/do/resume'] button").await;
    tab.until("location.pathname.endsWith('/report') && !!document.querySelector('#progress form[action$=\"/do/pause\"]')").await;
    // So it does once a script has asked for the progress again.
    tab.until("document.getElementById('progress').textContent.includes('Sent a second')").await;
    tab.until("!!document.querySelector('#progress form[action$=\"/do/pause\"] input[name=from][value=report]')").await;
    tab.click("#progress form[action$='/do/pause'] button").await;
    tab.until("location.pathname.endsWith('/report') && !!document.querySelector('#progress form[action$=\"/do/resume\"]')").await;
    // What others do is in the head, too.
    tab.click("#campaign-head form[action$='/do/resume'] button").await;
    tab.until("!!document.querySelector('#progress form[action$=\"/do/pause\"]')").await;
    let id = campaigns["data"][0]["id"].as_str().unwrap();
    workspace.api.post(&format!("/campaigns/{id}/pause"), &json!({}), 200).await;
    tab.until("document.querySelector('#campaign-head .badge').textContent === 'paused'").await;
    tab.until("!document.querySelector('form[action$=\"/do/pause\"]')").await;
    assert_eq!(tab.errors(), [""; 0]);
}
