//! Statements cut at the right places, and texts that must not be cut at all.

use proptest::prelude::*;

use super::*;

fn cut(text: &str) -> (String, Option<String>, String) {
    match Statement::of(text.as_bytes()) {
        Statement::Insert { head, format, rows_at } => {
            (text[head].trim_end().to_owned(), format, text[rows_at..].to_owned())
        }
        Statement::Other(other) => panic!("{text} was taken for {other:?}"),
    }
}

fn other_of(text: &str) -> Other {
    match Statement::of(text.as_bytes()) {
        Statement::Other(other) => other,
        insert @ Statement::Insert { .. } => panic!("{text} was taken for {insert:?}"),
    }
}

#[test]
fn an_insert_is_cut_at_its_format_and_the_rows_begin_behind_it() {
    for (text, head, format, rows) in [
        ("INSERT INTO t FORMAT CSV\n1,2\n", "INSERT INTO t", "CSV", "1,2\n"),
        ("insert into t format CSV  \r\n1", "insert into t", "CSV", "1"),
        ("INSERT INTO t FORMAT CSV;\n1", "INSERT INTO t", "CSV", "1"),
        ("INSERT INTO t FORMAT CSV 1,2", "INSERT INTO t", "CSV", "1,2"),
        ("INSERT INTO t FORMAT RowBinary\n\n\u{1}", "INSERT INTO t", "RowBinary", "\n\u{1}"),
        (
            "INSERT INTO db.t(`format`, a) FORMAT Native",
            "INSERT INTO db.t(`format`, a)",
            "Native",
            "",
        ),
        (
            "INSERT INTO `select`.values (a) VALUES (1)",
            "INSERT INTO `select`.values (a)",
            "Values",
            " (1)",
        ),
        ("INSERT INTO format FORMAT TSV", "INSERT INTO format", "TSV", ""),
        (
            "INSERT INTO TABLE t SETTINGS a = 1, b='FORMAT x' FORMAT CSV",
            "INSERT INTO TABLE t SETTINGS a = 1, b='FORMAT x'",
            "CSV",
            "",
        ),
        (
            "INSERT INTO t SETTINGS mode = values VALUES (1)",
            "INSERT INTO t SETTINGS mode = values",
            "Values",
            " (1)",
        ),
        (
            "INSERT INTO FUNCTION file('x', CSV, 'a Int8') FORMAT CSV",
            "INSERT INTO FUNCTION file('x', CSV, 'a Int8')",
            "CSV",
            "",
        ),
        (
            "INSERT INTO TABLE FUNCTION null('a Int8') VALUES (1)",
            "INSERT INTO TABLE FUNCTION null('a Int8')",
            "Values",
            " (1)",
        ),
        (
            "INSERT INTO {t:Identifier} (* EXCEPT(a)) FORMAT CSV",
            "INSERT INTO {t:Identifier} (* EXCEPT(a))",
            "CSV",
            "",
        ),
        (
            "/* FORMAT a */ INSERT -- VALUES\n INTO t FORMAT CSV",
            "/* FORMAT a */ INSERT -- VALUES\n INTO t",
            "CSV",
            "",
        ),
        ("INSERT t VALUES(1)", "INSERT t", "Values", "(1)"),
    ] {
        assert_eq!(
            cut(text),
            (head.to_owned(), Some(format.to_owned()), rows.to_owned()),
            "{text}"
        );
    }
}

#[test]
fn an_insert_without_a_format_ends_where_its_text_ends() {
    assert_eq!(cut("INSERT INTO t (a)"), ("INSERT INTO t (a)".into(), None, String::new()));
    assert_eq!(cut("INSERT INTO t ;"), ("INSERT INTO t".into(), None, String::new()));
}

#[test]
fn an_insert_from_a_question_is_not_an_insert_of_rows() {
    for text in [
        "INSERT INTO t SELECT 1 FORMAT CSV",
        "INSERT INTO t (a) WITH 1 AS x SELECT x",
        "INSERT INTO t (SELECT 1)",
        "INSERT INTO t FROM INFILE 'x' FORMAT CSV",
        "EXPLAIN INSERT INTO t VALUES (1)",
        "inserted",
    ] {
        other_of(text);
    }
}

#[test]
fn the_format_of_a_question_is_found_where_it_counts() {
    for (text, format) in [
        ("SELECT 1 FORMAT JSON", Some("JSON")),
        ("SELECT 1 FORMAT JSON;", Some("JSON")),
        ("SELECT 1 format JSON -- done", Some("JSON")),
        ("SELECT 1 FORMAT JSON SETTINGS max_threads = 1", Some("JSON")),
        ("SELECT 1 SETTINGS max_threads = 1", None),
        ("SELECT 'FORMAT JSON'", None),
        ("SELECT $$ FORMAT JSON$$", None),
        ("SELECT (SELECT 1 FORMAT JSON)", None),
        ("SELECT format FROM t", None),
        ("SELECT a AS format, b FROM format WHERE x", None),
        ("SHOW TABLES FORMAT CSVWithNames", Some("CSVWithNames")),
    ] {
        assert_eq!(other_of(text).format.map(|(name, _)| name).as_deref(), format, "{text}");
    }
    assert!(other_of("SELECT 1 INTO OUTFILE 'x' FORMAT CSV").into_outfile);
    assert!(!other_of("SELECT 'INTO OUTFILE'").into_outfile);
}

#[test]
fn the_place_for_the_answer_is_written_before_the_format() {
    let rewritten = |text: &str| {
        String::from_utf8(other_of(text).writing_to(text.as_bytes(), "/proc/self/fd/7", "TSV"))
            .unwrap()
    };
    assert_eq!(
        rewritten("SELECT 1"),
        "SELECT 1\nINTO OUTFILE '/proc/self/fd/7' APPEND FORMAT TSV "
    );
    assert_eq!(
        rewritten("SELECT 1 -- x"),
        "SELECT 1 -- x\nINTO OUTFILE '/proc/self/fd/7' APPEND FORMAT TSV "
    );
    assert_eq!(
        rewritten("SELECT 1; -- x"),
        "SELECT 1\nINTO OUTFILE '/proc/self/fd/7' APPEND FORMAT TSV "
    );
    assert_eq!(
        rewritten("SELECT 1 FORMAT JSON SETTINGS a = 1;"),
        "SELECT 1 \nINTO OUTFILE '/proc/self/fd/7' APPEND FORMAT JSON  SETTINGS a = 1"
    );
}

#[test]
fn quoting_survives_what_would_end_it() {
    assert_eq!(quoted_text(r"a'b\c"), r"'a\'b\\c'");
    assert_eq!(quoted_name("a`b\\"), r"`a\`b\\`");
}

proptest! {
    #[test]
    fn no_text_makes_the_cutter_panic(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        Statement::of(&text);
    }

    #[test]
    fn no_statement_like_text_is_cut_out_of_bounds(
        words in proptest::collection::vec("(INSERT|INTO|t|VALUES|FORMAT|CSV|SELECT|'|`|\\(|\\)|\\{|;|--|\n|/\\*|\\*/|\\$|\\\\|=|\\.)", 0..20)
    ) {
        let text = words.join(" ");
        match Statement::of(text.as_bytes()) {
            Statement::Insert { head, rows_at, .. } => prop_assert!(head.end <= text.len() && rows_at <= text.len()),
            Statement::Other(other) => {
                other.writing_to(text.as_bytes(), "/x", "TSV");
            }
        }
    }

    #[test]
    fn a_quoted_text_is_one_word(text in ".{0,40}") {
        let quoted = quoted_text(&text);
        let mut words = Words::new(quoted.as_bytes());
        let word = words.next().unwrap();
        prop_assert_eq!((word.place.start, word.place.end), (0, quoted.len()));
        prop_assert!(words.next().is_none());
    }
}
