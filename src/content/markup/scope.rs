//! Keeps a style sheet to one element: what its author wrote for a message styles the message and nothing
//! around it.
//!
//! The sheet is taken apart into tokens and written anew (CSS Syntax 3), so that nothing in it can end
//! what it stands in. Of rules those remain whose effect ends at the element: style rules, with every
//! selector put below it; `@media`, `@supports` and `@container` around them; `@font-face`; and
//! `@keyframes`, under names of their own. The rest is dropped: what loads other sheets (`@import`), what
//! is the document's (`@page`, `@layer`, `@property`, …), rules inside rules, and selectors that lead out
//! again.

use cssparser::{CowRcStr, Delimiter, ParseError, Parser, ToCss as _, Token};

/// Blocks inside blocks that are followed; what is deeper is dropped with the rule it is in.
const DEPTH_MAX: usize = 16;
/// At-rules whose block holds rules, and which only say when these hold.
const CONDITIONS: &[&str] = &["media", "supports", "container"];
/// At-rules that name a course of styles.
const COURSES: &[&str] = &["keyframes", "-webkit-keyframes"];
/// Properties that name a course.
const OF_COURSES: &[&str] =
    &["animation", "animation-name", "-webkit-animation", "-webkit-animation-name"];
/// What stands for the whole document in a selector: here for the element.
const ROOTS: &[&str] = &["html", "body"];
/// Likewise after a colon.
const PSEUDO_ROOTS: &[&str] = &["root", "host", "scope"];
/// Properties that once ran programs.
const RUNNING: &[&str] = &["behavior", "-moz-binding"];

type Dropped = ParseError<()>;

/// A style sheet that styles what is inside the element `scope` selects, and the element itself where the
/// sheet speaks of the document (`:root`, `html`, `body`). Named courses of styles get `suffix`, which is
/// made of letters, digits and hyphens.
pub fn scoped(sheet: &str, scope: &str, suffix: &str) -> String {
    let mut courses = Vec::new();
    names_of_courses(&mut Parser::new(sheet), &mut courses, DEPTH_MAX);
    let place = Place { scope, suffix, courses: &courses };
    let mut out = String::with_capacity(sheet.len() * 2);
    rules(&mut Parser::new(sheet), &place, &mut out, DEPTH_MAX);
    // Inside a string or an address a backslash before a slash says the same; elsewhere this is not CSS.
    out.replace("</", "<\\/")
}

/// Where the sheet is put.
struct Place<'a> {
    scope: &'a str,
    suffix: &'a str,
    courses: &'a [String],
}

fn is_one_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Collects the names under which the sheet keeps courses.
fn names_of_courses(parser: &mut Parser<'_>, names: &mut Vec<String>, depth: usize) {
    while let Ok(token) = parser.next() {
        let Token::AtKeyword(rule) = token.clone() else { continue };
        if is_one_of(&rule, COURSES) {
            if let Ok(Token::Ident(name) | Token::QuotedString(name)) = parser.next() {
                names.push(name.to_string());
            }
        } else if is_one_of(&rule, CONDITIONS) && depth > 0 {
            let ends = Delimiter::CurlyBracketBlock | Delimiter::Semicolon;
            drop(parser.parse_until_before(ends, consumed));
            if matches!(parser.next(), Ok(Token::CurlyBracketBlock)) {
                drop(parser.parse_nested_block(|block| -> Result<(), Dropped> {
                    names_of_courses(block, names, depth - 1);
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

/// Writes the rules of a sheet, or of a block that says when they hold.
fn rules(parser: &mut Parser<'_>, place: &Place<'_>, out: &mut String, depth: usize) {
    loop {
        let begin = parser.state();
        match parser.next().cloned() {
            Err(_) => return,
            // `<!--` and `-->` mean nothing between rules.
            Ok(Token::CDO | Token::CDC | Token::Semicolon) => {}
            Ok(Token::AtKeyword(name)) => at_rule(parser, &name, place, (&mut *out, depth)),
            Ok(_) => {
                parser.reset(&begin);
                style_rule(parser, place, out);
            }
        }
    }
}

fn at_rule(
    parser: &mut Parser<'_>,
    name: &CowRcStr<'_>,
    place: &Place<'_>,
    (out, depth): (&mut String, usize),
) {
    let mut prelude = String::new();
    let ends = Delimiter::CurlyBracketBlock | Delimiter::Semicolon;
    let read = parser.parse_until_before(ends, |it| copied(it, &mut prelude, place, false));
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
            rules(block, place, &mut inner, depth - 1);
        } else if is_one_of(name, COURSES) {
            stages(block, place, &mut inner);
        } else if name.eq_ignore_ascii_case("font-face") {
            declarations(block, place, &mut inner);
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
    if is_one_of(name, COURSES) {
        let Some(course) = course_name(prelude) else {
            out.truncate(out.len() - name.len() - 1);
            return;
        };
        out.push(' ');
        out.push_str(&place.renamed(&course));
    } else if !prelude.is_empty() {
        out.push(' ');
        out.push_str(prelude);
    }
    out.push('{');
    out.push_str(&inner);
    out.push('}');
}

/// The name a prelude of `@keyframes` gives.
fn course_name(prelude: &str) -> Option<String> {
    let mut parser = Parser::new(prelude);
    let name = match parser.next() {
        Ok(Token::Ident(name) | Token::QuotedString(name)) => name.to_string(),
        _ => return None,
    };
    parser.is_exhausted().then_some(name)
}

impl Place<'_> {
    fn renamed(&self, course: &str) -> String {
        Token::Ident(format!("{course}-{}", self.suffix).into()).to_css_string()
    }
}

/// Writes the stages of a course: `from`, `to` and percentages.
fn stages(parser: &mut Parser<'_>, place: &Place<'_>, out: &mut String) {
    loop {
        let mut stage = String::new();
        let read = parser.parse_until_before(Delimiter::CurlyBracketBlock, |it| {
            copied(it, &mut stage, place, false)
        });
        if !matches!(parser.next(), Ok(Token::CurlyBracketBlock)) {
            return;
        }
        let mut inner = String::new();
        let _: Result<(), Dropped> = parser.parse_nested_block(|block| {
            declarations(block, place, &mut inner);
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

fn style_rule(parser: &mut Parser<'_>, place: &Place<'_>, out: &mut String) {
    let mut prelude = String::new();
    let read = parser.parse_until_before(Delimiter::CurlyBracketBlock, |it| {
        copied(it, &mut prelude, place, false)
    });
    if !matches!(parser.next(), Ok(Token::CurlyBracketBlock)) {
        return;
    }
    let mut inner = String::new();
    let _: Result<(), Dropped> = parser.parse_nested_block(|block| {
        declarations(block, place, &mut inner);
        Ok(())
    });
    let selectors = read.ok().and_then(|()| selectors(&prelude, place.scope));
    if let Some(selectors) = selectors.filter(|_| !inner.is_empty()) {
        out.push_str(&selectors);
        out.push('{');
        out.push_str(&inner);
        out.push('}');
    }
}

/// The selectors of a rule below the scope; none where one of them leads out of it, since of a list with a
/// fault in it browsers drop all.
fn selectors(prelude: &str, scope: &str) -> Option<String> {
    let mut parser = Parser::new(prelude);
    let below = parser.parse_comma_separated(|one| selector(one, scope)).ok()?;
    Some(below.join(","))
}

/// One selector below the scope.
fn selector(parser: &mut Parser<'_>, scope: &str) -> Result<String, Dropped> {
    let out_of_here = || ParseError::custom(());
    let mut is_rooted = false;
    // What stands for the document goes, and then for what is in it.
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
            // The parent of a rule in a rule, which here is the document.
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

/// Reads what stands for the document.
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

/// Writes the declarations of a block; rules inside it are dropped.
fn declarations(parser: &mut Parser<'_>, place: &Place<'_>, out: &mut String) {
    let ends = Delimiter::Semicolon | Delimiter::CurlyBracketBlock;
    loop {
        let mut one = String::new();
        let read = parser.parse_until_before(ends, |it| declaration(it, place, &mut one));
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
    place: &Place<'_>,
    out: &mut String,
) -> Result<(), Dropped> {
    let name = parser.expect_ident_cloned()?;
    parser.expect_colon()?;
    if is_one_of(&name, RUNNING) {
        return Err(ParseError::custom(()));
    }
    let mut value = String::new();
    copied(parser, &mut value, place, is_one_of(&name, OF_COURSES))?;
    let value = value.trim();
    if !value.is_empty() {
        out.push_str(&Token::Ident(name).to_css_string());
        out.push(':');
        out.push_str(value);
    }
    Ok(())
}

/// Writes tokens as they were read, blocks closed; names of courses anew where they are such.
fn copied(
    parser: &mut Parser<'_>,
    out: &mut String,
    place: &Place<'_>,
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
                if names_courses && place.courses.iter().any(|it| **it == **name) =>
            {
                out.push_str(&place.renamed(name));
                continue;
            }
            Token::Function(_) | Token::ParenthesisBlock => ")",
            Token::SquareBracketBlock => "]",
            Token::CurlyBracketBlock => "}",
            _ => "",
        };
        out.push_str(&token.to_css_string());
        if !close.is_empty() {
            parser.parse_nested_block(|block| copied(block, out, place, names_courses))?;
            out.push_str(close);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    fn put(sheet: &str) -> String {
        scoped(sheet, "[m]", "x")
    }

    #[test]
    fn every_selector_is_put_below_the_element() {
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
    fn what_leads_out_of_the_element_is_dropped() {
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
    fn rules_in_rules_go_and_what_stands_around_them_stays() {
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
    fn courses_have_names_of_their_own() {
        assert_eq!(
            put(
                "p{animation:in 1s ease;animation-name:in,out}@keyframes in{from{top:0}50%,to{top:1px}}"
            ),
            "[m] p{animation:in-x 1s ease;animation-name:in-x,out}@keyframes in-x{from{top:0}50%,to{top:1px}}"
        );
    }

    #[test]
    fn a_fault_costs_its_declaration_and_no_other() {
        assert_eq!(put("p{color;margin:0;a:];padding:1px}"), "[m] p{margin:0;padding:1px}");
        assert_eq!(put("p{color:red}}h2{margin:0}b{top:0}"), "[m] p{color:red}[m] b{top:0}");
    }

    #[test]
    fn sheets_made_to_take_long_do_not() {
        let began = Instant::now();
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
        /// Whatever is written stays the same when it is read again: it says in itself where it ends.
        #[test]
        fn what_is_written_is_whole(sheet in "[a-c{}()\\[\\]\"'@/*\\\\;:,.&+~> \n!-]{0,80}") {
            let once = put(&sheet);
            prop_assert!(!once.contains("</"));
            let again = put(&format!("{once}z9{{color:red}}"));
            prop_assert!(again.ends_with("[m] z9{color:red}"), "{sheet:?} gives {once:?} gives {again:?}");
        }
    }
}
