//! The language, its errors, and its limits.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::cpu_time::CpuTime;

const ROOM: usize = 1 << 20;

fn rendered(
    source: &str,
    form: Form,
    variables: &serde_json::Value,
) -> Result<String, RenderFault> {
    let template =
        Template::parse(source, form).unwrap_or_else(|fault| panic!("{source}: {fault}"));
    template.render(&to_object(variables).unwrap(), ROOM)
}

fn text(source: &str) -> String {
    let variables = json!({
        "user": {"name": "Ann", "tags": ["a", "b"], "none": null, "orders": [{"id": 1}, {"id": 2, "total": 5}]},
        "list": ["x", "y", "z"],
    });
    rendered(source, Form::Text, &variables).unwrap_or_else(|fault| panic!("{source}: {fault}"))
}

#[test]
fn missing_values_are_empty_and_nothing_fails() {
    for (source, expected) in [
        ("[{{ nope }}]", "[]"),
        ("[{{ user.nope.deeper.still }}]", "[]"),
        ("[{{ user.none }}]", "[]"),
        ("{{ user.nope | default: 'there' }}", "there"),
        ("{{ user.none | default: 'there' }}", "there"),
        ("{{ user.name | default: 'there' }}", "Ann"),
        ("[{{ nope | upcase | append: '!' }}]", "[!]"),
        ("[{{ nope | plus: 1 }}]", "[]"),
        ("[{{ nope | date: '%Y' }}]", "[]"),
        ("[{{ nope | first }}{{ nope | join: ',' }}{{ nope | size }}]", "[0]"),
        ("{% if nope %}yes{% else %}no{% endif %}", "no"),
        ("{% if nope == nil %}nil{% endif %}", "nil"),
        ("{% if user.none == nil %}nil{% endif %}", "nil"),
        ("{% if nope == blank %}blank{% endif %}", "blank"),
        ("{% if nope > 5 %}more{% else %}no{% endif %}", "no"),
        ("{% if nope contains 'a' %}yes{% else %}no{% endif %}", "no"),
        ("{% if user.none contains 'a' %}yes{% else %}no{% endif %}", "no"),
        ("{% if user.tags contains 'a' %}yes{% endif %}", "yes"),
        ("{% unless nope %}no{% endunless %}", "no"),
        ("{% case nope %}{% when 'a' %}a{% else %}else{% endcase %}", "else"),
        ("{% for x in nope %}x{% else %}none{% endfor %}", "none"),
        ("{% for x in user.name.deeper %}x{% endfor %}", ""),
        ("{% for o in user.orders %}[{{ o.total }}{{ o.nope.deep }}]{% endfor %}", "[][5]"),
        ("{% for o in user.orders %}{{ o.total | default: 0 }},{% endfor %}", "0,5,"),
        ("{% assign x = nope.a.b %}[{{ x }}{{ x.y }}]", "[]"),
        ("{% assign o = user.orders[0] %}[{{ o.nope }}]", "[]"),
        ("{% capture c %}[{{ nope }}]{% endcapture %}{{ c }}", "[]"),
        ("[{{ user[nope] }}]", "[]"),
        ("[{{ user.tags[99] }}]", "[]"),
    ] {
        assert_eq!(text(source), expected, "{source}");
    }
}

#[test]
fn common_templates_render_as_expected() {
    for (source, expected) in [
        ("{{ 'a' | upcase }}{{ \"b}}c\" }}", "Ab}}c"),
        ("{%- if true -%} a {%- endif -%}", "a"),
        ("{% for i in (1..3) %}{{ i }}{% endfor %}", "123"),
        ("{% for i in (1..9) limit:2 offset:3 %}{{ i }}{% endfor %}", "45"),
        ("{% for i in (1..4) reversed %}{{ i }}{% endfor %}", "4321"),
        ("{% for i in (5..1) %}{{ i }}{% else %}none{% endfor %}", "none"),
        (
            "{% for x in list %}{{ forloop.index }}{{ x }}{% unless forloop.last %},{% endunless %}{% endfor %}",
            "1x,2y,3z",
        ),
        (
            "{% for i in (1..2) %}{% for j in (1..2) %}{{ forloop.parentloop.index }}{{ j }} {% endfor %}{% endfor %}",
            "11 12 21 22 ",
        ),
        (
            "{% for i in (1..9) %}{% if i == 3 %}{% continue %}{% elsif i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}",
            "124",
        ),
        ("{% for p in user %}{{ p[0] }},{% endfor %}", "name,tags,none,orders,"),
        (
            "{% tablerow x in list cols:2 %}{{ x }}{% endtablerow %}",
            "<tr class=\"row1\"><td class=\"col1\">x</td><td class=\"col2\">y</td></tr><tr class=\"row2\"><td class=\"col1\">z</td></tr>",
        ),
        (
            "{% tablerow x in list cols:0 %}{{ x }}{% endtablerow %}",
            "<tr class=\"row1\"><td class=\"col1\">x</td></tr><tr class=\"row2\"><td class=\"col1\">y</td></tr><tr class=\"row3\"><td class=\"col1\">z</td></tr>",
        ),
        ("{% raw %}{{ not }} {% if %}{% endraw %}", "{{ not }} {% if %}"),
        ("{% comment %}{{ not }}{% endcomment %}x", "x"),
        ("{% comment %}a{% comment %}b{% endcomment %}c{% endcomment %}x", "x"),
        ("{% comment %}don't {% don't %} {{ ' {%{% endcomment %}x", "x"),
        ("a {%- comment -%} {% if %} é {%- endcomment -%} x", "ax"),
        ("{% increment n %}{% increment n %}{% cycle 'a','b' %}", "01a"),
        ("{{ '2026-03-01' | date: '%d.%m.%Y' }}", "01.03.2026"),
        ("{{ 'a,b' | split: ',' | join: '-' }}", "a-b"),
    ] {
        let got = text(source);
        if source.starts_with("{% for p in user") {
            // Objects have no order.
            assert_eq!(got.len(), expected.len());
        } else {
            assert_eq!(got, expected, "{source}");
        }
    }
}

#[test]
fn output_is_escaped_by_its_context() {
    let attack = json!({"x": "\"'><script>alert(1)</script> &", "js": " JavaScript:alert(1)",
        "url": "https://example.test/a?b=c&d=\"e\"", "path": "a b/../c?d", "css": "red;}</style><script>",
        "bio": "<b>\nme", "control": "java\u{1}script:alert(1)", "relative": "/a/b"});
    let escaped = "&quot;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp;";
    for (source, expected) in [
        ("<p>{{ x }}</p>", format!("<p>{escaped}</p>")),
        ("<p title=\"{{ x }}\">", format!("<p title=\"{escaped}\">")),
        ("<p title='{{x}}'>", format!("<p title='{escaped}'>")),
        ("{%- if true -%}<i>{{- x -}}</i>{%- endif -%}", format!("<i>{escaped}</i>")),
        ("<title>{{ x }}</title>", format!("<title>{escaped}</title>")),
        ("<p title={{ bio }}>", "<p title=&lt;b&gt;&#10;me>".to_owned()),
        ("<a href=\"{{ js }}\">", "<a href=\"#\">".to_owned()),
        ("<a href={{ js }}>", "<a href=#>".to_owned()),
        ("<a href=\" {{ js }}\">", "<a href=\" #\">".to_owned()),
        ("<a href=\"{{ control }}\">", "<a href=\"#\">".to_owned()),
        ("<a href=\"{{ relative }}\">", "<a href=\"/a/b\">".to_owned()),
        (
            "<a href=\"{{ url }}\">",
            "<a href=\"https://example.test/a?b=c&amp;d=%22e%22\">".to_owned(),
        ),
        (
            "<a href=\"https://e.test/{{ path }}\">",
            "<a href=\"https://e.test/a%20b/../c%3Fd\">".to_owned(),
        ),
        (
            "<a href=\"/s?q={{ path }}&r={{ path }}\">",
            "<a href=\"/s?q=a%20b%2F..%2Fc%3Fd&r=a%20b%2F..%2Fc%3Fd\">".to_owned(),
        ),
        (
            "<a href=\"/s?q={{ path | url_encode }}\">",
            "<a href=\"/s?q=a%20b%2F..%2Fc%3Fd\">".to_owned(),
        ),
        ("<p style=\"color:{{ css }}\">", "<p style=\"color:redstylescript\">".to_owned()),
        (
            "<style>p{color:{{ css }}}</style>{{ bio }}",
            "<style>p{color:redstylescript}</style>&lt;b&gt;\nme".to_owned(),
        ),
        (
            "<script>var x='{{ x }}'</script>",
            "<script>var x='scriptalert1script'</script>".to_owned(),
        ),
        ("<p onclick=\"f('{{ x }}')\">", "<p onclick=\"f('scriptalert1script')\">".to_owned()),
        ("<p {{ x }}>", "<p scriptalert1script>".to_owned()),
        ("<{{ x }}>", format!("<{escaped}>")),
        ("<!-- {{ x }} -->{{ bio }}", format!("<!-- {escaped} -->&lt;b&gt;\nme")),
        ("{{ bio | newline_to_br }}", "&lt;b&gt;<br />\nme".to_owned()),
        ("{{ bio | escape }}", "&lt;b&gt;\nme".to_owned()),
        ("{{ bio | escape | newline_to_br }}", "&lt;b&gt;<br />\nme".to_owned()),
        ("<a href=\"{{ js | escape }}\">", "<a href=\"#\">".to_owned()),
        ("{{ 'a | escape' }}{{ bio }}", "a | escape&lt;b&gt;\nme".to_owned()),
        (
            "{% capture c %}{{ bio }}{% endcapture %}{{ c | strip_newlines }}",
            "&amp;lt;b&amp;gt;me".to_owned(),
        ),
        ("{% raw %}{{ x }}{% endraw %}", "{{ x }}".to_owned()),
    ] {
        assert_eq!(rendered(source, Form::Html, &attack).unwrap(), expected, "{source}");
    }
    assert_eq!(rendered("{{ bio }}", Form::Text, &attack).unwrap(), "<b>\nme");
}

#[test]
fn a_header_is_one_line() {
    for (subject, passes) in [("Hi", true), ("a\nBcc: x", false), ("a\rb", false), ("a\0b", false)]
    {
        let got = rendered("Re: {{ s }}", Form::Header, &json!({"s": subject}));
        assert_eq!(got.is_ok(), passes, "{subject:?}");
    }
}

#[test]
fn syntax_errors_have_a_line_and_a_column() {
    for (source, line, column, word) in [
        ("a\n{{ b", 2, 4, "expected"),
        ("a\n\n  {% if x %}", 3, 13, "endif"),
        ("a\nb {% nope %}", 2, 6, "nope"),
        ("äöü {{ x | nope }}", 1, 12, "nope"),
        ("{{ x | upcase }}\n{{ 'äö' | nope: 1 }}", 2, 11, "nope"),
        ("\n{% endif %}", 2, 4, ""),
        ("\n\n{% for %}{% endfor %}", 3, 7, "name"),
        ("\n{% include 'secret' %}", 2, 4, "include"),
        ("\n{% render 'secret' %}", 2, 4, "render"),
        ("a\n {{ x | append }}", 2, 9, ""),
        ("a\n {{ x | append: 'a', 'b' }}", 2, 9, ""),
        ("a\n {{ x | plus: 99999999999999999999 }}", 2, 15, "number is too large"),
        (
            "{% comment %}{{ x | nope }}{% endcomment %}\n{% assign a = b | nope %}",
            2,
            19,
            "filter: nope",
        ),
    ] {
        let fault = Template::parse(source, Form::Html).unwrap_err();
        assert_eq!((fault.line, fault.column), (line, column), "{source}: {fault}");
        assert!(fault.problem.to_lowercase().contains(word), "{source}: {fault}");
        assert!(!fault.to_string().contains('\n'), "{fault}");
        assert_eq!(check(source), Err(fault), "{source}");
    }
}

/// Renders a hostile template: it has to end in time, with this fault. On a busy machine its time may be over first.
fn bomb(source: &str, expected: &RenderFault) {
    let template = Template::parse(source, Form::Text).unwrap();
    let began = CpuTime::start();
    let globals = to_object(&json!({"s": "x".repeat(50_000)})).unwrap();
    let fault = template.render(&globals, ROOM).unwrap_err();
    let elapsed = began.elapsed();
    let is_expected = fault == *expected || (fault == RenderFault::Time && elapsed < RENDER_MAX);
    assert!(is_expected, "{source}: {fault:?}");
    assert!(elapsed < RENDER_MAX + Duration::from_secs(30), "{source}: {elapsed:?}");
}

#[test]
fn loops_are_limited_by_iterations() {
    assert_eq!(text("{% for i in (1..5000000) limit:1 %}{{ i }}{% endfor %}"), "1");
    assert_eq!(text("{% for i in (1..9000000000000000000) limit:1 %}{{ i }}{% endfor %}"), "1");
    let turns = format!("{{% for i in (1..{ITERATIONS_MAX}) %}}{{% endfor %}}");
    assert_eq!(text(&turns), "");
    for source in [
        "{% for i in (1..10001) %}{% endfor %}",
        "{% for i in (1..10000000000) %}{% endfor %}",
        "{% for i in (-9223372036854775807..9223372036854775807) %}{% endfor %}",
        "{% for i in (1..101) %}{% for j in (1..100) %}{% endfor %}{% endfor %}",
        "{% tablerow i in (1..10001) %}{% endtablerow %}",
    ] {
        bomb(source, &RenderFault::Iterations);
    }
}

#[test]
fn output_is_bounded() {
    let template = Template::parse("{{ s }}", Form::Text).unwrap();
    let globals = to_object(&json!({"s": "x".repeat(100)})).unwrap();
    assert_eq!(template.render(&globals, 100).unwrap().len(), 100);
    assert_eq!(template.render(&globals, 99), Err(RenderFault::Output(99)));
    bomb("{% for i in (1..10000) %}{{ s }}{% endfor %}", &RenderFault::Output(ROOM));
}

#[test]
fn values_cannot_grow_without_end() {
    let many = |filter: &str| format!("{{{{ s {} }}}}", filter.repeat(60));
    bomb(
        "{% assign a = s %}{% for i in (1..40) %}{% assign a = a | append: a %}{% endfor %}",
        &RenderFault::Value,
    );
    bomb("{% assign a = s | split: '' %}{{ a | size }}", &RenderFault::Value);
    bomb("{{ s | replace: 'x', s }}", &RenderFault::Value);
    bomb("{{ s | replace: '', s }}", &RenderFault::Value);
    bomb(
        "{% assign a = s | truncate: 9000, '' | split: '' %}{{ a | join: s }}",
        &RenderFault::Value,
    );
    bomb("{% assign a = s | truncate: 9000, '' | split: '' %}{{ a | uniq }}", &RenderFault::Value);
    bomb(&many("| append: s"), &RenderFault::Value);
    bomb(
        "{% assign a = s %}{% assign b = s | split: 'y' %}{% for i in (1..30) %}{% assign b = b | concat: b %}{% endfor %}",
        &RenderFault::Value,
    );
    bomb("{% for i in (1..1000) %}{% assign a = s %}{% endfor %}", &RenderFault::Kept);
    bomb(
        "{% for i in (1..100) %}{% capture a %}{{ a }}{{ s }}{% endcapture %}{% endfor %}",
        &RenderFault::Kept,
    );
    bomb(
        "{% capture a %}{% for i in (1..1000) %}{{ s }}{% endfor %}{% endcapture %}",
        &RenderFault::Kept,
    );
}

#[test]
fn wide_dates_and_large_numbers_are_faults() {
    let globals = Object::new();
    for source in [
        "{{ '2026-03-01' | date: '%9999999999d' }}",
        "{{ '2026-03-01' | date: '%100d' }}",
        "{{ 9223372036854775807 | plus: 1 }}",
        "{{ 9223372036854775807 | times: 9223372036854775807 }}",
        "{{ 1 | divided_by: 0 }}",
        "{{ 1 | modulo: 0 }}",
        "{% assign a = -9223372036854775807 | minus: 1 %}{{ a | divided_by: -1 }}",
    ] {
        if let Ok(template) = Template::parse(source, Form::Text) {
            let _ = template.render(&globals, ROOM);
        }
    }
    let wide = Template::parse("{{ '2026-03-01' | date: '%100d' }}", Form::Text).unwrap();
    assert!(matches!(wide.render(&globals, ROOM), Err(RenderFault::Filter(_))));
    let zero = Template::parse("{{ 1 | divided_by: 0 }}", Form::Text).unwrap();
    assert!(matches!(zero.render(&globals, ROOM), Err(RenderFault::Filter(_))));
}

#[test]
fn time_is_bounded() {
    // As many iterations as allowed, each with the slowest filter.
    let source = format!(
        "{{% assign a = s | truncate: 900, '' | split: '' %}}{{% for i in (1..9999) %}}{{% assign n = a | uniq | size %}}{}{{% endfor %}}",
        "{% if a == s %}{% endif %}{% assign m = a | sort | reverse | uniq | size %}".repeat(20),
    );
    bomb(&source, &RenderFault::Time);
}

#[test]
fn sources_are_bounded() {
    let fits = "x".repeat(SOURCE_BYTES_MAX);
    assert!(Template::parse(&fits, Form::Html).is_ok());
    assert!(Template::parse(&format!("{fits}x"), Form::Html).is_err());
    let nested =
        |depth: usize| format!("{}{}", "{% if a %}".repeat(depth), "{% endif %}".repeat(depth));
    assert!(Template::parse(&nested(NESTING_MAX), Form::Html).is_ok());
    assert!(Template::parse(&nested(NESTING_MAX + 1), Form::Html).is_err());
    assert!(Template::parse(&nested(10_000), Form::Html).is_err());
    let comments = "{% comment %}".repeat(10_000);
    assert!(Template::parse(&comments, Form::Html).is_err());
    let brackets = format!("{{{{ a{}1{} }}}}", "[a".repeat(1000), "]".repeat(1000));
    assert!(Template::parse(&brackets, Form::Html).is_err());
    let long = |bytes: usize| format!("{{{{'{}'}}}}", "x".repeat(bytes - 2));
    assert!(Template::parse(&long(MARKUP_BYTES_MAX), Form::Text).is_ok());
    assert!(Template::parse(&long(MARKUP_BYTES_MAX + 1), Form::Text).is_err());
    let conditions = format!("{{% if {}a %}}{{% endif %}}", "a or ".repeat(10_000));
    assert!(Template::parse(&conditions, Form::Html).is_err());
    let many = "{{ x }}".repeat(SOURCE_BYTES_MAX / 8);
    assert!(Template::parse(&many, Form::Html).is_ok());
}

#[test]
fn a_plain_variable_outside_of_comments_is_found() {
    for (source, expected) in [
        ("{{ slot }}", true),
        ("{{slot}}", true),
        ("{{-   slot\n -}}", true),
        ("{% if a %}{{ slot }}{% endif %}", true),
        ("{{ slots }}", false),
        ("{{ a.slot }}", false),
        ("slot", false),
        ("{ { slot } }", false),
        ("{% comment %}{{ slot }}{% endcomment %}", false),
        ("{% raw %}{{ slot }}{% endraw %}", false),
        ("{{ 'slot' }}", false),
        ("{% comment %}{% endcomment %}{{ slot }}", true),
    ] {
        assert_eq!(writes(source, "slot"), expected, "{source}");
    }
}

/// Text in a comment that looks like markup does not hide what follows from escaping, nor does it change its context.
#[test]
fn output_after_a_comment_is_escaped() {
    let globals = to_object(&json!({"x": "<b>"})).unwrap();
    for comment in [
        "{%'",
        "{{'",
        "'",
        "{% raw %}",
        "<script>",
        "<!--",
        "<a href=\"",
        "{% if",
        "{% comment x %}",
    ] {
        let source = format!("{{% comment %}}{comment}{{% endcomment %}}{{{{ x }}}}");
        let template = Template::parse(&source, Form::Html).unwrap();
        assert_eq!(template.render(&globals, ROOM).unwrap(), "&lt;b&gt;", "{source}");
    }
}

proptest! {
    #[test]
    fn rendering_never_panics_and_values_add_no_markup(
        pieces in proptest::collection::vec(
            prop_oneof![
                "[ -~]{0,6}",
                prop::sample::select(vec![
                    "{{ x }}", "{{ x | upcase }}", "{{- x -}}", "{% if x %}", "{% endif %}", "{% raw %}",
                    "{% endraw %}", "{% comment %}", "{% endcomment %}", "{% for i in (1..3) %}",
                    "{% endfor %}", "{% assign x = x | append: x %}", "{{", "}}", "{%", "%}", "'", "\"",
                    "<a href=\"", "<p title=", "<style>", "</style>", "<!--", "-->", "<script>",
                ]).prop_map(str::to_owned),
            ],
            0..24,
        )
    ) {
        let source = pieces.concat();
        let globals = to_object(&json!({"x": "\u{1}<\u{2}>\u{3}"})).unwrap();
        if let Ok(template) = Template::parse(&source, Form::Html)
            && let Ok(html) = template.render(&globals, ROOM)
        {
            prop_assert!(!html.contains("\u{1}<"), "{source}\n{html}");
            prop_assert!(!html.contains("\u{2}>"), "{source}\n{html}");
        }
    }

    #[test]
    fn any_text_is_parsed_or_refused(source in "\\PC{0,200}") {
        if let Ok(template) = Template::parse(&source, Form::Html) {
            let _ = template.render(&Object::new(), ROOM);
        }
    }
}
