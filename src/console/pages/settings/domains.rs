//! Sender domains: the DNS records to set, and the check that they are.

use axum::{extract::Path, response::Response};
use http::Method;
use kernel::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;
use web::auth::ScopeName;

use super::Tab;
use crate::{
    failure::{Failure, PageResult, Refused},
    in_process::path,
    view::{self, Column, Confirmation, Field, Tone},
    visitor::{Form, Visitor},
};

/// A domain as the API answers it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Domain {
    id: String,
    #[serde(rename = "domain")]
    name: String,
    status: String,
    records: Vec<Record>,
    problem: Option<String>,
    checked_at: Option<Timestamp>,
}

/// A DNS record to set.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    purpose: String,
    #[serde(rename = "type")]
    kind: String,
    name: String,
    value: String,
    status: String,
}

#[derive(Deserialize)]
struct Domains {
    data: Vec<Domain>,
}

pub(super) async fn show(visitor: Visitor) -> Response {
    page(&visitor, "", None).await
}

async fn page(visitor: &Visitor, typed: &str, refused: Option<Refused<'_>>) -> Response {
    let failure = refused.and_then(Refused::at_form);
    let domains: PageResult<Domains> = visitor.get("/sender-domains").read().await;
    let content = html! {
        @match &domains {
            Ok(domains) if domains.data.is_empty() => (view::empty("No sender domain yet", &html! {
                p { "Email is sent only from domains that are yours: add one, set its DNS records, and check it." }
            })),
            Ok(domains) => { @for domain in &domains.data { (card(visitor, domain)) } }
            Err(failure) => (failure.card("Sender domains")),
        }
        @if visitor.may(ScopeName::SettingsWrite) || failure.is_some() { (form(visitor, typed, failure)) }
    };
    Tab::Domains.page(visitor, refused, &content)
}

fn form(visitor: &Visitor, typed: &str, failure: Option<&Failure>) -> Markup {
    let fault = failure.and_then(|failure| failure.at("domain"));
    let content = html! {
        @if let Some(rest) = failure.and_then(|failure| failure.elsewhere(&["domain"])) { (view::alert(&rest)) }
        form method="post" action=(Tab::Domains.path()) {
            (visitor.csrf_field())
            (view::field(&Field::text("domain", "Domain", typed).required().fault(fault.as_deref())
                .hint("Such as news.example.com")))
            button class="button primary" type="submit" { "Add" }
        }
    };
    view::card("Add a domain", &content)
}

fn card(visitor: &Visitor, domain: &Domain) -> Markup {
    let tone = match domain.status.as_str() {
        "verified" => Tone::Good,
        "failed" => Tone::Bad,
        _ => Tone::Warning,
    };
    let columns = [
        Column::text("For"),
        Column::text("Type"),
        Column::text("Name"),
        Column::text("Value"),
        Column::text("Last check"),
    ];
    let row = |record: &Record| {
        vec![
            html! { (record.purpose) },
            html! { (record.kind) },
            html! { code { (record.name) } },
            html! { code { (record.value) } },
            html! { (record.status.replace('_', " ")) },
        ]
    };
    let rows: Vec<Vec<Markup>> = domain.records.iter().map(row).collect();
    let address = |does: &str| path(["console", "settings", "domains", &domain.id, does]);
    let content = html! {
        p {
            (view::badge(tone, &domain.status))
            @if let Some(at) = domain.checked_at {
                span class="quiet" { " checked " (view::ago(at, visitor.now(), visitor.zone())) }
            }
        }
        @if let Some(problem) = &domain.problem { (view::alert(problem)) }
        (view::table(&format!("DNS records of {}", domain.name), &columns, &rows))
        @if visitor.may(ScopeName::SettingsWrite) {
            div class="actions" {
                form method="post" action=(address("check")) {
                    (visitor.csrf_field())
                    button class="button" type="submit" { "Check now" }
                }
                (view::confirm_by_name(&Confirmation {
                    id: &format!("delete-{}", domain.id),
                    button: "Remove…",
                    title: "Remove this domain?",
                    explanation: "No more email is sent from it.",
                    name: &domain.name,
                    action: &address("delete"),
                    hidden: &visitor.csrf_field(),
                }))
            }
        }
    };
    view::card(&domain.name, &content)
}

pub(super) async fn add(visitor: Visitor, form: Form) -> PageResult<Response> {
    let typed = form.text("domain").unwrap_or_default();
    let call = visitor.call(Method::POST, "/sender-domains").json(&json!({"domain": typed}))?;
    match call.read::<Domain>().await {
        Ok(domain) => {
            let notice = format!("{} was added: set its records, then check it.", domain.name);
            Ok(visitor.done(Tab::Domains.path(), &notice))
        }
        Err(failure) if failure.keeps_form() => {
            Ok(page(&visitor, typed, Some(Refused::Form(&failure))).await)
        }
        Err(failure) => Err(failure),
    }
}

/// The page where a change of a domain was refused.
async fn unchanged(visitor: &Visitor, failure: Failure) -> PageResult<Response> {
    if failure.keeps_form() {
        return Ok(page(visitor, "", Some(Refused::Change(&failure))).await);
    }
    Err(failure)
}

pub(super) async fn check(visitor: Visitor, Path(id): Path<String>) -> PageResult<Response> {
    let call = visitor.call(Method::POST, path(["sender-domains", &id, "verify"]));
    match call.read::<Domain>().await {
        Ok(domain) => {
            let notice = format!("{}: {}", domain.name, domain.status);
            Ok(visitor.done(Tab::Domains.path(), &notice))
        }
        Err(failure) => unchanged(&visitor, failure).await,
    }
}

pub(super) async fn delete(
    visitor: Visitor,
    Path(id): Path<String>,
    form: Form,
) -> PageResult<Response> {
    let domain: Domain = visitor.get(path(["sender-domains", &id])).read().await?;
    let removed = async {
        let otherwise = "The name that was typed is not that of the domain: nothing was removed";
        form.confirmed(&domain.name, otherwise)?;
        visitor.call(Method::DELETE, path(["sender-domains", &id])).done().await
    };
    match removed.await {
        Ok(()) => Ok(visitor.done(Tab::Domains.path(), &format!("{} was removed.", domain.name))),
        Err(failure) => unchanged(&visitor, failure).await,
    }
}
