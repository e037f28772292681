//! Clicks on the links of an email, marked on the email itself.

use std::{borrow::Cow, collections::BTreeMap};

use axum::{
    extract::Path,
    response::{Html, IntoResponse as _, Response},
};
use lol_html::{
    ElementContentHandlers, RewriteStrSettings, Selector, element,
    html_content::{ContentType, Element},
    rewrite_str,
};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use url::form_urlencoded;

use super::{Whole, find, sent_content, versions::snapshot};
use crate::{
    failure::{Failure, PageResult},
    gate::FramedMessage,
    in_process::path,
    query::Query,
    view,
    visitor::Visitor,
};

const TITLE: &str = "Clicks on the message";
/// Parameters that sending adds to links.
const UTM: [&str; 5] = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"];

/// What is done at elements of a document.
type Handler<'h> = (Cow<'h, Selector>, ElementContentHandlers<'h>);

/// What the address of the frame names.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    variant: String,
    from: String,
    to: String,
    /// The version that is shown; the present content without it.
    version: String,
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

/// The variants of a definition that have HTML.
fn emails(definition: &Value) -> Vec<Email<'_>> {
    let variants = definition["variants"].as_array().map(Vec::as_slice).unwrap_or_default();
    variants.iter().filter_map(Email::of).collect()
}

/// The emails of a campaign with the clicks on their links; nothing where no variant has HTML.
pub(super) async fn card(visitor: &Visitor, whole: &Whole, from: &str, to: &str) -> Markup {
    let sent = match sent_content::find(visitor, whole, from, to).await {
        Ok(sent) => sent,
        Err(failure) => return failure.card(TITLE),
    };
    let emails = emails(&sent.definition);
    if emails.is_empty() {
        return html! {};
    }
    let version = sent.version.map(|version| version.to_string()).unwrap_or_default();
    let address = |id: &str| {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("variant", id)
            .append_pair("from", from)
            .append_pair("to", to)
            .append_pair("version", &version)
            .finish();
        format!("{}?{query}", whole.campaign.path_of("clicks"))
    };
    let content = html! {
        p class="quiet" {
            "People who clicked each link, as the template has it. An address that is linked several times has one number for \
             all of its links. Links without a number are made by the template or are not followed: their clicks, where there \
             are some, are in the table alone."
        }
        (sent.note())
        @for (place, Email { id, name, .. }) in emails.iter().enumerate() {
            details open[place == 0] {
                summary { "Variant " bdi { (name) } }
                iframe class="device" sandbox="" loading="lazy" src=(address(id))
                    title={ "Clicks on the links of variant " (name) } {}
            }
        }
    };
    view::card(TITLE, &content)
}

/// The HTML of a variant with its clicks, for the frame in the page.
pub(super) async fn framed(
    visitor: Visitor,
    Path(id): Path<String>,
    Query(asked): Query<Asked>,
) -> PageResult<Response> {
    let definition = match asked.version.as_str() {
        "" => find(&visitor, &id).await?.value,
        version => snapshot(&visitor, &id, version).await?,
    };
    let emails = emails(&definition);
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
    let mut response = Html(marked(email.html, &clicks, visitor.server_url())?).into_response();
    response.extensions_mut().insert(FramedMessage);
    Ok(response)
}

/// The address of a link whose clicks are counted, as reports name it; none of others.
fn followed(link: &Element<'_, '_>, server: &str) -> Option<String> {
    // Attributes are as they are written.
    let href = link.get_attribute("href")?.replace("&amp;", "&").trim().to_owned();
    let is_of_template = href.contains("{{") || href.contains("{%");
    let scheme = href.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    let is_of_the_web = matches!(scheme.as_deref(), Some("http" | "https"));
    let is_followed = is_of_the_web
        && !is_of_template
        && !link.has_attribute("data-no-track")
        && !href.starts_with(server);
    is_followed.then(|| untagged(&href))
}

/// An address as reports name it: without UTM parameters, which sending adds.
fn untagged(url: &str) -> String {
    let (address, fragment) = url.split_at(url.find('#').unwrap_or(url.len()));
    let Some((path, query)) = address.split_once('?') else { return url.to_owned() };
    let is_kept = |pair: &&str| {
        let key = pair.split('=').next().unwrap_or_default();
        !UTM.contains(&key)
    };
    let kept: Vec<&str> = query.split('&').filter(is_kept).collect();
    let address = format!("{path}?{}", kept.join("&"));
    format!("{}{fragment}", address.trim_end_matches(['?', '&']))
}

/// The HTML with a mark behind each link that is followed: the number of people who clicked it, the darker the more.
fn marked(html: &str, clicks: &BTreeMap<String, u64>, server: &str) -> PageResult<String> {
    let mut addresses: BTreeMap<String, usize> = BTreeMap::new();
    let count = element!("a[href]", |link| {
        if let Some(href) = followed(link, server) {
            *addresses.entry(href).or_default() += 1;
        }
        Ok(())
    });
    rewritten(html, count)?;
    let people = |address: &str| clicks.get(address).copied().unwrap_or_default();
    let most = addresses.keys().map(|address| people(address)).max().unwrap_or_default();
    let mark = element!("a[href]", |link| {
        if let Some(href) = followed(link, server) {
            let links = addresses.get(&href).copied().unwrap_or(1);
            link.after(&badge(people(&href), most, links).into_string(), ContentType::Html);
        }
        Ok(())
    });
    rewritten(html, mark)
}

fn rewritten(html: &str, by: Handler<'_>) -> PageResult<String> {
    let settings = RewriteStrSettings::new().append_element_content_handler(by);
    rewrite_str(html, settings).map_err(|fault| Failure::internal(&fault))
}

fn badge(people: u64, most: u64, links: usize) -> Markup {
    // From the lightest to the darkest red, in percent; the text stays readable on all.
    let lightness = 92 - (people * 57).checked_div(most).unwrap_or(0);
    let text = if lightness < 60 { "#ffffff" } else { "#000000" };
    html! {
        span style={
            "display: inline-block; margin-left: 4px; padding: 0 6px; border-radius: 8px; font: 12px/18px system-ui, sans-serif; "
            "color: " (text) "; background: hsl(0, 70%, " (lightness) "%);"
        } {
            (view::count(people))
            @if links > 1 { " (" (links) " links)" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &str = "https://server.test";

    /// The marks of a document, in order.
    fn marks(html: &str, clicks: &[(&str, u64)]) -> Vec<String> {
        let clicks = clicks.iter().map(|(url, people)| ((*url).to_owned(), *people)).collect();
        let marked = marked(html, &clicks, SERVER).unwrap();
        let mark = |rest: &str| rest.split("</span>").next().unwrap().to_owned();
        marked.split("%);\">").skip(1).map(mark).collect()
    }

    #[test]
    fn links_are_marked_by_their_addresses() {
        let clicks = BTreeMap::from([
            ("https://a.test/?x=1&y=2".to_owned(), 40),
            ("https://b.test/".to_owned(), 10),
        ]);
        let html = "<p><a href=\"https://a.test/?x=1&amp;y=2\">A</a> <A HREF='https://b.test/'>B</A> \
                    <a href=\"https://c.test/\">C</a> <a href=\"{{ unsubscribe_url }}\">out</a> <a>no</a>";
        let marked = marked(html, &clicks, SERVER).unwrap();
        assert_eq!(marked.matches("%);\">").count(), 3, "{marked}");
        assert!(
            marked.contains("hsl(0, 70%, 35%)") && marked.contains("hsl(0, 70%, 92%)"),
            "{marked}"
        );
        assert!(marked.contains("{{ unsubscribe_url }}\">out</a> <a>"), "no mark: {marked}");
    }

    #[test]
    fn links_that_are_not_followed_have_no_number() {
        for href in [
            "mailto:a@b.test",
            "#top",
            "/local",
            "{{ url }}",
            "https://a.test/{{ id }}",
            "https://server.test/u/x",
        ] {
            assert!(marks(&format!("<a href=\"{href}\">x</a>"), &[]).is_empty(), "{href}");
        }
        assert!(marks("<a data-no-track href=\"https://a.test/\">x</a>", &[]).is_empty());
        assert_eq!(marks("<a href=\"https://a.test/\">x</a>", &[]), ["0"]);
    }

    #[test]
    fn one_address_that_is_linked_twice_has_one_number() {
        let html = "<a href=\"https://a.test/\">x</a><a href=\" https://a.test/ \">y</a><a href=\"https://b.test/\">z</a>";
        let found = marks(html, &[("https://a.test/", 7), ("https://b.test/", 3)]);
        assert_eq!(found, ["7 (2 links)", "7 (2 links)", "3"]);
    }

    #[test]
    fn links_with_utm_parameters_are_found_without_them() {
        for (url, reported) in [
            ("https://a.test/?x=1&utm_source=own&y=2#top", "https://a.test/?x=1&y=2#top"),
            ("https://a.test/?utm_source=own&utm_medium=m", "https://a.test/"),
            ("https://a.test/#?utm_source=own", "https://a.test/#?utm_source=own"),
            ("https://a.test/?my_utm_source=own&", "https://a.test/?my_utm_source=own"),
            ("https://a.test", "https://a.test"),
        ] {
            assert_eq!(untagged(url), reported);
        }
        let html = "<a href=\"https://a.test/?x=1&amp;utm_source=own\">x</a>";
        assert_eq!(marks(html, &[("https://a.test/?x=1", 7)]), ["7"]);
    }
}
