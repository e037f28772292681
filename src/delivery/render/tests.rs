//! Tests of rendered messages.

use kernel::UserId;
use proptest::prelude::*;
use providers::model::{EmailContent, WebhookContent};
use serde_json::{Map, Value, json};
use uuid::Uuid;
use web::links::Link;

use super::*;

const BASE: &str = "https://go.test/";
const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);

fn ann() -> Recipient {
    let attributes = json!({
        "firstName": "Ann & <Co>", "plan": "pro", "age": 41, "ratio": 0.5, "vip": true, "none": null,
        "tags": ["a", "b"], "email": "attribute@x.test", "city": {"name": "Köln"},
    });
    Recipient {
        user: Some(UserId::from_bytes([7; 12])),
        external_id: Some("ann-1".to_owned()),
        email: Some("ann@x.test".to_owned()),
        phone: Some("+491511234567".to_owned()),
        attributes: attributes.as_object().unwrap().clone(),
        timezone: Some("Europe/Berlin".to_owned()),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "values a test has written itself")]
fn stored(channel: &str, message: Value) -> StoredContent {
    serde_json::from_value(json!({
        "channel": channel,
        "message": message,
        "campaign": {"id": Uuid::from_u128(9), "name": "Spring & Sale"},
        "isMarketing": true,
    }))
    .unwrap()
}

fn signer() -> Signer {
    Signer::of_test(BASE, NOW)
}

fn around<'a>(signer: &'a Signer, context: &'a Context) -> Around<'a> {
    Around {
        workspace: WorkspaceId::new(Uuid::from_u128(1)),
        message: MessageId::new(Uuid::from_u128(2)),
        now: NOW,
        signer,
        context,
    }
}

fn render(stored: &StoredContent, context: &Context) -> Result<Rendered, RenderFault> {
    Prepared::of_stored(stored)?.render(&ann(), &around(&signer(), context))
}

fn email(stored: &StoredContent) -> EmailContent {
    match render(stored, &Context::default()).unwrap().content {
        Content::Email(email) => email,
        other => panic!("{other:?}"),
    }
}

fn html(source: &str) -> String {
    email(&stored("email", json!({"subject": "s", "html": source}))).html.unwrap()
}

/// The addresses in a document, in order.
fn hrefs(html: &str) -> Vec<String> {
    let parts = html.split("href=\"").skip(1);
    parts.map(|part| part.split('"').next().unwrap().replace("&amp;", "&")).collect()
}

fn target(url: &str) -> String {
    match signer().opened(url) {
        Some(Link::Click(click)) => click.target,
        other => panic!("{url} is no click: {other:?}"),
    }
}

#[test]
fn every_dialect_of_variables_finds_the_recipient() {
    let context = Context {
        event: Some(json!({"name": "Order", "properties": {"total": 5}, "timestamp": "t"})),
        variables: json!({"code": "X1"}).as_object().cloned(),
        ..Context::default()
    };
    for (template, text) in [
        ("{{ user.firstName }}", "Ann & <Co>"),
        ("{{ user.attributes.firstName }}", "Ann & <Co>"),
        ("{{ firstName }}", "Ann & <Co>"),
        ("{{ user.id }}", "070707070707070707070707"),
        ("{{ user.externalId }} {{ externalId }}", "ann-1 ann-1"),
        // The profile's own address, whatever an attribute of that name says; bare, the attribute.
        ("{{ user.email }} {{ user.attributes.email }}", "ann@x.test attribute@x.test"),
        ("{{ user.phone }}", "+491511234567"),
        ("{{ user.age | plus: 1 }} {{ ratio }} {{ vip }}", "42 0.5 true"),
        ("{{ user.city.name }}", "Köln"),
        ("{% for t in tags %}{{ t }};{% endfor %}", "a;b;"),
        ("{{ event.name }} {{ event.properties.total }}", "Order 5"),
        ("{{ trigger.name }}", "Order"),
        ("{{ variables.code }} {{ code }}", "X1 X1"),
        ("{{ campaign.name }}", "Spring & Sale"),
        ("[{{ user.nope }}{{ nope.deeper }}{{ none }}]", "[]"),
        ("{{ user.nope | default: 'there' }}", "there"),
    ] {
        let sms = stored("sms", json!({"body": template}));
        let Content::Sms(sms) = render(&sms, &context).unwrap().content else { panic!() };
        assert_eq!(sms.body, text, "{template}");
    }
}

#[test]
fn values_are_escaped_by_where_they_stand() {
    let made = html(
        "<p title=\"{{ firstName }}\">{{ firstName }}</p><a data-no-track href=\"https://x.test/?n={{ firstName }}\">a</a>",
    );
    assert!(made.contains("<p title=\"Ann &amp; &lt;Co&gt;\">Ann &amp; &lt;Co&gt;</p>"), "{made}");
    assert!(made.contains("https://x.test/?n=Ann%20%26%20%3CCo%3E"), "{made}");
    let email =
        email(&stored("email", json!({"subject": "{{ firstName }}", "text": "{{ firstName }}"})));
    assert_eq!(email.subject, "Ann & <Co>");
    assert!(email.text.unwrap().starts_with("Ann & <Co>"));
}

#[test]
fn links_are_led_through_the_service_and_others_stay() {
    let made = html(
        "<body><a href='https://x.test/a?b=1&amp;c=2'>Go <b>on</b></a>\
         <A HREF=http://x.test/plain>p</A>\
         <a href=\"mailto:a@x.test\">m</a><a href=\"tel:+49\">t</a><a href=\"#top\">top</a>\
         <a data-no-track href=\"https://x.test/quiet\">q</a><a href=\"{{ unsubscribe_url }}\">out</a>\
         <a href=\"{{ preferences_url }}\">p</a><a href=\"/relative\">r</a>\
         <!-- <a href=\"https://x.test/comment\">c</a> --></body>",
    );
    let signer = signer();
    let tracked: Vec<Link> = made
        .split(['"', '\'', '>', '<', '='])
        .filter(|part| part.starts_with("https://go.test/l/"))
        .map(|url| signer.opened(url).unwrap())
        .collect();
    let [Link::Click(first), Link::Click(second)] = tracked.as_slice() else {
        panic!("{tracked:?}\n{made}")
    };
    assert_eq!(
        (first.target.as_str(), first.label.as_str()),
        ("https://x.test/a?b=1&c=2", "Go on")
    );
    assert_eq!((second.target.as_str(), second.label.as_str()), ("http://x.test/plain", "p"));
    assert_eq!(
        (first.workspace, first.message),
        (WorkspaceId::new(Uuid::from_u128(1)), MessageId::new(Uuid::from_u128(2)))
    );
    for kept in [
        "\"mailto:a@x.test\"",
        "\"tel:+49\"",
        "\"#top\"",
        "\"https://x.test/quiet\"",
        "\"/relative\"",
        "<!-- <a href=\"https://x.test/comment\">c</a> -->",
    ] {
        assert!(made.contains(kept), "{kept}\n{made}");
    }
    let outs: Vec<Option<Link>> = hrefs(&made)
        .iter()
        .filter(|url| url.starts_with(BASE))
        .map(|url| signer.opened(url))
        .collect();
    let ways_out = outs.iter().flatten();
    let ways_out = ways_out.filter(|l| matches!(l, Link::Unsubscribe(_) | Link::Preferences(_)));
    assert_eq!(ways_out.count(), 2, "{outs:?}");
}

#[test]
fn tags_never_take_the_place_of_tags() {
    let utm = json!({"source": "news", "campaign": "{{ campaign.name }}", "term": ""});
    let tagged = |href: &str| {
        let message = json!({"subject": "s", "html": format!("<a href=\"{href}\">a</a>")});
        let mut stored = stored("email", message);
        stored.utm = serde_json::from_value(utm.clone()).unwrap();
        target(&hrefs(&email(&stored).html.unwrap())[0])
    };
    let tags = "utm_source=news&utm_campaign=Spring%20%26%20Sale";
    for (href, expected) in [
        ("https://x.test", format!("https://x.test?{tags}")),
        ("https://x.test/a?b=1", format!("https://x.test/a?b=1&amp;{tags}").replace("&amp;", "&")),
        ("https://x.test/a?#f", format!("https://x.test/a?{tags}#f")),
        ("https://x.test/a#f?x=1", format!("https://x.test/a?{tags}#f?x=1")),
        (
            "https://x.test/?UTM_Source=mine",
            "https://x.test/?UTM_Source=mine&utm_campaign=Spring%20%26%20Sale".to_owned(),
        ),
        (
            "https://x.test/?utm_source=1&amp;utm_campaign=",
            "https://x.test/?utm_source=1&utm_campaign=".to_owned(),
        ),
    ] {
        assert_eq!(tagged(href), expected, "{href}");
    }
    let off =
        UtmSettings { enabled: Some(false), source: Some("x".into()), ..UtmSettings::default() };
    let bare = UtmSettings { enabled: Some(true), ..UtmSettings::default() };
    for (settings, expected) in [
        (off, "https://x.test/".to_owned()),
        (
            bare,
            "https://x.test/?utm_source=millrace&utm_medium=email&utm_campaign=Spring%20%26%20Sale"
                .to_owned(),
        ),
    ] {
        let message = json!({"subject": "s", "html": "<a href=\"https://x.test/\">a</a>"});
        let mut stored = stored("email", message);
        stored.utm = Some(Box::new(settings));
        assert_eq!(target(&hrefs(&email(&stored).html.unwrap())[0]), expected);
    }
}

#[test]
fn untracked_mail_keeps_its_links_and_has_no_pixel() {
    let message = json!({"subject": "s", "html": "<a href=https://x.test/?a=1>a</a> unsubscribe"});
    let mut quiet = stored("email", message);
    let config = json!({"trackOpens": false, "trackClicks": false, "listUnsubscribe": false});
    quiet.config = serde_json::from_value(config).unwrap();
    let plain = email(&quiet);
    assert_eq!(plain.html.unwrap(), "<a href=https://x.test/?a=1>a</a> unsubscribe");
    assert!(!plain.headers.iter().any(|(name, _)| name.starts_with("List-Unsubscribe")));
    quiet.utm = serde_json::from_value(json!({"source": "n"})).unwrap();
    assert_eq!(
        email(&quiet).html.unwrap(),
        "<a href=\"https://x.test/?a=1&amp;utm_source=n\">a</a> unsubscribe"
    );
}

#[test]
fn the_preheader_goes_first_and_the_pixel_last() {
    let message = json!({"subject": "s", "preheader": "Hi {{ firstName }}",
        "html": "<!doctype html><html><head><title>t</title></head><body class='a>b'><p>x</p>unsubscribe</body></html>"});
    let made = email(&stored("email", message)).html.unwrap();
    let body = made.split_once("<body class='a>b'>").unwrap().1;
    assert!(body.starts_with("<div style=\"display:none;"), "{made}");
    assert!(body.contains(">Hi Ann &amp; &lt;Co&gt;&#847;"), "{made}");
    let (_, pixel) = made.split_once("<img src=\"").unwrap();
    assert!(pixel.ends_with("></body></html>"), "{made}");
    let open = signer().opened(pixel.split('"').next().unwrap());
    assert!(matches!(open, Some(Link::Open(_))));
    // Without a body they go behind the head, and to the end.
    let bare = email(&stored(
        "email",
        json!({"subject": "s", "preheader": "P", "html": "<p>unsubscribe</p>"}),
    ));
    let bare = bare.html.unwrap();
    assert!(bare.starts_with("<div") && bare.contains("<p>unsubscribe</p><img src="), "{bare}");
}

#[test]
fn news_without_a_way_out_get_one() {
    let with = |message: Value, is_marketing: bool| {
        let mut stored = stored("email", message);
        stored.is_marketing = is_marketing;
        email(&stored)
    };
    let added = with(json!({"subject": "s", "html": "<body><p>Hi</p></body>"}), true);
    let out = hrefs(added.html.as_ref().unwrap()).pop().unwrap();
    assert!(matches!(signer().opened(&out), Some(Link::Unsubscribe(_))), "{added:?}");
    assert!(added.text.unwrap().ends_with(&format!("Unsubscribe: {out}")));
    let text = with(json!({"subject": "s", "text": "Hi"}), true).text.unwrap();
    assert!(text.starts_with("Hi\n\nUnsubscribe: https://go.test/u/"), "{text}");
    for (html, marketing) in [
        ("<body>Hi</body>", false),
        ("<body><a href=\"{{ unsubscribe_url }}\">out</a></body>", true),
        ("<body><a href=\"https://x.test/opt-out\">out</a></body>", true),
    ] {
        let made = with(json!({"subject": "s", "html": html}), marketing).html.unwrap();
        assert!(!made.contains(">Unsubscribe<"), "{made}");
    }
}

#[test]
fn the_text_part_is_made_of_the_html() {
    let message = json!({"subject": "s", "preheader": "secret", "html":
        "<html><head><title>T</title><style>p{}</style></head><body><div style='display:none'>hid</div>\
         <h1>Hi&nbsp;{{ firstName }}</h1><p>One<br>two   three</p><ul><li>a</li><li>b</li></ul>\
         <table><tr><td>x</td><td>y</td></tr></table><a href=\"https://x.test/a?b=1&amp;c=2\">Go</a> \
         <a href=\"https://x.test/\">https://x.test/</a><img src=x alt=\"A dog\"><script>no()</script>\
         <p>unsubscribe</p></body></html>"});
    let text = email(&stored("email", message)).text.unwrap();
    assert_eq!(
        text,
        "Hi\u{a0}Ann & <Co>\n\nOne\ntwo three\n\n- a\n- b\n\nx y\n\n\
         Go (https://x.test/a?b=1&c=2) https://x.test/A dog\n\nunsubscribe"
    );
    let own = json!({"subject": "s", "html": "<p>unsubscribe</p>", "text": "Mine {{ plan }}"});
    assert_eq!(email(&stored("email", own)).text.unwrap(), "Mine pro");
}

#[test]
fn headers_classify_the_message() {
    let mut news = stored("email", json!({"subject": "s", "text": "unsubscribe"}));
    let headers = |stored: &StoredContent| -> Map<String, Value> {
        email(stored).headers.into_iter().map(|(name, value)| (name, value.into())).collect()
    };
    let of_news = headers(&news);
    let out = of_news["List-Unsubscribe"].as_str().unwrap();
    let out = out.strip_prefix('<').unwrap().strip_suffix('>').unwrap();
    assert!(matches!(signer().opened(out), Some(Link::Unsubscribe(_))));
    assert_eq!(of_news["List-Unsubscribe-Post"], "List-Unsubscribe=One-Click");
    assert_eq!(of_news["Precedence"], "bulk");
    assert_eq!(of_news["List-ID"], format!("<{}.go.test>", Uuid::from_u128(1)));
    news.list = Some(ListId::new(Uuid::from_u128(3)));
    assert_eq!(headers(&news)["List-ID"], format!("<{}.go.test>", Uuid::from_u128(3)));
    let Some(Link::Unsubscribe(link)) = signer()
        .opened(headers(&news)["List-Unsubscribe"].as_str().unwrap().trim_matches(['<', '>']))
    else {
        panic!()
    };
    assert_eq!((link.list, link.message), (news.list, Some(Uuid::from_u128(2))));
    let mut alone = stored("email", json!({"subject": "s", "text": "t"}));
    (alone.campaign, alone.is_marketing) = (None, false);
    assert_eq!(json!(headers(&alone)), json!({"Auto-Submitted": "auto-generated"}));
}

#[test]
fn no_value_gets_out_of_its_header() {
    for (field, value) in
        [("subject", "a{{ evil }}"), ("fromName", "{{ evil }}"), ("from", "{{ evil }}")]
    {
        for evil in ["x\r\nBcc: b@x.test", "x\nBcc: b@x.test", "x\0"] {
            let mut message = json!({"subject": "s", "text": "unsubscribe", "from": "a@x.test"});
            message[field] = value.into();
            let mut recipient = ann();
            recipient.attributes.insert("evil".to_owned(), evil.into());
            let prepared = Prepared::of_stored(&stored("email", message)).unwrap();
            let (signer, context) = (signer(), Context::default());
            let refused = prepared.render(&recipient, &around(&signer, &context)).unwrap_err();
            assert!(refused.reason.contains("line end"), "{refused}");
            assert!(!refused.reason.contains("Bcc"), "{refused}");
        }
    }
}

#[test]
fn senders_are_put_together() {
    let sender = |message: Value| {
        let mut whole = json!({"subject": "s", "text": "unsubscribe"});
        whole.as_object_mut().unwrap().extend(message.as_object().unwrap().clone());
        let email = email(&stored("email", whole));
        (email.from, email.from_name)
    };
    let text = |text: &str| Some(text.to_owned());
    for (message, from, name) in [
        (json!({}), None, None),
        (json!({"from": "a@x.test"}), text("a@x.test"), None),
        (json!({"from": "Old <A@x.test>", "fromName": "New"}), text("New <a@x.test>"), None),
        (
            json!({"from": "a@x.test", "fromName": "Shop, \"Inc\""}),
            text("\"Shop, \\\"Inc\\\"\" <a@x.test>"),
            None,
        ),
        (json!({"fromName": "Shop"}), None, text("Shop")),
    ] {
        assert_eq!(sender(message.clone()), (from, name), "{message}");
    }
    let message = json!({"subject": "s", "text": "t", "from": "{{ plan }}"});
    let refused = render(&stored("email", message), &Context::default()).unwrap_err();
    assert_eq!(refused.reason, "from: is no email address");
}

#[test]
fn what_comes_out_empty_or_too_large_is_a_fault() {
    let reason = |channel, message| {
        render(&stored(channel, message), &Context::default()).unwrap_err().reason
    };
    assert_eq!(reason("sms", json!({"body": " {{ nope }} "})), "body: is empty");
    assert_eq!(reason("push", json!({"title": "t"})), "body: is empty");
    assert!(reason("viber", json!({})).contains("no template"));
    assert!(reason("email", json!({"subject": "s", "text": "{{ nope }}"})).contains("empty"));
    let long = json!({"subject": format!("{}{{{{ plan }}}}", "s".repeat(996)), "text": "t"});
    assert_eq!(reason("email", long), "subject: is longer than 998 characters");
    let loops = "{% for i in (1..9000) %}0123456789{% endfor %}";
    assert!(reason("sms", json!({"body": loops})).contains("16384 bytes"));
    assert!(reason("webhook", json!({"url": "https://{{ nope }}/"})).starts_with("url:"));
}

#[test]
fn text_messages_have_their_links_tagged_and_shortened() {
    let body = "Hi: https://x.test/a?b=1. (https://x.test/a?b=1) see http://y.test/ö, {{ unsubscribe_url }}";
    let mut sms = stored("sms", json!({"body": body, "from": "Shop"}));
    sms.utm = serde_json::from_value(json!({"source": "n"})).unwrap();
    let plain = render(&sms, &Context::default()).unwrap();
    let Content::Sms(content) = &plain.content else { panic!() };
    assert!(
        content.body.starts_with(
            "Hi: https://x.test/a?b=1&utm_source=n. (https://x.test/a?b=1&utm_source=n) see \
         http://y.test/ö?utm_source=n, https://go.test/u/"
        ),
        "{}",
        content.body
    );
    assert!(!content.body.split("/u/").nth(1).unwrap().contains("utm_"));
    assert_eq!(plain.short_links, []);
    sms.message["shortenLinks"] = true.into();
    let short = render(&sms, &Context::default()).unwrap();
    let Content::Sms(content) = &short.content else { panic!() };
    let codes: Vec<&str> = short.short_links.iter().map(|link| link.code.as_str()).collect();
    assert_eq!(short.short_links.len(), 3, "one for each target");
    assert_eq!(short.short_links[0].target, "https://x.test/a?b=1&utm_source=n");
    assert_eq!(
        content.body,
        format!(
            "Hi: https://go.test/s/{0}. (https://go.test/s/{0}) see https://go.test/s/{1}, https://go.test/s/{2}",
            codes[0], codes[1], codes[2]
        )
    );
    assert!(codes.iter().all(|code| code.len() == 10));
}

#[test]
fn push_and_the_messengers_carry_their_fields() {
    let mut push = stored(
        "push",
        json!({"title": "{{ plan }}", "body": "B", "image": "https://i.test/{{ firstName }}.png",
        "data": {"a": ["{{ plan }}", 1], "b": {"c": "{{ nope }}"}}}),
    );
    let config = json!({"ttlSeconds": 60, "priority": "normal", "collapseKey": "k", "deepLink": "app://p/{{ firstName }}?x={{ plan }}"});
    push.config = serde_json::from_value(config).unwrap();
    let content = render(&push, &Context::default()).unwrap().content;
    assert_eq!(
        json!(content),
        json!({
            "title": "pro", "body": "B", "image": "https://i.test/Ann%20%26%20%3CCo%3E.png",
            "deepLink": "app://p/Ann%20%26%20%3CCo%3E?x=pro", "data": {"a": ["pro", 1], "b": {"c": ""}},
            "ttlSeconds": 60, "highPriority": false, "collapseKey": "k",
        })
    );
    let viber = stored("viber", json!({"templateId": "t1", "variables": {"n": "{{ firstName }}"}}));
    assert_eq!(
        json!(render(&viber, &Context::default()).unwrap().content),
        json!({
            "templateId": "t1", "variables": {"n": "Ann & <Co>"},
        })
    );
    let template = json!({"messageType": "template", "templateId": "hello", "variableMapping": {"1": "{{ plan }}"}, "replyText": "no"});
    assert_eq!(
        json!(render(&stored("whatsapp", template), &Context::default()).unwrap().content),
        json!({
            "templateId": "hello", "variables": {"1": "pro"},
        })
    );
    let reply = json!({"messageType": "reply", "templateId": "no", "replyText": "Hi {{ plan }}"});
    assert_eq!(
        json!(render(&stored("whatsapp", reply), &Context::default()).unwrap().content),
        json!({"replyText": "Hi pro"})
    );
}

#[test]
fn webhooks_escape_by_what_their_body_is() {
    let webhook = |message: Value| -> Result<WebhookContent, RenderFault> {
        match render(&stored("webhook", message), &Context::default())?.content {
            Content::Webhook(webhook) => Ok(webhook),
            other => panic!("{other:?}"),
        }
    };
    let url = "https://h.test/{{ firstName }}?q={{ firstName }}";
    let made = webhook(json!({"url": url, "headers": {"X-Plan": "{{ plan }}"},
        "body": {"name": "{{ firstName }}", "n": 1}}))
    .unwrap();
    assert_eq!(made.url, "https://h.test/Ann%20%26%20%3CCo%3E?q=Ann%20%26%20%3CCo%3E");
    assert_eq!(made.headers["X-Plan"], "pro");
    assert_eq!(made.body.unwrap(), r#"{"n":1,"name":"Ann & <Co>"}"#);
    for (kind, body, expected) in [
        (
            "json",
            json!("{\"a\": \"{{ quoted }}\", \"n\": {{ age }}}"),
            r#"{"a": "say \"hi\"\n", "n": 41}"#,
        ),
        (
            "form",
            json!({"a": "{{ quoted }}", "l": ["1", "{{ plan }}"], "o": {"x": 1}, "z": null}),
            "a=say%20%22hi%22%0A&l=1&l=pro&o=%7B%22x%22%3A1%7D",
        ),
        ("form", json!("a={{ quoted }}"), "a=say%20%22hi%22%0A"),
        ("text", json!("a={{ quoted }}"), "a=say \"hi\"\n"),
    ] {
        let message = json!({"url": "https://h.test/", "bodyType": kind, "body": body});
        let prepared = Prepared::of_stored(&stored("webhook", message)).unwrap();
        let mut recipient = ann();
        recipient.attributes.insert("quoted".to_owned(), "say \"hi\"\n".into());
        let (signer, context) = (signer(), Context::default());
        let rendered = prepared.render(&recipient, &around(&signer, &context)).unwrap();
        let Content::Webhook(made) = rendered.content else { panic!() };
        assert_eq!(made.body.unwrap(), expected, "{kind}");
    }
    let broken = json!({"url": "https://h.test/", "body": "{\"n\": {{ nope }}}"});
    assert!(webhook(broken).unwrap_err().reason.contains("no JSON"));
    let read = json!({"url": "https://h.test/", "method": "GET", "body": {"a": 1}});
    assert_eq!(webhook(read).unwrap().body, None);
}

#[test]
fn credentials_go_to_the_server_that_the_url_names_before_any_liquid() {
    let message = |url: &str, secret: bool| {
        let header = if secret { "X-Api-Key" } else { "X-Plan" };
        let sent = stored("webhook", json!({"url": url, "headers": {header: "k"}}));
        render(&sent, &Context::default()).map(drop).map_err(|fault| fault.reason)
    };
    assert_eq!(message("https://h.test/{{ first_name }}", true), Ok(()));
    assert_eq!(message("https://{{ plan }}.test/", false), Ok(()));
    let refused = "url: has Liquid before its path, and the message carries credentials";
    assert_eq!(message("https://{{ plan }}.test/", true), Err(refused.to_owned()));
}

#[test]
fn a_recipient_without_a_profile_gets_defaults() {
    let message = json!({"subject": "Hi {{ user.firstName | default: 'you' }}", "html": "<p>[{{ unsubscribe_url }}]</p>"});
    let prepared = Prepared::of_stored(&stored("email", message)).unwrap();
    let (signer, context) = (signer(), Context::default());
    let rendered = prepared.render(&Recipient::default(), &around(&signer, &context)).unwrap();
    let Content::Email(email) = rendered.content else { panic!() };
    assert_eq!(email.subject, "Hi you");
    assert!(email.html.unwrap().starts_with("<p>[]</p>"));
    assert!(!email.headers.iter().any(|(name, _)| name == "List-Unsubscribe"));
}

#[test]
fn contexts_read_back_beside_what_others_keep_in_them() {
    let kept = json!({"event": {"name": "E"}, "eventId": "x", "to": "a@x.test"});
    let context: Context = serde_json::from_value(kept).unwrap();
    assert_eq!(context.event.unwrap()["name"], "E");
    assert_eq!(context.to.as_deref(), Some("a@x.test"));
}

proptest! {
    #[test]
    fn no_value_makes_markup_or_a_link_elsewhere(value in "\\PC{0,30}|[<>\"'&=/:a-z \r\n]{0,30}") {
        let mut recipient = ann();
        recipient.attributes.insert("evil".to_owned(), value.into());
        let source = "<p class=\"{{ evil }}\">{{ evil }}</p><a href=\"https://x.test/{{ evil }}?q={{ evil }}\">{{ evil }}</a>";
        let prepared = Prepared::of_stored(&stored("email", json!({"subject": "s", "html": source}))).unwrap();
        let (signer, context) = (signer(), Context::default());
        let rendered = prepared.render(&recipient, &around(&signer, &context)).unwrap();
        let Content::Email(email) = rendered.content else { panic!() };
        let made = email.html.unwrap();
        let page = content::markup::Page::read(&made).unwrap();
        prop_assert_eq!(page.links.len(), 2, "{}", made);
        let Some(Link::Click(click)) = signer.opened(&page.links[0].href) else { panic!("{made}") };
        prop_assert!(click.target.starts_with("https://x.test/"));
    }
}
