//! Every page: its frame, its headers, its refusals, and how it stands in a browser.

use serde_json::json;

use super::kit::{Person, Seen, link};
use crate::{
    campaigns,
    kit::{BrowserTab, Screen, Workspace, server},
};

/// The pages of the navigation, as a page shows it.
fn pages(seen: &Seen) -> Vec<String> {
    let nav = seen.between("<nav class=\"nav\"", "</nav>");
    let links = nav.split("href=\"").skip(1);
    links.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

/// The pages of the navigation of a workspace.
pub(super) async fn of(workspace: &Workspace) -> Vec<String> {
    pages(&Person::signed_in(workspace, "*").await.get("/console").await)
}

#[tokio::test]
async fn every_page_has_one_frame_and_strict_headers() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let home = person.get("/console").await;
    for path in &pages(&home) {
        let seen = person.get(path).await;
        assert_eq!(seen.status, 200, "{path}: {}", seen.text);
        for (text, times) in [("<h1", 1), ("<main", 1), ("<nav class=\"nav\"", 1), ("skip", 1)] {
            assert_eq!(seen.text.matches(text).count(), times, "{path}: {text}");
        }
        assert!(seen.between("<title>", "</title>").ends_with(" · Millrace"), "{path}");
        assert!(!seen.text.contains(" style=\"") && !seen.text.contains(" onclick="), "{path}");
        // After Back a browser would fill in what was typed for another question.
        for form in seen.text.split("<form").skip(1) {
            let tag = form.split('>').next().unwrap();
            let is_question = tag.contains("method=\"get\"");
            assert!(!is_question || tag.contains("autocomplete=\"off\""), "{path}: {tag}");
        }
        let policy = seen.headers["content-security-policy"].to_str().unwrap();
        for rule in ["default-src 'none'", "script-src 'self';", "frame-ancestors 'none'"] {
            assert!(policy.contains(rule), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        for (name, value) in [
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
        ] {
            assert_eq!(seen.headers[name], value, "{path}: {name}");
        }
    }
}

#[tokio::test]
async fn the_navigation_names_what_the_session_may_open() {
    let workspace = Workspace::new().await;
    let all = of(&workspace).await;
    let person = Person::signed_in(&workspace, "events:read").await;
    let home = person.get("/console").await;
    assert_eq!(pages(&home), ["/console", "/console/live", "/console/explore"]);
    for path in all.iter().filter(|path| !pages(&home).contains(path)) {
        let seen = person.get(path).await;
        assert_eq!(seen.status, 403, "{path}");
        assert!(seen.text.contains("does not have the scope"), "{path}: {}", seen.text);
    }
    let seen = person.get("/console/people").await;
    assert!(seen.text.contains("users:read"), "{}", seen.text);
}

#[tokio::test]
async fn assets_are_kept_forever_and_change_their_address() {
    let person = Person::signed_in(&Workspace::new().await, "*").await;
    let home = person.get("/console").await;
    let css = home.between("rel=\"stylesheet\" href=\"", "\"").to_owned();
    // Without a session, too.
    let visitor = Person::new();
    let seen = visitor.get(&css).await;
    assert_eq!(seen.status, 200);
    assert_eq!(seen.headers["cache-control"], "public, max-age=31536000, immutable");
    assert_eq!(seen.headers["content-type"], "text/css; charset=utf-8");
    let packed = visitor.request(reqwest::Method::GET, &css).header("accept-encoding", "br, gzip");
    assert_eq!(visitor.send(packed).await.headers["content-encoding"], "gzip");
    assert_eq!(visitor.get("/console/assets/console.0000000000000000.css").await.status, 404);
}

#[tokio::test]
async fn what_is_not_there_is_a_page() {
    let person = Person::signed_in(&Workspace::new().await, "users:read").await;
    let seen = person.get("/console/none/such").await;
    assert_eq!(seen.status, 404);
    assert!(seen.text.contains("<title>Not found · Millrace") && seen.text.contains("<nav"));
    let home = person.get("/").await;
    assert_eq!((home.status.as_u16(), home.location()), (307, "/console"));
    // The API's own refusals stay what they were.
    let seen = person.get("/none").await;
    assert_eq!(seen.headers["content-type"], "application/json");
}

#[tokio::test]
async fn a_failed_part_is_shown_beside_the_page() {
    let person = Person::signed_in(&Workspace::new().await, "users:read").await;
    let part = |of: &Person, path: &str| {
        of.request(reqwest::Method::GET, path).header("hx-request", "true")
    };
    let refused = person.send(part(&person, "/console/health/panels")).await;
    let stranger = Person::new();
    let ended = stranger.send(part(&stranger, "/console/health/panels")).await;
    for (seen, status, text) in [(refused, 403, "settings:read"), (ended, 286, "/console/login")] {
        assert_eq!(seen.status, status, "{}", seen.text);
        // The form that asked stays as it is.
        assert_eq!(seen.headers["hx-retarget"], "#toasts");
        assert_eq!(
            (&seen.headers["hx-reswap"], &seen.headers["hx-reselect"]),
            (&"innerHTML".parse().unwrap(), &"unset".parse().unwrap())
        );
        assert!(seen.text.contains(text) && !seen.text.contains("<html"), "{}", seen.text);
    }
}

/// The ids of what a page loads afterwards, with their addresses.
fn later(page: &Seen) -> Vec<[String; 2]> {
    let places = page.text.split("<div id=\"").skip(1).filter_map(|place| {
        let (id, rest) = place.split_once("\" hx-get=\"")?;
        let (address, rest) = rest.split_once("\" hx-trigger=\"load\"")?;
        let is_later = !id.contains('<') && rest.starts_with(&format!(" hx-select=\"#{id}\""));
        is_later.then(|| [id.to_owned(), address.replace("&amp;", "&")])
    });
    places.collect()
}

#[tokio::test]
async fn a_script_gets_the_part_it_asks_for_and_a_browser_without_scripts_the_page() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let targeting = json!({"userIds": ["ann"]});
    let segment = json!({"name": "all", "targeting": targeting});
    let segment = workspace.api.post("/segments", &segment, 201).await.json();
    let segment = format!("/console/segments/{}?tab=members", segment["id"].as_str().unwrap());
    let campaign = campaigns::made(&workspace.api, &campaigns::email("news")).await;
    let campaign = format!("/console/campaigns/{}/report", campaigns::id(&campaign));
    for (page, count) in [("/console", 2), (segment.as_str(), 2), (campaign.as_str(), 1)] {
        let places = later(&person.get(page).await);
        assert_eq!(places.len(), count, "{page}: {places:?}");
        for [id, address] in places {
            let mark = format!("<div id=\"{id}\"");
            let whole = person.get(&address).await;
            assert!(whole.text.contains("<html") && whole.text.contains(&mark), "{}", whole.text);
            assert!(later(&whole).iter().all(|[it, _]| *it != id), "{address}");
            let asked = person.request(reqwest::Method::GET, &address).header("hx-request", "true");
            let part = person.send(asked).await;
            assert!(part.text.starts_with(&mark), "{address}: {}", part.text);
        }
    }
}

#[tokio::test]
async fn names_are_shown_as_text() {
    let hostile = "<img src=x onerror=alert(1)>\"'";
    let mut workspace = Workspace::new().await;
    workspace.name = format!("{hostile}{}", workspace.name);
    let (_, id) = server().key(&workspace.name, "*").await;
    workspace.id = id;
    let person = Person::signed_in(&workspace, "*").await;
    let home = person.get("/console").await;
    assert!(!home.text.contains("<img"), "{}", home.text);
    assert!(home.text.contains("&lt;img src=x onerror=alert(1)&gt;"), "{}", home.text);
}

#[tokio::test]
async fn home_counts_what_the_api_counts() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    let home = person.get("/console").await;
    assert!(home.text.contains("No event has arrived yet"), "{}", home.text);
    assert!(home.text.contains(&format!("{}/events/track", server().url)));
    let ann = json!({"externalId": "ann", "email": "ann@example.test"});
    workspace.api.post("/users", &ann, 201).await;
    let refused = json!({"userId": "ann", "eventName": ""});
    workspace.api.post("/events/track", &json!([refused]), 200).await;
    let home = crate::kit::eventually("the refused event is counted", || async {
        let home = person.get("/console").await;
        home.text.contains("Refused in 24 hours").then_some(home).filter(|home| {
            let before = home.text.split("Refused in 24 hours").next().unwrap();
            before.rsplit("figure-value\">").next().unwrap().starts_with('1')
        })
    })
    .await;
    assert!(!home.text.contains("No event has arrived yet"), "{}", home.text);
    let figures = ["Messages sent today", "Acknowledged within, p99", "In queries within, p99"];
    for figure in figures {
        assert!(home.text.contains(figure), "{figure}: {}", home.text);
    }
    crate::kit::eventually("each has its number, once SQL is ready", || async {
        let home = person.get("/console").await;
        (!home.text.contains("class=\"figure bad\"")).then_some(())
    })
    .await;
    // Without a scope its figure is not there.
    let person = Person::signed_in(&workspace, "users:read").await;
    let home = person.get("/console").await;
    assert!(home.text.contains("People") && !home.text.contains("Running campaigns"));
    assert!(figures.iter().all(|figure| !home.text.contains(figure)), "{}", home.text);
}

#[tokio::test]
async fn home_names_campaigns_that_failed_or_wait_for_a_provider() {
    let workspace = Workspace::new().await;
    let person = Person::signed_in(&workspace, "*").await;
    assert!(!person.get("/console").await.text.contains("failed: "));
    let email = |name: &str| {
        json!({"name": name, "channel": "email", "variants": [{"id": "a", "name": "A", "weight": 100,
            "message": {"subject": "Hi", "html": "<p>{{ unsubscribe_url }}</p>"}}]})
    };
    let now = workspace.api.post("/campaigns", &email("<b>Now"), 201).await.json();
    let send = format!("/campaigns/{}/send", now["id"].as_str().unwrap());
    workspace.api.post(&send, &json!({}), 200).await;
    let mut later = email("Later");
    (later["sendType"], later["scheduledAt"]) = (json!("scheduled"), json!("2040-07-01T09:00:00Z"));
    workspace.api.post("/campaigns", &later, 201).await;
    let seen = crate::kit::eventually("home names both campaigns", || async {
        let seen = person.get("/console").await;
        let is_named = |text: &str| seen.text.contains(text);
        (is_named("failed: no provider is set for channel email")
            && is_named("Later</bdi></a> waits: no provider is set for Email"))
        .then_some(seen)
    })
    .await;
    assert!(seen.text.contains("&lt;b&gt;Now") && !seen.text.contains("<b>Now"), "{}", seen.text);
    let reader = Person::signed_in(&workspace, "users:read").await;
    assert!(!reader.get("/console").await.text.contains("waits: "));
}

#[tokio::test]
async fn pages_fit_every_screen_and_break_no_policy() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            eprintln!("SKIPPED pages_fit_every_screen_and_break_no_policy: {reason}");
            return;
        }
    };
    let workspace = Workspace::new().await;
    tab.go(link(&workspace, "*").await.as_str()).await;
    let mut pages = of(&workspace).await;
    if cfg!(debug_assertions) {
        pages.push("/console/design".to_owned());
    }
    for path in pages {
        for (width, is_dark) in [(390, false), (768, true), (1440, false)] {
            tab.screen(Screen { width, height: 900, is_dark }).await;
            tab.go(&format!("{}{path}", server().url)).await;
            let over =
                "document.documentElement.scrollWidth - document.documentElement.clientWidth";
            assert_eq!(tab.value(over).await, json!(0), "{path} at {width}");
        }
    }
    assert_eq!(tab.errors(), [""; 0]);
}

#[tokio::test]
async fn without_scripts_a_dialog_stands_open_and_its_form_works() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!(
                "SKIPPED without_scripts_a_dialog_stands_open_and_its_form_works: {reason}"
            );
        }
    };
    let workspace = Workspace::new().await;
    let ann = workspace.api.post("/users", &json!({"externalId": "ann"}), 201).await.json();
    let path = format!("/console/people/{}", ann["id"].as_str().unwrap());
    tab.go(link(&workspace, "*").await.as_str()).await;
    tab.go(&format!("{}{path}", server().url)).await;
    let shown = |of: &str| format!("getComputedStyle(document.querySelector('{of}')).display");
    assert_eq!(tab.value(&shown("dialog")).await, "none");
    tab.command("Emulation.setScriptExecutionDisabled", json!({"value": true})).await;
    tab.go(&format!("{}{path}", server().url)).await;
    assert_eq!(tab.value(&shown("dialog")).await, "block");
    assert_eq!(tab.value(&shown("[data-opens]")).await, "none");
    tab.value("document.querySelector('dialog [name=confirm]').value = 'ann'; null").await;
    tab.click("dialog .button.danger").await;
    tab.until("document.title.startsWith('People')").await;
    workspace.api.get(&format!("/users/{}", ann["id"].as_str().unwrap()), 404).await;
}
