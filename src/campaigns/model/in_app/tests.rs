//! Every field of in-app content at its limits.

use kernel::fields::read_object;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(content: &Value) -> Result<InAppContent, Vec<String>> {
    read_object::<InAppContent>(content.as_object().unwrap())
        .map_err(|complaints| complaints.iter().map(ToString::to_string).collect())
}

fn complaint(content: &Value) -> String {
    match read(content) {
        Err(complaints) if complaints.len() == 1 => complaints.concat(),
        other => panic!("{content}: {other:?}"),
    }
}

fn whole() -> Value {
    json!({
        "mode": "native", "title": "Hi {{ user.name }}", "body": "a & b", "imageUrl": "https://x.test/a.png",
        "buttons": [
            {"id": "go", "text": "Go", "action": "url", "url": "https://x.test/{{ user.id }}"},
            {"id": "app", "text": "App", "action": "deep_link", "url": "shop://cart"},
            {"id": "no", "text": "No", "action": "dismiss"},
        ],
        "closeButton": true, "backdropDismissible": false,
        "style": {
            "backgroundColor": "#fff", "textColor": "rgb(1 2 3)", "primaryButtonColor": "no colour",
            "primaryButtonTextColor": "red", "cornerRadius": 12, "fontSize": 15.5,
            "titleWeight": "semibold", "textAlign": "auto", "fontFamily": "Inter, sans-serif",
            "customCss": "h2{color:red}",
        },
        "html": "<p>{{ x }}</p>", "css": "p{}", "designerData": {"a": [1]},
    })
}

#[test]
fn content_round_trips() {
    for sent in [whole(), json!({}), json!({"style": {}, "buttons": []})] {
        let read = read(&sent).unwrap();
        let shown = serde_json::to_value(&read).unwrap();
        assert_eq!(shown, sent);
        assert_eq!(serde_json::from_value::<InAppContent>(shown).unwrap(), read);
    }
    assert_eq!(read(&json!({})).unwrap().mode(), Mode::Html);
}

#[test]
fn numbers_of_a_style_are_bounded_at_their_limits() {
    for (field, good, bad, range) in [
        ("cornerRadius", [0.0, 48.0], [-0.1, 48.1], "0 and 48"),
        ("fontSize", [10.0, 32.0], [9.9, 32.1], "10 and 32"),
    ] {
        for number in good {
            assert!(read(&json!({"style": {field: number}})).is_ok());
        }
        for number in bad {
            let problem = complaint(&json!({"style": {field: number}}));
            assert_eq!(problem, format!("style.{field} must be between {range}"));
        }
        let text = complaint(&json!({"style": {field: "12"}}));
        assert_eq!(text, format!("style.{field} must be a number"));
    }
}

#[test]
fn texts_are_bounded_at_their_limits() {
    for (field, max) in [("title", 1_000), ("body", 10_000)] {
        assert!(read(&json!({field: "ä".repeat(max)})).is_ok());
        let over = complaint(&json!({field: "ä".repeat(max + 1)}));
        assert_eq!(over, format!("{field} must be at most {max} characters"));
    }
    for (field, max) in [
        ("backgroundColor", 100),
        ("textColor", 100),
        ("primaryButtonColor", 100),
        ("primaryButtonTextColor", 100),
        ("fontFamily", 255),
        ("customCss", 20_000),
    ] {
        assert!(read(&json!({"style": {field: "ä".repeat(max)}})).is_ok());
        let over = complaint(&json!({"style": {field: "ä".repeat(max + 1)}}));
        assert_eq!(over, format!("style.{field} must be at most {max} characters"));
    }
    assert!(read(&json!({"css": "a".repeat(131_072)})).is_ok());
    let over = complaint(&json!({"css": "a".repeat(131_073)}));
    assert_eq!(over, "css must be at most 131072 bytes, received 131073");
    let over = complaint(&json!({"html": "a".repeat(262_145)}));
    assert_eq!(over, "html must be at most 262144 bytes, received 262145");
    let data = |bytes: usize| json!({"designerData": {"a": "x".repeat(bytes - 8)}});
    assert!(read(&data(1 << 20)).is_ok());
    let over = complaint(&data((1 << 20) + 1));
    assert_eq!(over, "designerData must be at most 1048576 bytes, received 1048577");
}

#[test]
fn words_are_known() {
    for (sent, problem) in [
        (json!({"mode": "Native"}), "mode must be one of: native, html, drag_drop"),
        (
            json!({"style": {"titleWeight": "heavy"}}),
            "style.titleWeight must be one of: regular, medium, semibold, bold",
        ),
        (
            json!({"style": {"textAlign": "left"}}),
            "style.textAlign must be one of: auto, start, center, end",
        ),
        (json!({"closeButton": "yes"}), "closeButton must be a boolean"),
        (json!({"imageUrl": "javascript:alert(1)"}), "imageUrl must be an http:// or https:// URL"),
        (json!({"designerData": []}), "designerData must be an object"),
        (
            json!({"style": {"textColor": "red\n"}}),
            "style.textColor must be one line without control characters",
        ),
    ] {
        assert_eq!(complaint(&sent), problem);
    }
}

#[test]
fn buttons_are_limited_and_their_targets_checked() {
    let button = |id: &str| json!({"id": id, "text": "t", "action": "dismiss"});
    let some = |count: usize| -> Value { (0..count).map(|n| button(&n.to_string())).collect() };
    assert!(read(&json!({"buttons": some(3)})).is_ok());
    assert_eq!(
        complaint(&json!({"buttons": some(4)})),
        "buttons must have at most 3 elements, received 4"
    );
    assert_eq!(
        complaint(&json!({"buttons": [button("a"), button("b"), button("a")]})),
        "buttons[2].id must be unlike those of the other buttons"
    );
    for (sent, problem) in [
        (json!({"text": "t", "action": "dismiss"}), "id is required"),
        (json!({"id": "", "text": "t", "action": "dismiss"}), "id must not be empty"),
        (json!({"id": "a", "action": "dismiss"}), "text is required"),
        (json!({"id": "a", "text": "t"}), "action is required"),
        (
            json!({"id": "a", "text": "t", "action": "open"}),
            "action must be one of: dismiss, url, deep_link",
        ),
        (
            json!({"id": "a", "text": "t", "action": "url"}),
            "url is required when the action is url or deep_link",
        ),
        (
            json!({"id": "a", "text": "t", "action": "deep_link", "url": ""}),
            "url is required when the action is url or deep_link",
        ),
        (
            json!({"id": "a", "text": "t", "action": "url", "url": "shop://cart"}),
            "url must be an http:// or https:// URL",
        ),
        (
            json!({"id": "a", "text": "t", "action": "deep_link", "url": "JavaScript:alert(1)"}),
            "url must be a link into an app",
        ),
        (
            json!({"id": "a", "text": "t", "action": "deep_link", "url": "cart"}),
            "url must be a link into an app",
        ),
        (
            json!({"id": "a", "text": "{{ b | nope }}", "action": "dismiss"}),
            "text is not valid Liquid: Unknown filter: nope (line 1, column 8)",
        ),
    ] {
        assert_eq!(complaint(&json!({"buttons": [sent]})), format!("buttons[0].{problem}"));
    }
    for url in ["shop://cart", "/cart", "https://x.test", "tel:+49", "{{ link }}"] {
        let sent = json!([{"id": "a", "text": "t", "action": "deep_link", "url": url}]);
        assert!(read(&json!({"buttons": sent})).is_ok(), "{url}");
    }
}

#[test]
fn liquid_is_checked_in_template_fields() {
    for field in ["title", "body", "html"] {
        assert_eq!(
            complaint(&json!({field: "a\nb {% nope %}"})),
            format!("{field} is not valid Liquid: Unknown tag: nope (line 2, column 6)")
        );
    }
}

#[test]
fn oversized_sheets_and_markup_are_refused() {
    let nested = |depth: usize| format!("{}{}", "a{".repeat(depth), "}".repeat(depth));
    assert!(read(&json!({"style": {"customCss": nested(16)}, "css": nested(16)})).is_ok());
    for sent in [json!({"style": {"customCss": nested(17)}}), json!({"css": nested(10_000)})] {
        assert!(complaint(&sent).ends_with("must not be nested deeper than 16 blocks"));
    }
    let deep = complaint(&json!({"html": "<div>".repeat(50_000)}));
    assert_eq!(deep, "html must not nest elements deeper than 200");
}

proptest! {
    #[test]
    fn any_values_are_parsed_or_refused(
        texts in prop::collection::vec("[\\PC\0\n{}%|<>@/*]{0,24}", 14),
        number in any::<f64>(),
    ) {
        let mut sent = whole();
        let mut texts = texts.into_iter();
        for field in ["title", "body", "imageUrl", "html", "css", "mode"] {
            sent[field] = json!(texts.next());
        }
        for field in ["backgroundColor", "fontFamily", "customCss", "titleWeight"] {
            sent["style"][field] = json!(texts.next());
        }
        sent["style"]["fontSize"] = json!(number);
        sent["buttons"][0]["url"] = json!(texts.next());
        sent["buttons"][1]["id"] = json!(texts.next());
        let _ = read(&sent);
        // One at a time, so that a refused field does not hide an accepted one.
        for field in ["title", "body", "imageUrl", "html", "css"] {
            let one = json!({field: sent[field]});
            if let Ok(content) = read(&one) {
                prop_assert_eq!(serde_json::to_value(content).unwrap(), one);
            }
        }
    }
}
