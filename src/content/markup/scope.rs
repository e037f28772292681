//! Scopes a style sheet to one element, so that an author's styles affect the message only and not the page
//! around it.
//!
//! The sheet is tokenized and written anew (CSS Syntax 3), so that nothing in it can end its container. Kept
//! are rules whose effect ends at the element: style rules, with every selector prefixed; `@media`,
//! `@supports` and `@container` around them; `@font-face`; and `@keyframes`, under prefixed names. Dropped
//! are rules that load other sheets (`@import`), rules for the document (`@page`, `@layer`, `@property`, …),
//! nested rules, and selectors that leave the element.

use cssparser::{CowRcStr, Delimiter, ParseError, Parser, ToCss as _, Token};

/// Nested blocks; deeper ones are dropped with their rule.
const DEPTH_MAX: usize = 16;
/// Conditional at-rules, whose block holds rules.
const CONDITIONS: &[&str] = &["media", "supports", "container"];
/// At-rules that define an animation.
const KEYFRAMES: &[&str] = &["keyframes", "-webkit-keyframes"];
/// Properties that name an animation.
const ANIMATION_PROPERTIES: &[&str] =
    &["animation", "animation-name", "-webkit-animation", "-webkit-animation-name"];
/// Type selectors of the document; they are replaced by the element.
const ROOTS: &[&str] = &["html", "body"];
/// Pseudo-classes of the document.
const PSEUDO_ROOTS: &[&str] = &["root", "host", "scope"];
/// Properties that ran programs in old browsers.
const SCRIPT_PROPERTIES: &[&str] = &["behavior", "-moz-binding"];

type Dropped = ParseError<()>;

/// A style sheet for the element that `scope` selects and its content. Selectors of the document (`:root`,
/// `html`, `body`) select the element. Names of animations get `suffix`, which consists of letters, digits
/// and hyphens.
pub fn scoped(sheet: &str, scope: &str, suffix: &str) -> String {
    let mut keyframes = Vec::new();
    keyframe_names(&mut Parser::new(sheet), &mut keyframes, DEPTH_MAX);
    let scoping = Scoping { scope, suffix, keyframes: &keyframes };
    let mut out = String::with_capacity(sheet.len() * 2);
    rules(&mut Parser::new(sheet), &scoping, &mut out, DEPTH_MAX);
    // In a string or URL the escaped slash has the same meaning; elsewhere `</` is not CSS.
    out.replace("</", "<\\/")
}

struct Scoping<'a> {
    scope: &'a str,
    suffix: &'a str,
    keyframes: &'a [String],
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Collects the names of the sheet's animations.
fn keyframe_names(parser: &mut Parser<'_>, names: &mut Vec<String>, depth: usize) {
    while let Ok(token) = parser.next() {
        let Token::AtKeyword(rule) = token.clone() else { continue };
        if is_one_of(&rule, KEYFRAMES) {
            if let Ok(Token::Ident(name) | Token::QuotedString(name)) = parser.next() {
                names.push(name.to_string());
            }
        } else if is_one_of(&rule, CONDITIONS) && depth > 0 {
            let ends = Delimiter::CurlyBracketBlock | Delimiter::Semicolon;
            drop(parser.parse_until_before(ends, consumed));
            if matches!(parser.next(), Ok(Token::CurlyBracketBlock)) {
                drop(parser.parse_nested_block(|block| -> Result<(), Dropped> {
                    keyframe_names(block, names, depth - 1);
                    Ok(())
                }));
            }
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of what reads a nested block")]
fn consumed(parser: &mut Parser<'_>) -> Result<(), Dropped> {
    while parser.next().is_ok() {}
    Ok(())
}

/// Writes the rules of a sheet or of a conditional block.
fn rules(parser: &mut Parser<'_>, scoping: &Scoping<'_>, out: &mut String, depth: usize) {
    loop {
        let begin = parser.state();
        match parser.next().cloned() {
            Err(_) => return,
            // `<!--` and `-->` mean nothing between rules.
            Ok(Token::CDO | Token::CDC | Token::Semicolon) => {}
            Ok(Token::AtKeyword(name)) => at_rule(parser, &name, scoping, out, depth),
            Ok(_) => {
                parser.reset(&begin);
                style_rule(parser, scoping, out);
            }
        }
    }
}

fn at_rule(
    parser: &mut Parser<'_>,
    name: &CowRcStr<'_>,
    scoping: &Scoping<'_>,
    out: &mut String,
    depth: usize,
) {
    let mut prelude = String::new();
    let ends = Delimiter::CurlyBracketBlock | Delimiter::Semicolon;
    let read = parser.parse_until_before(ends, |it| copied(it, &mut prelude, scoping, false));
    let has_block = matches!(parser.next(), Ok(Token::CurlyBracketBlock));
    if !has_block {
        return;
    }
    let prelude = prelude.trim();
    let mut inner = String::new();
    let written = parser.parse_nested_block(|block| -> Result<bool, Dropped> {
        if read.is_err() || depth == 0 {
            return Ok(false);
        }
        if is_one_of(name, CONDITIONS) {
            rules(block, scoping, &mut inner, depth - 1);
        } else if is_one_of(name, KEYFRAMES) {
            stages(block, scoping, &mut inner);
        } else if name.eq_ignore_ascii_case("font-face") {
            declarations(block, scoping, &mut inner);
        } else {
            return Ok(false);
        }
        Ok(true)
    });
    if !matches!(written, Ok(true)) || inner.is_empty() {
        return;
    }
    out.push('@');
    out.push_str(&name.to_ascii_lowercase());
    if is_one_of(name, KEYFRAMES) {
        let Some(course) = keyframes_name(prelude) else {
            out.truncate(out.len() - name.len() - 1);
            return;
        };
        out.push(' ');
        out.push_str(&scoping.renamed(&course));
    } else if !prelude.is_empty() {
        out.push(' ');
        out.push_str(prelude);
    }
    out.push('{');
    out.push_str(&inner);
    out.push('}');
}

/// The name in the prelude of `@keyframes`.
fn keyframes_name(prelude: &str) -> Option<String> {
    let mut parser = Parser::new(prelude);
    let name = match parser.next() {
        Ok(Token::Ident(name) | Token::QuotedString(name)) => name.to_string(),
        _ => return None,
    };
    parser.is_exhausted().then_some(name)
}

impl Scoping<'_> {
    fn renamed(&self, course: &str) -> String {
        Token::Ident(format!("{course}-{}", self.suffix).into()).to_css_string()
    }
}

/// Writes the stages of an animation: `from`, `to` and percentages.
fn stages(parser: &mut Parser<'_>, scoping: &Scoping<'_>, out: &mut String) {
    loop {
        let mut stage = String::new();
        let read = parser.parse_until_before(Delimiter::CurlyBracketBlock, |it| {
            copied(it, &mut stage, scoping, false)
        });
        if !matches!(parser.next(), Ok(Token::CurlyBracketBlock)) {
            return;
        }
        let mut inner = String::new();
        let _: Result<(), Dropped> = parser.parse_nested_block(|block| {
            declarations(block, scoping, &mut inner);
            Ok(())
        });
        if read.is_ok() && !inner.is_empty() {
            out.push_str(stage.trim());
            out.push('{');
            out.push_str(&inner);
            out.push('}');
        }
    }
}

fn style_rule(parser: &mut Parser<'_>, scoping: &Scoping<'_>, out: &mut String) {
    let mut prelude = String::new();
    let read = parser.parse_until_before(Delimiter::CurlyBracketBlock, |it| {
        copied(it, &mut prelude, scoping, false)
    });
    if !matches!(parser.next(), Ok(Token::CurlyBracketBlock)) {
        return;
    }
    let mut inner = String::new();
    let _: Result<(), Dropped> = parser.parse_nested_block(|block| {
        declarations(block, scoping, &mut inner);
        Ok(())
    });
    let selectors = read.ok().and_then(|()| selectors(&prelude, scoping.scope));
    if let Some(selectors) = selectors.filter(|_| !inner.is_empty()) {
        out.push_str(&selectors);
        out.push('{');
        out.push_str(&inner);
        out.push('}');
    }
}

/// The prefixed selectors of a rule; none if one of them leaves the element, since browsers drop a list with
/// an invalid selector entirely.
fn selectors(prelude: &str, scope: &str) -> Option<String> {
    let mut parser = Parser::new(prelude);
    let below = parser.parse_comma_separated(|one| selector(one, scope)).ok()?;
    Some(below.join(","))
}

/// Reads one selector and puts the scope before it.
fn selector(parser: &mut Parser<'_>, scope: &str) -> Result<String, Dropped> {
    let out_of_here = || ParseError::custom(());
    let mut is_rooted = false;
    // Leading selectors of the document are replaced by the element.
    while parser.try_parse(root).is_ok() {
        is_rooted = true;
        let after = parser.state();
        if !matches!(parser.next_including_whitespace(), Ok(Token::WhiteSpace(_))) {
            parser.reset(&after);
            break;
        }
        let next = parser.state();
        let is_root = parser.try_parse(root).is_ok();
        parser.reset(if is_root { &next } else { &after });
        if !is_root {
            break;
        }
    }
    let begin = parser.position();
    let mut is_first_compound = true;
    let mut tokens = 0_usize;
    while let Ok(token) = parser.next_including_whitespace().cloned() {
        tokens += 1;
        match token {
            // The nesting selector refers to the parent rule, and nested rules are dropped.
            Token::Delim('&') => return Err(out_of_here()),
            Token::Delim('+' | '~') if is_first_compound && (is_rooted || tokens == 1) => {
                return Err(out_of_here());
            }
            Token::Delim('>' | '+' | '~') => {
                if !is_rooted && tokens == 1 {
                    return Err(out_of_here());
                }
                is_first_compound = false;
            }
            Token::WhiteSpace(_) => {
                let at = parser.state();
                let leads_on = matches!(parser.next(), Ok(Token::Delim('>' | '+' | '~')));
                parser.reset(&at);
                is_first_compound &= leads_on;
            }
            Token::Function(_) | Token::ParenthesisBlock | Token::SquareBracketBlock => {
                parser.parse_nested_block(consumed)?;
            }
            Token::CurlyBracketBlock | Token::AtKeyword(_) | Token::Semicolon => {
                return Err(out_of_here());
            }
            _ => {}
        }
    }
    let rest = parser.slice_from(begin).trim_end();
    if rest.is_empty() && !is_rooted {
        return Err(out_of_here());
    }
    let between = if is_rooted { "" } else { " " };
    Ok(format!("{scope}{between}{}", if is_rooted { rest } else { rest.trim_start() }))
}

/// Reads a selector of the document.
fn root(parser: &mut Parser<'_>) -> Result<(), Dropped> {
    match parser.next()?.clone() {
        Token::Ident(name) if is_one_of(&name, ROOTS) => Ok(()),
        Token::Colon => match parser.next_including_whitespace()?.clone() {
            Token::Ident(name) if is_one_of(&name, PSEUDO_ROOTS) => Ok(()),
            _ => Err(ParseError::custom(())),
        },
        _ => Err(ParseError::custom(())),
    }
}

/// Writes the declarations of a block; nested rules are dropped.
fn declarations(parser: &mut Parser<'_>, scoping: &Scoping<'_>, out: &mut String) {
    let ends = Delimiter::Semicolon | Delimiter::CurlyBracketBlock;
    loop {
        let mut one = String::new();
        let read = parser.parse_until_before(ends, |it| declaration(it, scoping, &mut one));
        match parser.next() {
            Ok(Token::CurlyBracketBlock) => {
                drop(parser.parse_nested_block(consumed));
                continue;
            }
            Ok(_) => {}
            Err(_) if one.is_empty() => return,
            Err(_) => {
                if read.is_ok() {
                    out.push_str(&one);
                }
                return;
            }
        }
        if read.is_ok() && !one.is_empty() {
            out.push_str(&one);
            out.push(';');
        }
    }
}

fn declaration(
    parser: &mut Parser<'_>,
    scoping: &Scoping<'_>,
    out: &mut String,
) -> Result<(), Dropped> {
    let name = parser.expect_ident_cloned()?;
    parser.expect_colon()?;
    if is_one_of(&name, SCRIPT_PROPERTIES) {
        return Err(ParseError::custom(()));
    }
    let mut value = String::new();
    copied(parser, &mut value, scoping, is_one_of(&name, ANIMATION_PROPERTIES))?;
    let value = value.trim();
    if !value.is_empty() {
        out.push_str(&Token::Ident(name).to_css_string());
        out.push(':');
        out.push_str(value);
    }
    Ok(())
}

/// Writes tokens unchanged, with blocks closed and names of animations replaced.
fn copied(
    parser: &mut Parser<'_>,
    out: &mut String,
    scoping: &Scoping<'_>,
    names_courses: bool,
) -> Result<(), Dropped> {
    loop {
        let token = match parser.next_including_whitespace_and_comments() {
            Ok(token) => token.clone(),
            Err(_) => return Ok(()),
        };
        if token.is_parse_error() {
            return Err(ParseError::custom(()));
        }
        let close = match &token {
            Token::Comment(_) => {
                out.push_str("/**/");
                continue;
            }
            Token::WhiteSpace(_) => {
                out.push(' ');
                continue;
            }
            Token::Ident(name)
                if names_courses && scoping.keyframes.iter().any(|it| **it == **name) =>
            {
                out.push_str(&scoping.renamed(name));
                continue;
            }
            Token::Function(_) | Token::ParenthesisBlock => ")",
            Token::SquareBracketBlock => "]",
            Token::CurlyBracketBlock => "}",
            _ => "",
        };
        out.push_str(&token.to_css_string());
        if !close.is_empty() {
            parser.parse_nested_block(|block| copied(block, out, scoping, names_courses))?;
            out.push_str(close);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::cpu_time::CpuTime;

    fn put(sheet: &str) -> String {
        scoped(sheet, "[m]", "x")
    }

    #[test]
    fn every_selector_is_prefixed() {
        for (sheet, kept) in [
            ("h2{color:red}", "[m] h2{color:red}"),
            ("h2 , p.a>b{color:red;margin:0 1px}", "[m] h2,[m] p.a>b{color:red;margin:0 1px}"),
            ("h2 + p ~ b{color:red}", "[m] h2 + p ~ b{color:red}"),
            ("*{color:red}", "[m] *{color:red}"),
            (":root{--a:1}", "[m]{--a:1}"),
            ("html body .a{color:red}", "[m] .a{color:red}"),
            ("body.dark > p{color:red}", "[m].dark > p{color:red}"),
            ("body,p{color:red}", "[m],[m] p{color:red}"),
            (".a:not(.b, html):hover{color:red}", "[m] .a:not(.b, html):hover{color:red}"),
            ("a[href=\"x,y{\"]{color:red}", "[m] a[href=\"x,y{\"]{color:red}"),
            (
                "button.primary::before{content:\"</style>\"}",
                "[m] button.primary::before{content:\"<\\/style>\"}",
            ),
            ("<!-- p{color:red} -->", "[m] p{color:red}"),
        ] {
            assert_eq!(put(sheet), kept, "{sheet}");
        }
    }

    #[test]
    fn selectors_that_leave_the_element_are_dropped() {
        for sheet in [
            "+ p{color:red}",
            "~ p{color:red}",
            "> p{color:red}",
            ":root + p{color:red}",
            "body ~ p{color:red}",
            "body.dark + p{color:red}",
            "html + body p{color:red}",
            "& p{color:red}",
            "p, & + p{color:red}",
            "@import url(https://x.test/a.css);",
            "@IMPORT 'a.css';",
            "@charset \"utf-8\";",
            "@namespace svg url(http://x.test);",
            "@layer a, b;",
            "@layer a{p{color:red}}",
            "@page{margin:0}",
            "@property --a{syntax:'*';inherits:false}",
            "@scope (body){p{color:red}}",
            "p{}",
            "{color:red}",
            "p{behavior:url(a.htc)}",
            "p",
            "p{color:red",
        ] {
            let kept = put(sheet);
            let expected = if sheet == "p{color:red" { "[m] p{color:red}" } else { "" };
            assert_eq!(kept, expected, "{sheet}");
        }
    }

    #[test]
    fn nested_rules_are_dropped_and_their_parents_kept() {
        assert_eq!(put("p{color:red;:not(&){color:blue} margin:0}"), "[m] p{color:red;margin:0}");
        assert_eq!(put("p{& + body{color:red}}h2{color:red}"), "[m] h2{color:red}");
    }

    #[test]
    fn conditions_stay_around_their_rules() {
        assert_eq!(
            put("@media (min-width:600px){body{color:red}@import 'x';@media print{p{color:red}}}"),
            "@media (min-width:600px){[m]{color:red}@media print{[m] p{color:red}}}"
        );
        assert_eq!(put("@media print{+ p{color:red}}"), "");
        assert_eq!(
            put("@font-face{font-family:F;src:url(https://x.test/f.woff2)}"),
            "@font-face{font-family:F;src:url(https://x.test/f.woff2)}"
        );
    }

    #[test]
    fn animations_get_their_own_names() {
        assert_eq!(
            put(
                "p{animation:in 1s ease;animation-name:in,out}@keyframes in{from{top:0}50%,to{top:1px}}"
            ),
            "[m] p{animation:in-x 1s ease;animation-name:in-x,out}@keyframes in-x{from{top:0}50%,to{top:1px}}"
        );
    }

    #[test]
    fn an_invalid_declaration_is_dropped_alone() {
        assert_eq!(put("p{color;margin:0;a:];padding:1px}"), "[m] p{margin:0;padding:1px}");
        assert_eq!(put("p{color:red}}h2{margin:0}b{top:0}"), "[m] p{color:red}[m] b{top:0}");
    }

    #[test]
    fn hostile_sheets_are_processed_in_linear_time() {
        let began = CpuTime::start();
        for piece in [
            "{",
            "(",
            "a{",
            "url(",
            "/*",
            "\"",
            "\\",
            "@media ",
            "}",
            "a{}",
            ":is(",
            "@media print{",
            "a,",
            "& ",
            "body ",
        ] {
            let _ = put(&piece.repeat((128 << 10) / piece.len()));
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }

    proptest! {
        /// The output is complete CSS: scoping it again does not change it.
        #[test]
        fn scoping_is_idempotent(sheet in "[a-c{}()\\[\\]\"'@/*\\\\;:,.&+~> \n!-]{0,80}") {
            let once = put(&sheet);
            prop_assert!(!once.contains("</"));
            let again = put(&format!("{once}z9{{color:red}}"));
            prop_assert!(again.ends_with("[m] z9{color:red}"), "{sheet:?} gives {once:?} gives {again:?}");
        }
    }
}
