//! Statements that may run, as the engine gets them, and those that may not.

use proptest::prelude::*;

use super::*;

fn read_with(text: &str, params: &[(&str, &str)]) -> Result<Statement, Fault> {
    let databases = ViewDatabases::of("millrace");
    let denied = Denied::of(["file", "getMacro", "user", "hostName"].map(str::to_owned));
    let params = params
        .iter()
        .map(|(name, value)| Param { name: (*name).to_owned(), value: (*value).to_owned() })
        .collect();
    Statement::read(text, params, Reach { databases: &databases, denied: &denied })
}

fn read(text: &str) -> Result<Statement, Fault> {
    read_with(text, &[])
}

fn text(statement: &str) -> String {
    read(statement).unwrap().text
}

fn code(statement: &str) -> Code {
    read(statement).unwrap_err().code
}

#[test]
fn names_of_databases_become_those_of_the_views() {
    for (asked, expected) in [
        ("SELECT person_id FROM millrace.events;", "SELECT person_id FROM `millrace_sql`.events"),
        ("SELECT 1 FROM `millrace`.\"events\"", "SELECT 1 FROM `millrace_sql_plain`.`events`"),
        (
            "SELECT millrace.events.event_id FROM millrace . events -- x",
            "SELECT `millrace_sql_plain`.events.event_id FROM `millrace_sql_plain` . events",
        ),
        ("SELECT 1 FROM system.tables", "SELECT 1 FROM `millrace_sql_system`.tables"),
        ("SELECT 1 FROM system.functions", "SELECT 1 FROM system.functions"),
        ("SELECT e.millrace.x FROM events e", "SELECT e.millrace.x FROM events e"),
        (
            "SELECT currentDatabase(), version()",
            "SELECT ('millrace' AS `currentDatabase()`), version()",
        ),
        ("SELECT upper(database()) AS d", "SELECT upper('millrace') AS d"),
        (
            "SHOW DATABASES",
            "SELECT name FROM `millrace_sql_system`.databases WHERE 1 ORDER BY name",
        ),
        ("DESC millrace.events", "DESCRIBE TABLE `millrace_sql`.`events`"),
        ("EXISTS TABLE nothing", "SELECT toUInt8(0) AS result"),
        ("EXISTS millrace.people", "SELECT toUInt8(1) AS result"),
        ("EXPLAIN SELECT 1", "EXPLAIN PLAN SELECT 1"),
        ("explain query tree select 1", "EXPLAIN QUERY TREE select 1"),
    ] {
        assert_eq!(text(asked), expected, "{asked}");
    }
}

#[test]
fn views_with_people_are_joined_only_where_a_person_can_be_meant() {
    let plain = |statement| read(statement).unwrap().database == "millrace_sql_plain";
    for statement in [
        "SELECT count(*) FROM events",
        "SELECT count() FROM events",
        "SELECT Count (*) FROM events",
        "SELECT 2*3, (1)*2, x[1]*2 FROM events",
        "SELECT abs(revenue)*2, sum(abs(1)+(2))*x FROM events",
    ] {
        assert!(plain(statement), "{statement}");
    }
    for statement in [
        "SELECT * FROM events",
        "SELECT e.* FROM events AS e",
        "SELECT TOP 5 * FROM events",
        "SELECT TOP 5 WITH TIES * FROM events ORDER BY 1",
        "SELECT DISTINCT ON (user_id, (event_name)) * FROM events",
        "SELECT tuple(*) FROM events",
        "SELECT sum(cityHash64(*)) FROM events",
        "SELECT count(DISTINCT *) FROM events",
        "SELECT `person_id` FROM events",
        "SELECT COLUMNS('p') FROM events",
        "SELECT 1 FROM events NATURAL JOIN people",
    ] {
        assert!(!plain(statement), "{statement}");
    }
}

#[test]
fn functions_are_applied_by_their_names() {
    for statement in [
        "SELECT * APPLY toString FROM x",
        "SELECT * APPLY(sum) FROM x",
        "SELECT COLUMNS('a') APPLY(quantile(0.5)) APPLY(round) FROM x",
        "SELECT * APPLY(quantiles(0.5, -1.5, 'a')) FROM x",
    ] {
        assert_eq!(text(statement), statement);
    }
}

#[test]
fn settings_and_formats_are_taken_out() {
    let statement = read(
        "SELECT 1 SETTINGS max_threads = 1, join_use_nulls=true, x = -1.5, y = 'a\\'b' FORMAT JSON",
    )
    .unwrap();
    assert_eq!((statement.text.as_str(), statement.format.as_deref()), ("SELECT 1", Some("JSON")));
    let settings: Vec<_> =
        statement.settings.iter().map(|it| (it.name.as_str(), it.value.as_str())).collect();
    assert_eq!(
        settings,
        [("max_threads", "1"), ("join_use_nulls", "1"), ("x", "-1.5"), ("y", "a'b")]
    );
    assert_eq!(code("SELECT 1 SETTINGS additional_table_filters = {'a': 'b'}"), Code::SyntaxError);
    for statement in [
        "SELECT 1 FROM (SELECT 2 SETTINGS max_threads = 1)",
        "SELECT 1 FROM (SELECT 2 settings/**/`max_threads`=1)",
        "SELECT 1 FROM (SELECT 2 LIMIT 1. SETTINGS max_threads = 1)",
        "SELECT (1, 2). SETTINGS max_threads FROM x",
        "SELECT `log_comment` FROM x",
        "SELECT 1 FROM x AS LOG_COMMENT",
    ] {
        assert_eq!(code(statement), Code::Readonly, "{statement}");
    }
    assert_eq!(text("SELECT `settings` , settings.name"), "SELECT `settings` , settings.name");
    // What stood around them stays apart.
    for (asked, expected) in [
        ("SELECT fi SETTINGS x='1'le", "SELECT fi le"),
        ("SELECT 1 /SETTINGS x=1* '*/ , file(1) --'", "SELECT 1 / * '*/ , file(1) --'"),
        ("SELECT 1 -SETTINGS x=1-1", "SELECT 1 - -1"),
        ("SELECT `a`SETTINGS x=1`b`", "SELECT `a` `b`"),
        ("SELECT 'a'SETTINGS x=1'b'", "SELECT 'a' 'b'"),
        ("SELECT upper(database()'b')", "SELECT upper('millrace' 'b')"),
    ] {
        assert_eq!(text(asked), expected, "{asked}");
    }
    assert_eq!(code("SELECT 1 FORMAT Template"), Code::UnknownFormat);
    assert_eq!(code("SELECT 1 FORMAT Template FORMAT JSON"), Code::SyntaxError);
    assert_eq!(text("SELECT 1 AS format FORMAT JSON"), "SELECT 1 AS format");
    assert_eq!(code("SELECT 1 INTO OUTFILE '/tmp/x'"), Code::AccessDenied);
}

#[test]
fn parameters_that_are_names_are_put_in_and_others_stay() {
    let statement = read_with(
        "SELECT {c:Identifier} FROM {t:Identifier} WHERE x = {v:String}",
        &[("c", "event_id"), ("t", "millrace.events"), ("v", "millrace.x"), ("unused", "1")],
    )
    .unwrap();
    assert_eq!(
        statement.text,
        "SELECT `event_id` FROM `millrace_sql_plain`.`events` WHERE x = {v:String}"
    );
    assert_eq!(statement.params.len(), 1);
    for hostile in ["a`b", "a\\b", "", "a..b", "system.processes"] {
        assert!(read_with("SELECT 1 FROM {t:Identifier}", &[("t", hostile)]).is_err(), "{hostile}");
    }
    assert!(read("SELECT {t:Identifier}").is_err());
}

#[test]
fn what_changes_or_reaches_beyond_is_refused() {
    for statement in [
        "INSERT INTO events VALUES (1)",
        "CREATE TABLE x (a UInt8)",
        "DROP TABLE events",
        "SET max_threads = 1",
        "SYSTEM SHUTDOWN",
        "KILL QUERY WHERE 1",
        "ALTER TABLE events DELETE WHERE 1",
        "GRANT ALL ON *.* TO x",
        "EXECUTE AS x SELECT 1",
        "SET ROLE everything",
    ] {
        assert_eq!(code(statement), Code::Readonly, "{statement}");
    }
    for statement in [
        "SELECT file('/etc/passwd')",
        "SELECT `file`('/etc/passwd')",
        "SELECT \"file\" ('/etc/passwd')",
        "SELECT file/**/('/etc/passwd')",
        "SELECT arrayMap(file, ['/etc/passwd'])",
        "SELECT * APPLY file FROM x",
        "SELECT * APPLY(x -> file(x)) FROM x",
        "SELECT * APPLY(x -> upper(x)) FROM x",
        "SELECT * APPLY x -> (SELECT 1) FROM x",
        "SELECT * APPLY((x) -> upper(x)) FROM x",
        "SELECT * APPLY(lambda(tuple(x), upper(x))) FROM x",
        "SELECT * APPLY(quantile((SELECT 1))) FROM x",
        "SELECT * APPLY(quantile(length('a'))) FROM x",
        "SELECT * APPLY(quantile([0.5])) FROM x",
        "SELECT getMacro('x')",
        "SELECT jsonMergePatch('{}', '{}')",
        "SELECT editDistance('a', 'b')",
        "SELECT x::AggregateFunction(sum, UInt64)",
        "SELECT CAST(x AS Array(AggregateFunction(sum, UInt64)))",
        "SELECT {p:AggregateFunction(sum, UInt64)}",
        "SELECT hostName()",
        "SELECT dictGet('a', 'b', 1)",
        "SELECT * FROM url('http://x', TSV)",
        "SELECT * FROM remote('x', millrace.events)",
        "SELECT * FROM merge('millrace', 'events')",
        "SELECT * FROM eval('SELECT 1')",
        "EXPLAIN ESTIMATE SELECT 1",
        "EXPLAIN PLAN indexes = 1 SELECT 1",
        "EXPLAIN INSERT INTO x VALUES (1)",
        "SHOW PROCESSLIST",
        "SHOW CREATE TABLE events",
        "SHOW GRANTS",
        "DESCRIBE (SELECT file('x'))",
    ] {
        assert_eq!(code(statement), Code::AccessDenied, "{statement}");
    }
    for statement in [
        "SELECT 1 FROM system.processes",
        "SELECT 1 FROM `system` . `processes`",
        "SELECT 1 FROM information_schema.tables",
        "SELECT 1 FROM INFORMATION_SCHEMA.tables",
        "SELECT 1 FROM millrace_sql.events",
        "DESCRIBE system.processes",
        "DESCRIBE other.events",
    ] {
        assert_eq!(code(statement), Code::UnknownTable, "{statement}");
    }
    assert_eq!(code("SELECT 1; SELECT 2"), Code::SyntaxError);
    assert_eq!(code(";"), Code::SyntaxError);
    assert_eq!(code("USE default"), Code::UnknownDatabase);
}

#[test]
fn the_engines_tree_is_checked_on_its_own() {
    let databases = ViewDatabases::of("millrace");
    let denied = Denied::of(["file".to_owned()]);
    let check = |tree: &str| {
        let reach = Reach { databases: &databases, denied: &denied };
        Tree::new(reach, 0).check(tree, &denied).map_err(|it| it.code)
    };
    for tree in [
        "SelectQuery (children 1)\n Function sum (alias s) (children 1)\n  Identifier x",
        "TableExpression (children 1)\n TableIdentifier millrace_sql.events (alias e)",
        "TableExpression (children 1)\n TableIdentifier own",
        "TableExpression (children 1)\n Function numbers (children 1)\n  ExpressionList\n   Function plus",
        "Literal 'it\\'s'",
    ] {
        assert_eq!(check(tree), Ok(()), "{tree}");
    }
    for tree in [
        "Function file (children 1)",
        "Identifier file",
        "TableExpression (children 1)\n Function merge (children 1)",
        "TableExpression (children 1)\n Function sum (children 1)",
        "ColumnsApplyTransformer",
        "InsertQuery",
        "SystemQuery",
    ] {
        assert_eq!(check(tree), Err(Code::AccessDenied), "{tree}");
    }
    for table in ["millrace.events", "system.processes", "millrace_sql.timeline", "other.x"] {
        assert_eq!(check(&format!(" TableIdentifier {table}")), Err(Code::UnknownTable), "{table}");
    }
}

#[test]
fn a_type_to_cast_to_is_a_text_and_not_that_of_states() {
    let databases = ViewDatabases::of("millrace");
    let denied = Denied::default();
    let check = |function: &str, arguments: &[&str]| {
        let reach = Reach { databases: &databases, denied: &denied };
        let arguments = arguments.join("\n  ");
        let tree = format!(
            "Function {function} (alias c) (children 1)\n ExpressionList (children 2)\n  {arguments}\n\
             Function upper (children 1)\n ExpressionList (children 2)\n  Literal 'a'\n  Identifier b"
        );
        Tree::new(reach, 0).check(&tree, &denied).map_err(|it| it.code)
    };
    let inner = "Function plus (children 1)\n   ExpressionList (children 2)\n    Identifier a\n    Identifier b";
    for arguments in [
        &["Literal 'x'", "Literal \\'Array(UInt8)\\'"] as &[_],
        &[inner, "Literal \\'UInt8\\'"],
        &["Literal 'AggregateFunction(sum, UInt8)'", "Literal \\'String\\' (alias t)"],
        &["Identifier x", "Literal \\'Enum8(\\\\\\'a b\\\\\\' = 1)\\'", inner],
    ] {
        assert_eq!(check("CAST", arguments), Ok(()), "{arguments:?}");
    }
    let upper = ["Identifier x", "Function upper", "Literal 'AggregateFunction(sum, UInt8)'"];
    assert_eq!(check("concat", &upper), Ok(()));
    for arguments in [
        &["Identifier x", "Function concat (children 1)"] as &[_],
        &["Identifier x", "Identifier t"],
        &[inner, inner],
        &["Identifier x", "Literal \\'AggregateFunction(sum, UInt8)\\'"],
        &["Identifier x", "Literal \\'Tuple(children AggregateFunction(sum, UInt8))\\'"],
        &["Identifier x", "Literal \\'`Aggregate\\\\\\\\x46unction`(sum, UInt8)\\'"],
    ] {
        for function in ["CAST", "_CAST", "accurateCast", "accurateCastOrDefault", "cast"] {
            assert_eq!(check(function, arguments), Err(Code::AccessDenied), "{arguments:?}");
        }
    }
}

#[test]
fn statements_that_differ_in_values_alone_have_one_fingerprint() {
    let print = |statement| read(statement).unwrap().fingerprint;
    assert_eq!(
        print("SELECT 1 FROM events WHERE x = 'a'"),
        print("select 22 from events where x = 'bc'")
    );
    assert_ne!(print("SELECT event_id FROM events"), print("SELECT event_name FROM events"));
}

proptest! {
    #[test]
    fn the_engine_gets_the_words_that_were_checked(
        statement in "(a|b|'|`|\"|\\(|\\)|-|/|\\*|#| |1|e|\\.|,|x\\.|;|\n|SETTINGS a=1|SETTINGS a='b'|database\\(\\)|\\{p:Identifier\\}){0,20}",
    ) {
        let asked = format!("SELECT {statement}");
        // Where a statement is taken, it is what it was checked to be.
        if let Ok(read) = read_with(&asked, &[("p", "c.d")]) {
            let again = words::cut(&read.text).unwrap();
            prop_assert_eq!(words::written(&again), read.text);
        }
    }

    #[test]
    fn nothing_makes_the_reader_panic(statement in "\\PC{0,200}") {
        let _ = read(&statement);
    }

    #[test]
    fn a_call_of_a_denied_function_is_found_wherever_it_stands(
        before in "[a-z0-9 (),*+'\"`/-]{0,30}",
        between in "(|  |/\\*x\\*/|\n|-- y\n)",
    ) {
        if let Ok(statement) = read(&format!("SELECT {before} file{between}('/etc/passwd')")) {
            // It was within quotes or behind a comment.
            let outside = words::cut(&statement.text).unwrap();
            prop_assert!(!outside.iter().any(|word| word.text == "file"), "{}", statement.text);
        }
    }
}
