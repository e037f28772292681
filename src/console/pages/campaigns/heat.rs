//! Clicks on the links of an email, marked on the email itself.

use std::collections::BTreeMap;

use axum::{
    extract::{Path, Query},
    response::{Html, IntoResponse as _, Response},
};
use lol_html::{RewriteStrSettings, element, html_content::ContentType, rewrite_str};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use url::form_urlencoded;

use super::{Whole, find};
use crate::{
    failure::{Failure, PageResult},
    gate::FramedMessage,
    in_process::path,
    view,
    visitor::Visitor,
};

/// What the address of the frame names.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    variant: String,
    from: String,
    to: String,
}

#[derive(Deserialize)]
struct Links {
    links: Vec<Link>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Link {
    url: String,
    by_variant: Vec<OfVariant>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfVariant {
    variant_id: String,
    unique_clicks: u64,
}

/// A variant of an email.
struct Email<'w> {
    id: &'w str,
    name: &'w str,
    html: &'w str,
}

impl<'w> Email<'w> {
    /// A variant that has HTML.
    fn of(variant: &'w Value) -> Option<Self> {
        let html = variant["message"]["html"].as_str().filter(|html| !html.is_empty())?;
        Some(Self { id: variant["id"].as_str()?, name: variant["name"].as_str()?, html })
    }
}

/// The variants that have HTML.
fn emails(whole: &Whole) -> Vec<Email<'_>> {
    let variants = whole.value["variants"].as_array().map(Vec::as_slice).unwrap_or_default();
    variants.iter().filter_map(Email::of).collect()
}

/// The emails of a campaign with the clicks on their links; nothing where no variant has HTML.
pub(super) fn card(whole: &Whole, from: &str, to: &str) -> Markup {
    let emails = emails(whole);
    if emails.is_empty() {
        return html! {};
    }
    let address = |id: &str| {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("variant", id)
            .append_pair("from", from)
            .append_pair("to", to)
            .finish();
        format!("{}?{query}", whole.campaign.path_of("clicks"))
    };
    let content = html! {
        p class="quiet" { "People who clicked each link, as the template has it. Links that are made by the template are in the table alone." }
        @for (place, Email { id, name, .. }) in emails.iter().enumerate() {
            details open[place == 0] {
                summary { "Variant " bdi { (name) } }
                iframe class="device" sandbox="" loading="lazy" src=(address(id))
                    title={ "Clicks on the links of variant " (name) } {}
            }
        }
    };
    view::card("Clicks on the message", &content)
}

/// The HTML of a variant with its clicks, for the frame in the page.
pub(super) async fn framed(
    visitor: Visitor,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> PageResult<Response> {
    let whole = find(&visitor, &id).await?;
    let emails = emails(&whole);
    let email = emails.iter().find(|email| email.id == asked.variant);
    let email = email.ok_or_else(Failure::not_found)?;
    let call = visitor
        .get(path(["campaigns", &id, "links"]))
        .query_if("startDate", Some(asked.from.trim()))
        .query_if("endDate", Some(asked.to.trim()));
    let links: Links = call.read().await?;
    let clicks: BTreeMap<String, u64> = links
        .links
        .into_iter()
        .filter_map(|link| {
            let own = link.by_variant.into_iter().find(|of| of.variant_id == email.id)?;
            Some((link.url, own.unique_clicks))
        })
        .collect();
    let mut response = Html(marked(email.html, &clicks)?).into_response();
    response.extensions_mut().insert(FramedMessage);
    Ok(response)
}

/// The HTML with a mark behind each link: the number of people who clicked it, the darker the more.
fn marked(html: &str, clicks: &BTreeMap<String, u64>) -> PageResult<String> {
    let most = clicks.values().copied().max().unwrap_or_default();
    let mark = element!("a[href]", |link| {
        // Attributes are as they are written.
        let href = link.get_attribute("href").unwrap_or_default().replace("&amp;", "&");
        let people = clicks.get(href.trim()).copied().unwrap_or_default();
        link.after(&badge(people, most).into_string(), ContentType::Html);
        Ok(())
    });
    let settings = RewriteStrSettings::new().append_element_content_handler(mark);
    rewrite_str(html, settings).map_err(|fault| Failure::internal(&fault))
}

fn badge(people: u64, most: u64) -> Markup {
    // From the lightest to the darkest red, in percent; the text stays readable on all.
    let lightness = 92 - (people * 57).checked_div(most).unwrap_or(0);
    let text = if lightness < 60 { "#ffffff" } else { "#000000" };
    html! {
        span style={
            "display: inline-block; margin-left: 4px; padding: 0 6px; border-radius: 8px; font: 12px/18px system-ui, sans-serif; "
            "color: " (text) "; background: hsl(0, 70%, " (lightness) "%);"
        } { (view::count(people)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_marked_by_their_addresses() {
        let clicks = BTreeMap::from([
            ("https://a.test/?x=1&y=2".to_owned(), 40),
            ("https://b.test/".to_owned(), 10),
        ]);
        let html = "<p><a href=\"https://a.test/?x=1&amp;y=2\">A</a> <A HREF='https://b.test/'>B</A> \
                    <a href=\"{{ unsubscribe_url }}\">out</a> <a>no</a>";
        let marked = marked(html, &clicks).unwrap();
        let numbers: Vec<&str> = marked
            .split("%);\">")
            .skip(1)
            .map(|rest| rest.split("</span>").next().unwrap())
            .collect();
        assert_eq!(numbers, ["40", "10", "0"], "{marked}");
        assert!(
            marked.contains("hsl(0, 70%, 35%)") && marked.contains("hsl(0, 70%, 92%)"),
            "{marked}"
        );
        assert!(marked.contains("{{ unsubscribe_url }}"), "the template stays: {marked}");
    }

    #[test]
    fn without_clicks_nothing_is_divided() {
        assert!(marked("<a href=x>x</a>", &BTreeMap::new()).unwrap().contains(">0</span>"));
    }
}
