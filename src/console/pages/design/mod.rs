//! `/console/design`: every component of the design system, in debug builds alone.

use axum::{Router, response::Response, routing::get};
use kernel::Timestamp;
use maud::{Markup, html};

use crate::{
    state::ConsoleState,
    view::{
        self, Chart, Choice, Column, Confirmation, Entry, Fault, Field, Kind, Moment, Series,
        Sources, Tab, Tone, Unit,
    },
    visitor::Visitor,
};

const ENTRY: Entry = Entry { name: "Design", path: "/console/design", scopes: &[] };

pub(super) fn routes() -> Router<ConsoleState> {
    Router::new().route(ENTRY.path, get(show))
}

async fn show(visitor: Visitor) -> Response {
    let content = html! {
        div class="head" {
            h1 { "Design system" }
            (view::button_link(crate::HOME, "A link as a button"))
            button class="button primary" type="button" data-opens="example" { "Open a dialog" }
        }
        (view::tabs("Example", &[
            Tab { label: "Current", href: ENTRY.path.to_owned(), is_current: true },
            Tab { label: "Other", href: format!("{}?tab=other", ENTRY.path), is_current: false },
        ]))
        (figures())
        div class="grid" { (pieces(&visitor)) (form()) }
        (view::card("Table", &table(&visitor)))
        (view::card("Chart", &chart()))
        (view::card("Timeline", &timeline(&visitor)))
        (view::card("Difference", &view::diff("Hello\nAnn\nBye", "Hello\nBob\nBye")))
        (view::dialog("example", "A dialog", &html! { p { "Escape closes it." } }))
    };
    visitor.page(&ENTRY, ENTRY.name, &content)
}

fn figures() -> Markup {
    html! {
        div class="figures" {
            (view::figure("People", &html! { (view::count(1_234_567)) }, None, Tone::Neutral))
            (view::figure("Lag", &html! { "0.4 s" }, Some(crate::HOME), Tone::Good))
            (view::figure("Spool", &html! { (view::percent(0.61)) }, None, Tone::Warning))
            (view::figure("Dead letters", &html! { "12" }, None, Tone::Bad))
            (view::figure("Memory", &html! { (view::bytes(3 << 30)) }, None, Tone::Neutral))
        }
    }
}

fn pieces(visitor: &Visitor) -> Markup {
    view::card(
        "Pieces",
        &html! {
            p {
                (view::badge(Tone::Neutral, "draft")) " " (view::badge(Tone::Good, "active")) " "
                (view::badge(Tone::Warning, "paused")) " " (view::badge(Tone::Bad, "failed")) " "
                (view::badge(Tone::Info, "scheduled"))
            }
            (view::alert("ClickHouse is unavailable"))
            (view::empty("Nothing yet", &html! { (view::copyable("curl -s http://localhost/")) }))
            (view::facts([("Email", html! { "ann@example.test" }), ("Since", html! {
                (view::ago(Timestamp::from_millis(0), visitor.now(), visitor.zone()))
            })]))
            (view::json(&serde_json::json!({"plan": "pro"})))
            (view::skeleton(3))
            (view::confirm_by_name(&Confirmation {
                id: "delete-example", button: "Delete…", title: "Delete Ann?",
                explanation: "This cannot be undone.", name: "Ann", action: ENTRY.path,
                hidden: &visitor.csrf_field(),
            }))
        },
    )
}

fn form() -> Markup {
    let channels =
        [Choice { value: "email", label: "Email" }, Choice { value: "sms", label: "SMS" }];
    let days = view::choices(&["Monday", "Tuesday"]);
    view::card(
        "Form",
        &html! {
            form method="get" action=(ENTRY.path) autocomplete="off" {
                (view::fault_summary(&[Fault {
                    field: "weight".to_owned(),
                    label: "Weight".to_owned(),
                    problem: "must be between 0 and 100".to_owned(),
                }]))
                (view::field(&Field::text("name", "Name", "").required().hint("Shown to people")))
                (view::field(&Field::text("weight", "Weight", "140").of(Kind::Number)
                    .fault(Some("must be between 0 and 100"))))
                (view::field(&Field::text("text", "Text", "Hello").of(Kind::Lines(3))))
                (view::select("channel", "Channel", "sms", &channels))
                (view::select_of(&Field::text("day", "Day", "Tuesday").hint("By the workspace's zone"), &days))
                (view::check("scope", "users:read", "users:read", true))
                (view::hidden("from", "design"))
                button class="button primary" type="submit" { "Save" }
            }
        },
    )
}

fn table(visitor: &Visitor) -> Markup {
    let columns = [Column::text("Name"), Column::number("Events"), Column::text("Seen")];
    let row = |name: &str, events: u64| {
        vec![
            html! { a href=(crate::HOME) { (name) } },
            html! { (view::count(events)) },
            html! { (view::ago(visitor.now(), visitor.now(), visitor.zone())) },
        ]
    };
    html! {
        (view::table("People", &columns, &[row("Ann", 12_345), row("Bob", 7)]))
        (view::pager(None, Some("?page=2")))
    }
}

fn chart() -> Markup {
    let days: Vec<i64> = (0..14).collect();
    let values = |factor: i32| {
        let value = |day: &i64| f64::from(i32::try_from(*day % 5).unwrap_or(0) * factor + 10);
        days.iter().map(|day| Some(value(day))).collect()
    };
    let chart = Chart {
        title: "Orders by day".to_owned(),
        unit: Unit::Number,
        times: days.iter().map(|day| day * 86_400).collect(),
        labels: days.iter().map(|day| format!("Jan {}", day + 1)).collect(),
        series: vec![
            Series { label: "Orders".to_owned(), values: values(3), is_compared: false },
            Series { label: "Orders before".to_owned(), values: values(2), is_compared: true },
        ],
    };
    let sources = Sources {
        api: Some("curl …".to_owned()),
        sql: Some("select …".to_owned()),
        csv: Some("?format=csv".to_owned()),
    };
    view::chart(&chart, &sources)
}

fn timeline(visitor: &Visitor) -> Markup {
    let now = visitor.now();
    view::timeline(&[
        Moment {
            time: view::ago(now, now, visitor.zone()),
            tone: Tone::Info,
            kind: "event".to_owned(),
            title: html! { "Order Completed" },
            details: Some(view::json(&serde_json::json!({"total": 49.9}))),
        },
        Moment {
            time: html! { (view::exact(now, visitor.zone())) },
            tone: Tone::Neutral,
            kind: "email".to_owned(),
            title: html! { "Delivered (" (view::decimal(1.5)) " s)" },
            details: None,
        },
    ])
}
