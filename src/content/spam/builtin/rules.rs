//! The rules.

use super::{Rule, Seen, links, words};
use crate::markup::{Link, Page};

/// Inboxes display at most part of a longer subject.
const SUBJECT_CHARS_MAX: usize = 150;
/// Gmail clips larger messages.
const CLIPPED_BYTES: usize = 102 * 1024;
/// With less text the message consists of pictures only.
const TEXT_CHARS_MIN: usize = 60;
/// Characters of text for each picture.
const TEXT_CHARS_AN_IMAGE: usize = 120;
/// Characters of hidden text that a preview line needs; more is meant for filters.
const HIDDEN_CHARS_MAX: usize = 400;
const LINKS_MAX: usize = 60;
/// Fewer words are too few for a share of capitals.
const WORDS_MIN: usize = 20;

/// All rules, grouped by what they examine.
pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "SUBJECT_EMPTY",
        tenths: 18,
        description: "there is no subject",
        advice: "Give the email a subject.",
        matches: |seen| seen.subject.trim().is_empty(),
    },
    Rule {
        name: "SUBJECT_ALL_CAPS",
        tenths: 15,
        description: "the subject is written in capitals",
        advice: "Write the subject as a sentence, not in capitals.",
        matches: |seen| words::shouts(&seen.subject),
    },
    Rule {
        name: "SUBJECT_EXCLAMATION",
        tenths: 10,
        description: "the subject has a run of exclamation or question marks, or more than two",
        advice: "Use one exclamation mark in the subject at most.",
        matches: |seen| {
            let marks = |c: char| matches!(c, '!' | '?' | '！');
            let runs = ["!!", "?!", "!?", "??"].iter().any(|run| seen.subject.contains(run));
            runs || seen.subject.chars().filter(|c| marks(*c)).count() > 2
        },
    },
    Rule {
        name: "SUBJECT_SPAM_PHRASE",
        tenths: 14,
        description: "the subject has a phrase that unwanted mail is full of",
        advice: "Say in the subject what the email is about, without sales phrases.",
        matches: |seen| words::phrases(&words::plain(&seen.subject)) > 0,
    },
    Rule {
        name: "SUBJECT_MONEY",
        tenths: 8,
        description: "the subject shows off money",
        advice: "Leave amounts and currency signs out of the subject.",
        matches: |seen| {
            seen.subject.contains("$$")
                || seen.subject.contains("€€")
                || has_large_sum(&seen.subject)
        },
    },
    Rule {
        name: "SUBJECT_FAKE_REPLY",
        tenths: 12,
        description: "the subject pretends to be a reply",
        advice: "Begin the subject without Re: or Fwd:.",
        matches: |seen| {
            let subject = seen.subject.trim_start().to_lowercase();
            ["re:", "fw:", "fwd:", "aw:", "wg:"].iter().any(|start| subject.starts_with(start))
        },
    },
    Rule {
        name: "SUBJECT_LONG",
        tenths: 3,
        description: "the subject is longer than 150 characters",
        advice: "Shorten the subject to what an inbox shows: about 50 characters.",
        matches: |seen| seen.subject.chars().count() > SUBJECT_CHARS_MAX,
    },
    Rule {
        name: "FROM_FREE_MAIL",
        tenths: 10,
        description: "the sender's address is one of a free mailbox provider",
        advice: "Send from an address of your own domain.",
        matches: |seen| seen.mail.from.as_deref().is_some_and(links::is_free_mail),
    },
    Rule {
        name: "FROM_NAME_IS_ADDRESS",
        tenths: 10,
        description: "the sender's name is an address, and another than the sender's",
        advice: "Give the sender a name, not an address.",
        matches: |seen| {
            let name = seen.mail.from_name.as_deref().unwrap_or_default().trim().to_lowercase();
            let from = seen.mail.from.as_deref().unwrap_or_default().trim().to_lowercase();
            name.contains('@') && !from.contains(&name)
        },
    },
    Rule {
        name: "BODY_EMPTY",
        tenths: 20,
        description: "there is nothing to read or to see",
        advice: "Write something into the email.",
        matches: |seen| seen.text.trim().is_empty() && !has_images(seen) && !seen.is_unreadable,
    },
    Rule {
        name: "BODY_SPAM_PHRASE",
        tenths: 8,
        description: "the text has a phrase that unwanted mail is full of",
        advice: "Replace sales phrases by what the offer is.",
        matches: |seen| words::phrases(&seen.lower) > 0,
    },
    Rule {
        name: "BODY_SPAM_PHRASES",
        tenths: 20,
        description: "the text has three or more phrases that unwanted mail is full of",
        advice: "",
        matches: |seen| words::phrases(&seen.lower) >= 3,
    },
    Rule {
        name: "BODY_SHOUTS",
        tenths: 10,
        description: "a third of the words is written in capitals",
        advice: "Stress with bold letters, not with capitals.",
        matches: |seen| {
            let (all, shouted) = words::shouted_words(&seen.text);
            all >= WORDS_MIN && shouted * 3 >= all
        },
    },
    Rule {
        name: "BODY_EXCLAMATION",
        tenths: 8,
        description: "the text has runs of exclamation marks or of currency signs",
        advice: "Use single exclamation marks, and few of them.",
        matches: |seen| ["!!!", "$$$", "€€€"].iter().any(|run| seen.text.contains(run)),
    },
    Rule {
        name: "BODY_LARGE_SUM",
        tenths: 12,
        description: "the text promises millions",
        advice: "Leave out sums that are not credible.",
        matches: |seen| has_large_sum(&seen.lower),
    },
    Rule {
        name: "TEXT_PART_MISSING",
        tenths: 4,
        description: "there is an HTML part and no text part",
        advice: "Add a text part that says the same as the HTML.",
        matches: |seen| seen.has_html() && !seen.has_text(),
    },
    Rule {
        name: "HTML_HUGE",
        tenths: 6,
        description: "the HTML is larger than 102 KB: mailboxes cut it off",
        advice: "Shrink the HTML below 102 KB: most of it is often inlined styles.",
        matches: |seen| seen.mail.html.as_ref().is_some_and(|html| html.len() > CLIPPED_BYTES),
    },
    Rule {
        name: "HTML_UNREADABLE",
        tenths: 20,
        description: "the HTML is nested too deep, or has too many attributes, to be read",
        advice: "Simplify the HTML.",
        matches: |seen| seen.is_unreadable,
    },
    Rule {
        name: "HTML_ACTIVE",
        tenths: 25,
        description: "the HTML has scripts, frames or embedded objects: mailboxes drop them",
        advice: "Remove scripts, frames and embedded objects.",
        matches: |seen| seen.page.as_ref().is_some_and(|page| page.active > 0),
    },
    Rule {
        name: "HTML_FORM",
        tenths: 12,
        description: "the HTML has a form, as phishing does",
        advice: "Lead to a page with the form instead of putting it into the email.",
        matches: |seen| seen.page.as_ref().is_some_and(|page| page.forms > 0),
    },
    Rule {
        name: "HTML_INVISIBLE_TEXT",
        tenths: 15,
        description: "much text is hidden from the reader",
        advice: "Keep hidden text to one preheader line.",
        matches: |seen| seen.page.as_ref().is_some_and(hides_much),
    },
    Rule {
        name: "IMAGE_ONLY",
        tenths: 18,
        description: "pictures come with hardly any text",
        advice: "Write the message as text; let pictures only decorate it.",
        matches: |seen| has_images(seen) && text_chars(seen) < TEXT_CHARS_MIN,
    },
    Rule {
        name: "IMAGE_HEAVY",
        tenths: 6,
        description: "there is little text for so many pictures",
        advice: "Add text, or use fewer pictures.",
        matches: |seen| {
            let images = seen.page.as_ref().map_or(0, |page| page.images);
            let text = text_chars(seen);
            images > 0 && text >= TEXT_CHARS_MIN && text < images * TEXT_CHARS_AN_IMAGE
        },
    },
    Rule {
        name: "LINK_SHORTENER",
        tenths: 12,
        description: "a link is hidden behind a public shortener",
        advice: "Link to your own domain instead of a shortener.",
        matches: |seen| any_web(seen, links::is_shortener),
    },
    Rule {
        name: "LINK_MISMATCH",
        tenths: 22,
        description: "a link says another address than it leads to",
        advice: "Let a link's text name its own address, or no address.",
        matches: |seen| any_link(seen, links::is_mismatched),
    },
    Rule {
        name: "LINK_RAW_IP",
        tenths: 18,
        description: "a link leads to a number instead of a name",
        advice: "Link to a domain, not to an IP address.",
        matches: |seen| any_web(seen, links::is_raw_address),
    },
    Rule {
        name: "LINK_CREDENTIALS",
        tenths: 15,
        description: "a link has a user name before its host, as phishing does",
        advice: "Remove what stands before the @ of a link.",
        matches: |seen| any_web(seen, links::has_credentials),
    },
    Rule {
        name: "LINK_WARY_DOMAIN",
        tenths: 8,
        description: "a link leads to a top-level domain that is known for abuse",
        advice: "Link to a domain below a well-known ending.",
        matches: |seen| any_web(seen, links::is_wary_domain),
    },
    Rule {
        name: "LINK_PLAIN_HTTP",
        tenths: 3,
        description: "a link is not encrypted",
        advice: "Use https in every link.",
        matches: |seen| any_web(seen, |url| url.scheme() == "http"),
    },
    Rule {
        name: "LINKS_MANY",
        tenths: 5,
        description: "there are more than 60 links",
        advice: "Keep to the links that matter.",
        matches: |seen| seen.page.as_ref().is_some_and(|page| page.links.len() > LINKS_MAX),
    },
    Rule {
        name: "UNSUBSCRIBE_MISSING",
        tenths: 12,
        description: "nothing leads to unsubscribing",
        advice: "Add a link to {{ unsubscribe_url }}.",
        matches: |seen| !offers_unsubscribe(seen.mail.html.as_deref(), seen.mail.text.as_deref()),
    },
];

fn has_images(seen: &Seen<'_>) -> bool {
    seen.page.as_ref().is_some_and(|page| page.images > 0)
}

fn text_chars(seen: &Seen<'_>) -> usize {
    seen.page.as_ref().map_or(0, |page| page.text.chars().filter(|c| !c.is_whitespace()).count())
}

fn hides_much(page: &Page) -> bool {
    let hidden = page.hidden_text.chars().filter(|c| c.is_alphanumeric()).count();
    let seen = page.text.chars().filter(|c| c.is_alphanumeric()).count();
    hidden > HIDDEN_CHARS_MAX && hidden * 4 > seen
}

fn any_link(seen: &Seen<'_>, matches: impl Fn(&Link) -> bool) -> bool {
    seen.page.as_ref().is_some_and(|page| page.links.iter().any(matches))
}

fn any_web(seen: &Seen<'_>, matches: impl Fn(&url::Url) -> bool) -> bool {
    any_link(seen, |link| links::web(link).as_ref().is_some_and(&matches))
}

fn has_large_sum(text: &str) -> bool {
    let lower = text.to_lowercase();
    let currency = ["$", "€", "£", "usd", "eur", "dollars", "euros", "pounds"];
    let large = ["million", "billion", ",000,000", ".000.000", "000000"];
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    has(&currency) && has(&large)
}

/// Whether a reader can unsubscribe: by a template variable, a link or a sentence.
pub fn offers_unsubscribe(html: Option<&str>, text: Option<&str>) -> bool {
    let words = [
        "unsubscribe_url",
        "preferences_url",
        "unsubscribe",
        "opt out",
        "opt-out",
        "preference",
        "abmelden",
        "abbestellen",
        "désabonner",
        "désinscrire",
        "darse de baja",
        "cancelar suscripción",
        "disiscriviti",
        "afmelden",
        "wypisz",
        "отписаться",
    ];
    [html, text].into_iter().flatten().any(|part| {
        let lower = part.to_lowercase();
        words.iter().any(|word| lower.contains(word))
    })
}
