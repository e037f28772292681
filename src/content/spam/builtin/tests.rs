//! Each rule with an email that matches and a similar one that does not; examples of wanted and unwanted
//! mail.

use std::{collections::HashSet, time::Duration};

use proptest::prelude::*;

use super::*;
use crate::{cpu_time::CpuTime, spam::Verdict};

/// An email without any matching rule.
fn ham() -> Mail {
    Mail {
        subject: "Your order 1234 is on its way".to_owned(),
        from: Some("shop@example.test".to_owned()),
        from_name: Some("Shop".to_owned()),
        html: Some(
            "<p>Hello {{ user.name }}, your parcel left our house this morning and will be with you on \
             Friday. You can follow it on <a href=\"https://shop.test/orders/1234\">your orders page</a>, \
             where you also find the invoice and all about returns.</p><img src=\"https://shop.test/logo.png\">\
             <p><a href=\"{{ unsubscribe_url }}\">Unsubscribe</a></p>"
                .to_owned(),
        ),
        text: Some("Hello, your parcel left our house. Unsubscribe: {{ unsubscribe_url }}".to_owned()),
    }
}

fn with_html(html: &str) -> Mail {
    Mail { html: Some(ham().html.unwrap() + html), ..ham() }
}

fn with_subject(subject: &str) -> Mail {
    Mail { subject: subject.to_owned(), ..ham() }
}

fn with_text(text: &str) -> Mail {
    Mail { text: Some(format!("{} {text}", ham().text.unwrap())), ..ham() }
}

fn met(mail: &Mail) -> HashSet<String> {
    evaluate(mail).rules.into_iter().map(|rule| rule.name).collect()
}

/// Each rule with an email that matches and a similar one that does not.
#[expect(clippy::too_many_lines, reason = "a table with a row for each rule")]
fn table() -> Vec<(&'static str, Mail, Mail)> {
    let words = "plain words that say nothing at all but fill the place ".repeat(3);
    let capitals = "WORDS WRITTEN LOUDLY FOR EVERYBODY ".repeat(6);
    let images = |count: usize| with_html(&"<img src=a>".repeat(count));
    let only =
        |html: &str| Mail { html: Some(format!("{html}{{{{ unsubscribe_url }}}}")), ..ham() };
    let link = |href: &str| with_html(&format!("<a href=\"{href}\">here</a>"));
    let hidden =
        |chars: usize| with_html(&format!("<div style='display:none'>{}</div>", "x".repeat(chars)));
    vec![
        ("SUBJECT_EMPTY", with_subject("  "), with_subject("{{ user.name }}")),
        ("SUBJECT_ALL_CAPS", with_subject("BIG NEWS TODAY"), with_subject("NEWS from NASA")),
        ("SUBJECT_EXCLAMATION", with_subject("News!!"), with_subject("News! And more!")),
        (
            "SUBJECT_SPAM_PHRASE",
            with_subject("A free gift inside"),
            with_subject("Gifts for free spirits"),
        ),
        ("SUBJECT_MONEY", with_subject("$$ for you"), with_subject("5 $ off")),
        ("SUBJECT_FAKE_REPLY", with_subject("Re: your order"), with_subject("Reply to us")),
        ("SUBJECT_LONG", with_subject(&"ä ".repeat(76)), with_subject(&"ä ".repeat(75))),
        (
            "FROM_FREE_MAIL",
            Mail { from: Some("Shop <shop@GMail.com>".to_owned()), ..ham() },
            Mail { from: Some("gmail.com@shop.test".to_owned()), ..ham() },
        ),
        (
            "FROM_NAME_IS_ADDRESS",
            Mail { from_name: Some("help@bank.test".to_owned()), ..ham() },
            Mail { from_name: Some("shop@example.test".to_owned()), ..ham() },
        ),
        (
            "BODY_EMPTY",
            Mail { html: None, text: Some(" ".to_owned()), ..ham() },
            only("<img src=a>"),
        ),
        ("BODY_SPAM_PHRASE", with_text("act now"), with_text("we act, now and then")),
        (
            "BODY_SPAM_PHRASES",
            with_text("act now, get rich, no obligation"),
            with_text("act now, get rich"),
        ),
        ("BODY_SHOUTS", with_text(&capitals), with_text(&capitals.to_lowercase())),
        ("BODY_EXCLAMATION", with_text("wow!!!"), with_text("wow!!")),
        ("BODY_LARGE_SUM", with_text("10 million dollars"), with_text("10 million users")),
        ("TEXT_PART_MISSING", Mail { text: None, ..ham() }, ham()),
        (
            "HTML_HUGE",
            with_html(&"<!-- 45678901 -->".repeat(6_144)),
            with_html(&"<!-- 45678901 -->".repeat(6_000)),
        ),
        ("HTML_UNREADABLE", with_html(&"<div>".repeat(201)), with_html(&"<div>".repeat(200))),
        ("HTML_ACTIVE", with_html("<script>1</script>"), with_html("&lt;script&gt;")),
        ("HTML_FORM", with_html("<form></form>"), with_html("<p>form</p>")),
        ("HTML_INVISIBLE_TEXT", hidden(401), hidden(400)),
        ("IMAGE_ONLY", only("<img src=a>Hi"), only(&format!("<img src=a>{words}"))),
        ("IMAGE_HEAVY", images(20), images(0)),
        ("LINK_SHORTENER", link("https://bit.ly/x"), link("https://rabbit.ly/x")),
        (
            "LINK_MISMATCH",
            with_html("<a href='https://evil.test'>https://bank.test</a>"),
            with_html("<a href='https://click.bank.test'>https://bank.test</a>"),
        ),
        ("LINK_RAW_IP", link("http://192.0.2.7/x"), link("https://192-0-2-7.test/x")),
        (
            "LINK_CREDENTIALS",
            link("https://bank.test@evil.test/"),
            link("https://bank.test/@evil.test"),
        ),
        ("LINK_WARY_DOMAIN", link("https://shop.xyz/"), link("https://xyz.test/")),
        ("LINK_PLAIN_HTTP", link("http://shop.test/"), link("https://shop.test/")),
        (
            "LINKS_MANY",
            with_html(&"<a href='https://shop.test'>x</a>".repeat(60)),
            with_html(&"<a href='https://shop.test'>x</a>".repeat(58)),
        ),
        (
            "UNSUBSCRIBE_MISSING",
            Mail { html: Some("<p>Hello there</p>".to_owned()), text: None, ..ham() },
            Mail {
                html: Some("<a href='https://x.test'>Abmelden</a>".to_owned()),
                text: None,
                ..ham()
            },
        ),
    ]
}

#[test]
fn every_rule_matches_at_its_threshold_only() {
    let table = table();
    let tried: HashSet<&str> = table.iter().map(|(name, _, _)| *name).collect();
    let all: HashSet<&str> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(tried, all, "each rule has a row");
    for (name, bad, good) in table {
        assert!(met(&bad).contains(name), "{name}: {:?}", met(&bad));
        assert!(!met(&good).contains(name), "{name}: {:?}", met(&good));
    }
}

#[test]
fn a_report_adds_up_and_is_sorted() {
    let report = evaluate(&with_subject("RE: FREE GIFT!!!"));
    let sum: f64 = report.rules.iter().map(|rule| rule.score).sum();
    assert!((report.score - sum).abs() < 1e-9);
    assert!(report.rules.is_sorted_by(|one, other| one.score >= other.score));
    assert!((report.threshold - 5.0).abs() < 1e-9);
    assert!(report.suggestions.len() >= 4);
}

#[test]
fn wanted_mail_passes_and_spam_fails() {
    assert_eq!(evaluate(&ham()).rules, []);
    let newsletter = Mail {
        subject: "Spring is here: 20% off garden furniture".to_owned(),
        from: Some("news@garden.test".to_owned()),
        from_name: Some("Garden & Co".to_owned()),
        html: Some(format!(
            "<div style='display:none'>Chairs, tables and more</div><h1>Spring sale</h1>\
             <p>{}</p><img src=a><img src=b><a href='https://garden.test/sale'>Shop the sale</a>\
             <p><a href='{{{{ preferences_url }}}}'>Preferences</a></p>",
            "Our new collection of wooden chairs and tables has arrived. ".repeat(6)
        )),
        text: None,
    };
    let report = evaluate(&newsletter);
    assert_eq!((report.verdict, report.is_spam), (Verdict::Pass, false), "{report:?}");
    let pushy = Mail {
        subject: "LAST CHANCE TODAY!!".to_owned(),
        text: Some("Order now. unsubscribe".to_owned()),
        html: None,
        ..ham()
    };
    assert_eq!(evaluate(&pushy).verdict, Verdict::Warn, "{:?}", evaluate(&pushy));
    for spam in [
        Mail {
            subject: "CONGRATULATIONS! YOU WON $1,000,000!!!".to_owned(),
            from: Some("lottery@gmail.com".to_owned()),
            text: Some("Dear winner, you have been selected. Claim your prize: act now!!!".to_owned()),
            ..Mail::default()
        },
        Mail {
            subject: "Re: your account".to_owned(),
            html: Some(
                "<a href='http://203.0.113.9/login'>https://bank.test/login</a> verify your account"
                    .to_owned(),
            ),
            ..Mail::default()
        },
        Mail {
            subject: "Cheap meds".to_owned(),
            html: Some("<a href='https://bit.ly/a'><img src='a.png'></a><script>1</script>".to_owned()),
            ..Mail::default()
        },
    ] {
        let report = evaluate(&spam);
        assert_eq!((report.verdict, report.is_spam), (Verdict::Fail, true), "{report:?}");
    }
}

#[test]
fn large_emails_are_evaluated_in_linear_time() {
    let began = CpuTime::start();
    for piece in
        ["act now ", "<a href='https://bit.ly/x'>https://x.test</a>", "A", "!", "<p>", "{{ x }}"]
    {
        let html = Some(piece.repeat((256 << 10) / piece.len()));
        let _ = evaluate(&Mail { html: html.clone(), text: html, ..ham() });
    }
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

proptest! {
    #[test]
    fn any_email_is_evaluated(
        subject in "\\PC{0,40}",
        html in proptest::option::of("(<a href='[a-z:/.@]{0,20}'>|[ -~]|</a>|<img>|\\PC){0,40}"),
        text in proptest::option::of("\\PC{0,80}"),
        from in proptest::option::of("\\PC{0,20}"),
    ) {
        let report = evaluate(&Mail { subject, html, text, from_name: from.clone(), from });
        prop_assert_eq!(report.is_spam, report.score >= 5.0);
    }
}
