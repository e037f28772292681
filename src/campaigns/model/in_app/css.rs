//! Limits on the shape of a style sheet, so that parsing is cheap. Its content is up to the renderer, which
//! skips unknown rules and drops `@import`.

use cssparser::{ParseError, Parser, Token};

use super::super::words::Read;

/// Nested blocks, brackets and functions.
const NESTING_MAX: usize = 16;

/// Checks a style sheet in one pass over its tokens.
pub(super) fn is_bounded(css: &str) -> Read<()> {
    walk(&mut Parser::new(css), NESTING_MAX)
        .map_err(|_| format!("must not be nested deeper than {NESTING_MAX} blocks"))
}

/// Visits every block down to this depth.
fn walk(parser: &mut Parser<'_>, depth: usize) -> Result<(), ParseError<()>> {
    while let Ok(token) = parser.next() {
        let opens = matches!(
            token,
            Token::CurlyBracketBlock
                | Token::ParenthesisBlock
                | Token::SquareBracketBlock
                | Token::Function(_)
        );
        if opens && depth == 0 {
            return Err(ParseError::custom(()));
        }
        if opens {
            parser.parse_nested_block(|block| walk(block, depth - 1))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    fn nested(open: &str, close: &str, depth: usize) -> String {
        format!("{}{}", open.repeat(depth), close.repeat(depth))
    }

    #[test]
    fn nesting_is_bounded() {
        for (open, close) in [("a{", "}"), ("(", ")"), ("[", "]"), ("f(", ")"), ("a{", "")] {
            assert_eq!(is_bounded(&nested(open, close, NESTING_MAX)), Ok(()), "{open}");
            assert!(is_bounded(&nested(open, close, NESTING_MAX + 1)).is_err(), "{open}");
        }
        for css in [
            "",
            "h2{color:red} @media (min-width:1px){p{margin:calc((1px + 2px) * 3)}}",
            "@import url(https://example.test/a.css); p{}",
            "}}}}}}}}",
            "a{b:\"{{{{{{{{{{{{{{{{{{{{\"}",
            "/* {{{{{{{{{{{{{{{{{{{{{{{{{{ */",
            "a{color:red",
            "\u{fffd}\\",
        ] {
            assert_eq!(is_bounded(css), Ok(()), "{css}");
        }
    }

    #[test]
    fn oversized_sheets_are_checked_in_linear_time() {
        let began = Instant::now();
        for piece in
            ["{", "(", "a{", "url(", "/*", "\"", "\\", "@import ", "}", "a{}", ":is(", "<!--"]
        {
            let _ = is_bounded(&piece.repeat((256 << 10) / piece.len()));
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    }

    proptest! {
        #[test]
        fn any_text_is_checked_without_a_panic(css in "[\\PC{}()\\[\\]\"'@/*\\\\;:]{0,120}") {
            let _ = is_bounded(&css);
        }
    }
}
