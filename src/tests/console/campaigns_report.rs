//! `/console/campaigns/:id/report`: every number is the API's, and nothing in it is more than text.

use ingest::record::MessageKind as K;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    accessible,
    kit::{Person, Seen, link},
};
use crate::{
    kit::{BrowserTab, Screen, Workspace, server},
    stats::fixture::{
        TestMessageEvent, campaign, hour, in_euros, iso, message_event, publish, track, variant,
    },
};

/// A link that is no address of the web.
const HOSTILE_LINK: &str = "javascript:alert(1)";

/// A campaign with a control group, people who opened, clicked and bought, and messages that failed.
async fn sent(workspace: &Workspace) -> Uuid {
    let counted = json!({"primaryConversion": {"eventName": "Order Completed"}});
    let mut variants =
        vec![variant("a", 40, false), variant("b", 40, false), variant("c", 20, true)];
    let html = "<p>A sale <a href=\"https://shop.example/sale?a=1&amp;b=2\">today</a></p>";
    variants[0]["message"]["html"] = json!(html);
    variants[1]["name"] = json!(format!("<img src=x>\"' مرحبا {}", "n".repeat(200)));
    let fields = json!({"variants": variants, "conversionTracking": counted});
    let id = campaign(workspace, fields).await;
    let user = |number: usize| format!("{:024x}", 0x9000_0000 + number);
    let mut all: Vec<TestMessageEvent> = Vec::new();
    for number in 0..90 {
        let of = |kind, at| {
            let variant = if number < 40 {
                "a"
            } else if number < 75 {
                "b"
            } else {
                "c"
            };
            message_event(id, &user(number), kind, hour(at)).of(variant)
        };
        if number >= 75 {
            all.push(of(K::Control, 0));
            continue;
        }
        all.extend([of(K::Queued, 0), of(K::Sent, 0)]);
        match number {
            0..30 => all.push(of(K::Delivered, 0)),
            70..73 => all.push(of(K::Failed, 0).because("<b>550", "<script>no such box")),
            _ => {}
        }
        if number < 25 {
            all.push(of(K::Opened, 1));
        }
        if number < 8 {
            all.push(of(K::Clicked, 2).on("https://shop.example/sale?a=1&b=2"));
        }
        if number == 8 {
            all.push(of(K::Clicked, 2).on(HOSTILE_LINK));
        }
    }
    publish(workspace, &all).await;
    let order = |number: usize| {
        json!({"eventName": "Order Completed", "userId": user(number), "timestamp": iso(hour(3)),
               "properties": {"orderId": format!("o{number}"), "total": 1234.5, "currency": "EUR"}})
    };
    let orders: Vec<Value> = (0..6).chain([80]).map(order).collect();
    track(workspace, &orders, orders.len()).await;
    id
}

fn count(value: &Value) -> String {
    let digits = value.as_u64().unwrap_or_else(|| panic!("{value}")).to_string();
    assert!(digits.len() <= 3, "{digits}: of a small test");
    digits
}

fn share(value: &Value) -> String {
    format!("{:.1} %", value.as_f64().unwrap_or_else(|| panic!("{value}")) * 100.0)
}

/// Whether the page has a row of a table with these cells.
fn has_row(seen: &Seen, name: &str, cells: &[String]) {
    let rows = seen.text.split("<tr>").filter(|row| row.contains(name));
    let found =
        rows.into_iter().any(|row| cells.iter().all(|cell| row.contains(&format!(">{cell}<"))));
    assert!(found, "no row {name} with {cells:?}: {}", seen.text);
}

/// Links, failures and times are those of the API.
async fn engagement_is_the_apis(workspace: &Workspace, id: Uuid, seen: &Seen) {
    let report =
        async |of: &str| workspace.api.get(format!("/campaigns/{id}/{of}"), 200).await.json();
    let links = report("links").await;
    let cells = [count(&links["links"][0]["uniqueClicks"]), share(&links["links"][0]["clickRate"])];
    has_row(seen, "https://shop.example/sale?a=1&amp;b=2", &cells);
    assert!(
        seen.text.contains(HOSTILE_LINK) && !seen.text.contains(&format!("href=\"{HOSTILE_LINK}"))
    );
    let failures = report("failure-reasons").await;
    has_row(seen, "&lt;b&gt;550", &[count(&failures[0]["count"])]);
    let times = report("time-to-engage").await;
    let bucket = times["buckets"].as_array().unwrap().iter().find(|it| it["opened"] != 0).unwrap();
    has_row(
        seen,
        &format!("<td>{}", bucket["label"].as_str().unwrap()),
        &[count(&bucket["opened"])],
    );
}

async fn other_times_have_no_numbers(person: &Person, id: Uuid) {
    let seen =
        person.get(&format!("/console/campaigns/{id}/report?numbers=on&from=2040-01-01")).await;
    assert!(seen.text.contains("No messages of this time"), "{}", seen.text);
    assert!(!seen.text.contains("<bdi>Order Completed"), "no numbers without data");
    let seen = person.get(&format!("/console/campaigns/{id}/report?numbers=on&from=never")).await;
    assert!(seen.text.contains("startDate"), "{}", seen.text);
}

#[tokio::test]
async fn every_number_of_the_report_is_the_apis() {
    let workspace = in_euros().await;
    let id = sent(&workspace).await;
    let report =
        async |of: &str| workspace.api.get(format!("/campaigns/{id}/{of}"), 200).await.json();
    let person = Person::signed_in(&workspace, "campaigns:read").await;
    let seen = person.get(&format!("/console/campaigns/{id}/report?numbers=on")).await;
    assert_eq!(seen.status, 200, "{}", seen.text);

    let stats = report("stats").await;
    for (name, field) in [
        ("Sent", "sent"),
        ("Delivered", "delivered"),
        ("Opened", "opened"),
        ("Clicked", "clicked"),
        ("Failed", "failed"),
        ("Made for people", "queued"),
        ("In the control group", "control"),
    ] {
        assert_ne!(stats["stats"][field], 0, "{field} tests nothing");
        has_row(&seen, &format!("<td>{name}"), &[count(&stats["stats"][field])]);
    }
    let goal = &stats["conversionStats"]["primary"];
    let cells = [count(&goal["uniqueConversions"]), share(&goal["conversionRate"])];
    has_row(&seen, "<bdi>Order Completed", &cells);
    assert_eq!(
        (&stats["revenue"]["total"], &stats["revenue"]["orders"]),
        (&json!(7407), &json!(6))
    );
    has_row(&seen, "<td>EUR", &["7,407 EUR".to_owned(), "6".to_owned()]);
    let uplift = &stats["uplift"];
    for (name, side) in [("Campaign", "treatment"), ("Control group", "control")] {
        let side = &uplift[side];
        let cells = [count(&side["size"]), count(&side["conversions"]), share(&side["rate"])];
        has_row(&seen, &format!("<td>{name}"), &cells);
    }
    let interval = &uplift["confidenceInterval"];
    has_row(
        &seen,
        "<bdi>Difference of rates",
        &[share(&uplift["absoluteUplift"]), share(&interval["lower"]), share(&interval["upper"])],
    );

    let variants = report("variant-stats").await;
    for of in variants["variants"].as_array().unwrap() {
        let name = if of["variantId"] == "b" {
            "&lt;img src=x&gt;".to_owned()
        } else {
            of["name"].as_str().unwrap().to_owned()
        };
        let cells = [count(&of["recipients"]), count(&of["people"]), count(&of["conversions"])];
        has_row(&seen, &format!("<bdi>{name}"), &cells);
        has_row(
            &seen,
            &format!("<bdi>{name}"),
            &[share(&of["rate"]), share(&of["interval"]["lower"])],
        );
    }
    assert_eq!(variants["analysis"], "intention_to_treat");
    assert!(seen.text.contains("Conversion rate is of all People of a variant"), "{}", seen.text);
    for warning in uplift["warnings"].as_array().unwrap() {
        assert!(
            seen.text.contains(&warning["message"].as_str().unwrap().replace('"', "&quot;")),
            "{warning}"
        );
    }

    engagement_is_the_apis(&workspace, id, &seen).await;
    assert!(!seen.text.contains("<img") && !seen.text.contains("<script>"), "{}", seen.text);
    assert_eq!(seen.text.matches("<svg").count(), 3, "rates, lifts and uplift: {}", seen.text);

    other_times_have_no_numbers(&person, id).await;
}

#[tokio::test]
async fn reports_lead_to_the_same_numbers_without_the_console() {
    let workspace = in_euros().await;
    let id = sent(&workspace).await;
    let person = Person::signed_in(&workspace, "campaigns:read").await;
    let rest = "from=2020-01-01&to=2040-01-01&attribution=linear";
    let seen = person.get(&format!("/console/campaigns/{id}/report?numbers=on&{rest}")).await;
    let ranged = "startDate=2020-01-01&amp;endDate=2040-01-01";
    for report in [
        format!("stats?{ranged}&amp;attributionModel=linear"),
        format!("variant-stats?{ranged}"),
        format!("links?{ranged}"),
        "failure-reasons".to_owned(),
        "time-to-engage".to_owned(),
    ] {
        let command = format!("curl -s '{}/campaigns/{id}/{report}' -H", server().url);
        assert!(seen.text.contains(&command), "no {command}: {}", seen.text);
    }
    let file = format!("/console/campaigns/{id}/csv/links?{rest}");
    assert!(seen.text.contains(&format!("href=\"{}\" download", file.replace('&', "&amp;"))));
    let links = person.get(&file).await;
    assert_eq!(links.headers["content-type"], "text/csv; charset=utf-8");
    assert_eq!(links.headers["content-disposition"], "attachment; filename=\"links.csv\"");
    let mut lines = links.text.lines();
    assert_eq!(
        lines.next(),
        Some("clickRate,firstClickedAt,label,lastClickedAt,totalClicks,uniqueClicks,url")
    );
    let api = workspace.api.get(format!("/campaigns/{id}/links"), 200).await.json();
    for link in api["links"].as_array().unwrap() {
        let line = lines.next().unwrap();
        let end = format!("{},{}", link["uniqueClicks"], link["url"].as_str().unwrap());
        assert!(line.ends_with(&end), "{line}: {link}");
    }
    assert_eq!(lines.next(), None);
    let failures = person.get(&format!("/console/campaigns/{id}/csv/failure-reasons")).await;
    assert_eq!(failures.text, "code,count,reason\n<b>550,3,<script>no such box\n");
    assert_eq!(person.get(&format!("/console/campaigns/{id}/csv/none")).await.status, 404);
    let none = format!("/console/campaigns/{}/csv/links", Uuid::nil());
    assert_eq!(person.get(&none).await.status, 404);
}

#[tokio::test]
async fn clicks_stand_on_the_email_and_goals_follow_the_model() {
    let workspace = in_euros().await;
    let id = sent(&workspace).await;
    let report =
        async |of: &str| workspace.api.get(format!("/campaigns/{id}/{of}"), 200).await.json();
    let person = Person::signed_in(&workspace, "campaigns:read").await;
    let seen = person.get(&format!("/console/campaigns/{id}/report?numbers=on")).await;
    // On the email itself, in a frame.
    let frame = seen.between("loading=\"lazy\" src=\"", "\"").replace("&amp;", "&");
    assert!(frame.contains("/clicks?variant="), "{frame}");
    let framed = person.get(&frame).await;
    assert_eq!(
        (framed.status.as_u16(), &framed.headers["x-frame-options"]),
        (200, &"SAMEORIGIN".parse().unwrap())
    );
    let links = report("links").await;
    let clicked = &links["links"][0]["byVariant"][0]["uniqueClicks"];
    assert!(
        framed.text.contains(&format!("%);\">{}</span>", count(clicked))),
        "{clicked}: {}",
        framed.text
    );
    let none = format!("/console/campaigns/{id}/clicks?variant=none");
    assert_eq!(person.get(&none).await.status, 404);

    // By another model the API's numbers of that model.
    let stats = report("stats?attributionModel=linear").await;
    let path = format!("/console/campaigns/{id}/report?numbers=on&attribution=linear");
    let by_model = person.get(&path).await;
    assert!(by_model.text.contains("<option value=\"linear\" selected>"), "{}", by_model.text);
    assert_eq!(stats["conversionStats"]["attributionModel"], "linear");
    assert!(by_model.text.contains("credited by linear"), "{}", by_model.text);
}

#[tokio::test]
async fn pages_of_a_campaign_fit_every_screen() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => return eprintln!("SKIPPED pages_of_a_campaign_fit_every_screen: {reason}"),
    };
    let workspace = in_euros().await;
    let id = sent(&workspace).await;
    let name = "مرحبا بالعالم ".repeat(14);
    let change = workspace
        .api
        .request(Method::PUT, &format!("/campaigns/{id}"))
        .json(&json!({"name": name}));
    workspace.api.send(change, 200).await;
    tab.go(link(&workspace, "*").await.as_str()).await;
    let over = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    for page in [
        "",
        "/new",
        &format!("/{id}"),
        &format!("/{id}/test"),
        &format!("/{id}/launch"),
        &format!("/{id}/launch?confirm=on"),
        &format!("/{id}/report"),
        &format!("/{id}/recipients"),
        &format!("/{id}/versions"),
    ] {
        for (width, is_dark) in [(390, false), (1440, true)] {
            tab.screen(Screen { width, height: 900, is_dark }).await;
            tab.go(&format!("{}/console/campaigns{page}", server().url)).await;
            assert_eq!(tab.value(over).await, json!(0), "{page} at {width}");
            let ids = "(() => { const all = [...document.querySelectorAll('[id]')].map((it) => it.id); \
                       return all.filter((id, at) => all.indexOf(id) !== at); })()";
            assert_eq!(tab.value(ids).await, json!([]), "{page}: an id is there twice");
            let unnamed = "[...document.querySelectorAll('main input:not([type=hidden]), main select, main textarea')]\
                           .filter((it) => !it.labels.length).map((it) => it.name)";
            assert_eq!(tab.value(unnamed).await, json!([]), "{page}: a field has no label");
        }
    }
    assert_eq!(tab.errors(), [""; 0]);
}

#[tokio::test]
async fn labels_of_plots_lie_apart_and_keep_their_size() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => {
            return eprintln!("SKIPPED labels_of_plots_lie_apart_and_keep_their_size: {reason}");
        }
    };
    let workspace = in_euros().await;
    let id = sent(&workspace).await;
    tab.go(link(&workspace, "*").await.as_str()).await;
    let lying_over = "(() => { const found = []; for (const plot of document.querySelectorAll('.forest svg')) { \
                      const all = [...plot.querySelectorAll('text')].map((it) => [it.textContent, it.getBoundingClientRect()]); \
                      for (const [text, a] of all) { if (a.height < 12) found.push(`${text} is small`); \
                      for (const [other, b] of all) if (a !== b && a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom) \
                      found.push(`${text} over ${other}`); } } return found; })()";
    for width in [390, 1440] {
        tab.screen(Screen { width, height: 900, is_dark: false }).await;
        tab.go(&format!("{}/console/campaigns/{id}/report?numbers=on", server().url)).await;
        tab.until("document.querySelectorAll('.forest svg text').length > 6").await;
        assert_eq!(tab.value(lying_over).await, json!([]), "at {width}");
    }
    assert_eq!(tab.errors(), [""; 0]);
}

#[tokio::test]
async fn pages_of_a_campaign_break_no_rule_of_axe() {
    let workspace = in_euros().await;
    let id = sent(&workspace).await;
    let own = format!("/console/campaigns/{id}");
    let webhook = super::campaigns::made(&workspace, &super::campaigns::webhook("Empty")).await;
    let paths = [
        "/console/campaigns?rates=on".to_owned(),
        "/console/campaigns/new".to_owned(),
        own.clone(),
        format!("{own}/test"),
        format!("{own}/report?numbers=on"),
        format!("{own}/recipients"),
        format!("{own}/versions"),
        format!("{webhook}/launch?confirm=on"),
        format!("{webhook}/report?numbers=on"),
        format!("{webhook}/recipients"),
    ];
    accessible::check(&workspace, &paths).await;
}
