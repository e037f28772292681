//! How pages stand in a browser: what fields have after Back, and what long names and narrow screens do.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    campaigns,
    explore::{self, RANGE},
    kit::link,
    managed,
};
use crate::kit::{BrowserTab, Screen, Workspace, eventually, server};

#[tokio::test]
async fn after_back_the_fields_are_those_of_the_question_that_is_answered() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => return eprintln!("SKIPPED after_back: {reason}"),
    };
    let workspace = explore::with_events().await;
    tab.go(link(&workspace, "*").await.as_str()).await;
    let address =
        format!("{}/console/explore?tab=trends&event=Bought&metric=count&{RANGE}", server().url);
    tab.go(&address).await;
    let change = "document.getElementById('metric').value = 'unique'; \
                  document.getElementById('breakdown').value = 'country'; null";
    tab.value(change).await;
    tab.click("form.card[method=get] [type=submit]").await;
    tab.until("location.search.includes('metric=unique') && document.readyState === 'complete'")
        .await;
    let fields = "['metric', 'breakdown'].map((id) => document.getElementById(id).value)";
    assert_eq!(tab.value(fields).await, json!(["unique", "country"]));
    tab.value("history.back(); null").await;
    let is_back = "location.search.includes('metric=count') && document.readyState === 'complete'";
    tab.until(&format!("{is_back} && {fields}.join() === 'count,'")).await;
    assert_eq!(tab.errors(), [""; 0]);
}

/// Orders of people in eight countries, and an event with the longest name.
async fn with_many_lines(long: &str) -> Workspace {
    let workspace = Workspace::new().await;
    let order = |at: usize| {
        json!({"userId": format!("p{at}"), "eventName": "Bought", "timestamp": "2026-03-02T09:00:00Z",
               "properties": {"country": format!("Country {at}")}})
    };
    let mut events: Vec<_> = (0..8).map(order).collect();
    events.push(json!({"userId": "ann", "eventName": long, "timestamp": "2026-03-01T09:00:00Z"}));
    workspace.api.post("/events/track", &json!(events), 200).await;
    let question = json!({"series": [{}], "from": "2026-03-01", "to": "2026-03-03"});
    eventually("the events are visible", || async {
        let trends = workspace.api.post("/insights/trends", &question, 200).await.json();
        (trends["series"][0]["total"] == 9.0).then_some(())
    })
    .await;
    workspace
}

#[tokio::test]
async fn lines_of_a_chart_differ_and_its_legend_fits() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => return eprintln!("SKIPPED lines_of_a_chart: {reason}"),
    };
    let long = "N".repeat(200);
    let workspace = with_many_lines(&long).await;
    tab.go(link(&workspace, "*").await.as_str()).await;
    let open = async |rest: &str| {
        tab.go(&format!("{}/console/explore?tab=trends&{rest}&{RANGE}&answer=on", server().url))
            .await;
        tab.until("document.querySelector('.u-legend .u-label')").await;
    };
    open("event=Bought&breakdown=country&compare=previous_period").await;
    let looks = "[...document.querySelectorAll('.u-legend .u-series:not(:first-child) .u-marker')]\
                 .map((it) => [getComputedStyle(it).borderTopColor, getComputedStyle(it).borderTopStyle])";
    let looks: Vec<[String; 2]> = serde_json::from_value(tab.value(looks).await).unwrap();
    assert_eq!(looks.len(), 16, "a line and the period before for each country");
    for pair in looks.chunks(2) {
        assert!(pair[0][0] == pair[1][0] && pair[0][1] != pair[1][1], "{pair:?}");
    }
    assert_eq!(looks.iter().collect::<BTreeSet<_>>().len(), 16, "{looks:?}");
    for width in [390, 1440] {
        tab.screen(Screen { width, height: 900, is_dark: false }).await;
        open(&format!("event={long}&event=Bought")).await;
        let over = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
        assert_eq!(tab.value(over).await, json!(0), "at {width}");
    }
    assert_eq!(tab.errors(), [""; 0]);
}

/// Buttons without space between them and what is above, below or beside them.
const TOUCHING: &str = "(() => { \
    const all = [...document.querySelectorAll('main :is(.button, .card, .check, h2, input, select, textarea, summary)')]; \
    const boxes = all.filter((it) => it.checkVisibility() && !it.closest('.unseen')) \
        .map((it) => [it, it.getBoundingClientRect()]); \
    const touch = ([a, x], [b, y]) => { \
        if (a === b || a.contains(b) || b.contains(a)) return false; \
        const across = Math.min(x.right, y.right) - Math.max(x.left, y.left); \
        const down = Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top); \
        return (across > 0 && down > -4) || (down > 0 && across > -3); }; \
    return boxes.filter(([it]) => it.matches('.button')) \
        .flatMap((one) => boxes.filter((other) => touch(one, other)).map(([it]) => `${one[0].textContent}: ${it.outerHTML.slice(0, 80)}`)); })()";

#[tokio::test]
async fn buttons_touch_nothing_and_columns_are_wide_enough_to_read() {
    let tab = match BrowserTab::open().await {
        Ok(tab) => tab,
        Err(reason) => return eprintln!("SKIPPED buttons_touch_nothing: {reason}"),
    };
    let (workspace, paths) = managed::filled().await;
    let mut paths: Vec<String> = paths.iter().map(|path| format!("/console/{path}")).collect();
    let campaign = campaigns::made(&workspace, &campaigns::webhook("March")).await;
    paths.extend(["", "/launch", "/launch?confirm=on"].map(|page| format!("{campaign}{page}")));
    tab.go(link(&workspace, "*").await.as_str()).await;
    for path in paths {
        for width in [390, 1440] {
            tab.screen(Screen { width, height: 900, is_dark: false }).await;
            tab.go(&format!("{}{path}", server().url)).await;
            assert_eq!(tab.value(TOUCHING).await, json!([]), "{path} at {width}");
            let narrow = "[...document.querySelectorAll('.table td:not(.number)')] \
                          .filter((it) => it.checkVisibility() && it.offsetWidth < 100).map((it) => it.outerHTML)";
            assert_eq!(tab.value(narrow).await, json!([]), "{path} at {width}");
        }
    }
    assert_eq!(tab.errors(), [""; 0]);
}
