//! A migration's text becomes statements: placeholders resolved, comments left in, cut at `;`.

use crate::error::AnalyticsError;

/// Resolves `{on_cluster}` and `{engine:X}`: on one server nothing and `X`, in a cluster
/// ` ON CLUSTER name` and `ReplicatedX`, whose path and replica names come from the servers'
/// `default_replica_path` and `default_replica_name`.
pub(super) fn render(text: &str, cluster: Option<&str>) -> Result<String, AnalyticsError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let (placeholder, after) = after
            .split_once('}')
            .ok_or_else(|| AnalyticsError::Schema("a placeholder is not closed".to_owned()))?;
        match (placeholder, placeholder.strip_prefix("engine:"), cluster) {
            ("on_cluster", _, None) => {}
            ("on_cluster", _, Some(name)) => {
                out.push_str("ON CLUSTER `");
                out.push_str(name);
                out.push('`');
            }
            (_, Some(engine), None) => out.push_str(engine),
            (_, Some(engine), Some(_)) => {
                out.push_str("Replicated");
                out.push_str(engine);
            }
            _ => {
                return Err(AnalyticsError::Schema(format!(
                    "unknown placeholder {{{placeholder}}}"
                )));
            }
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// Where a scan through SQL text is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Code,
    /// Between two of this quote: `'`, `"` or a backtick.
    Quoted(char),
    LineComment,
    BlockComment,
}

/// Cuts a file at the semicolons that end statements, not at those in quotes and comments.
/// Pieces that hold nothing but comments and space are left out.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut statements = Vec::new();
    let mut statement = String::new();
    let mut has_code = false;
    let mut within = Within::Code;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if within == Within::Code && c == ';' {
            push_statement(&mut statements, &mut statement, has_code);
            has_code = false;
            continue;
        }
        statement.push(c);
        let next = chars.peek().copied();
        within = match (within, c, next) {
            (Within::Code, '-', Some('-')) => Within::LineComment,
            (Within::Code, '/', Some('*')) => {
                statement.extend(chars.next());
                Within::BlockComment
            }
            (Within::Code, '\'' | '"' | '`', _) => Within::Quoted(c),
            (Within::Quoted(_), '\\', Some(_)) => {
                statement.extend(chars.next());
                within
            }
            (Within::Quoted(quote), _, _) if c == quote => Within::Code,
            (Within::LineComment, '\n', _) => Within::Code,
            (Within::BlockComment, '*', Some('/')) => {
                statement.extend(chars.next());
                Within::Code
            }
            _ => within,
        };
        has_code |= match within {
            Within::Code => !c.is_whitespace() && c != '*' && c != '/',
            Within::Quoted(_) => true,
            Within::LineComment | Within::BlockComment => false,
        };
    }
    push_statement(&mut statements, &mut statement, has_code);
    statements
}

fn push_statement(statements: &mut Vec<String>, statement: &mut String, has_code: bool) {
    if has_code {
        statements.push(statement.trim().to_owned());
    }
    statement.clear();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn statements_end_at_semicolons_outside_quotes_and_comments() {
        let cases: [(&str, &[&str]); 9] = [
            ("", &[]),
            (" ;;\n; ", &[]),
            ("-- only; a comment\n", &[]),
            ("/* a; b */ ;", &[]),
            ("create a; create b", &["create a", "create b"]),
            ("select ';' ; select \"a;b\"", &["select ';'", "select \"a;b\""]),
            ("select 'it\\';s'; x", &["select 'it\\';s'", "x"]),
            ("select 'it'';s'; x", &["select 'it'';s'", "x"]),
            ("-- why; so\ncreate a /* ; */ ;", &["-- why; so\ncreate a /* ; */"]),
        ];
        for (text, expected) in cases {
            assert_eq!(split(text), expected, "{text}");
        }
    }

    #[test]
    fn placeholders_become_plain_engines_on_one_server() {
        let text = "create table t {on_cluster} engine = {engine:ReplacingMergeTree}(v)";
        assert_eq!(
            render(text, None).ok().as_deref(),
            Some("create table t  engine = ReplacingMergeTree(v)")
        );
    }

    #[test]
    fn placeholders_become_replicated_engines_in_a_cluster() {
        let text = "create table t {on_cluster} engine = {engine:ReplacingMergeTree}(v)";
        assert_eq!(
            render(text, Some("main")).ok().as_deref(),
            Some("create table t ON CLUSTER `main` engine = ReplicatedReplacingMergeTree(v)")
        );
    }

    #[test]
    fn an_unknown_placeholder_is_an_error() {
        assert!(render("create {table}", None).is_err());
        assert!(render("create {on_cluster", None).is_err());
    }

    proptest! {
        #[test]
        fn no_statement_is_lost_between_plain_words(words in proptest::collection::vec("[a-z]{1,8}", 0..20)) {
            prop_assert_eq!(split(&words.join(";\n")), words);
        }
    }
}
