//! Generated and mutated statements of a caller beside a workspace that it must not see. `MILLRACE_SQL_STATEMENTS` says how
//! many (a million by hand), `MILLRACE_SQL_SEED` repeats a run.

use futures_util::{StreamExt as _, stream};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};
use serde_json::json;

use super::{
    fixture::{Sql, track},
    walls::Canary,
};
use crate::kit::{Workspace, server};

const STATEMENTS: usize = 2_000;
/// Calls with extreme values.
const EXTREME_STATEMENTS: usize = 300;
/// The first of the choices below.
const USUAL: usize = 6;
/// Statements at a time; a key may have as many.
const AT_A_TIME: usize = 4;

/// What statements are made of. `$t` is a table, `$c` a column, `$f` a function, `$x` the text that must not be seen.
const SHAPES: &[&str] = &[
    "SELECT * FROM $t",
    "SELECT $c FROM $t WHERE $c LIKE '%$x%'",
    "SELECT $f($c) FROM $t",
    "SELECT count(), $f(max($c)) FROM $t GROUP BY $c",
    "SELECT * FROM $t AS a JOIN $t AS b ON a.$c = b.$c",
    "SELECT * FROM $t WHERE $c IN (SELECT $c FROM $t)",
    "SELECT * FROM $t WHERE throwIf(position(toString($c), '$x') > 0) = 0",
    "SELECT * FROM $t UNION ALL SELECT * FROM $t",
    "WITH x AS (SELECT * FROM $t) SELECT * FROM x, $t",
    "SELECT (SELECT any($c) FROM $t), $f($c) FROM $t",
    "SELECT arrayMap($f, [$c]) FROM $t",
    "SELECT * APPLY $f FROM $t",
    "SELECT * APPLY(y -> $f(y)) FROM $t",
    "SELECT COLUMNS('.*') EXCEPT $c FROM $t",
    "SELECT * REPLACE($f($c) AS $c) FROM $t",
    "SELECT * FROM $f($t)",
    "SELECT * FROM $f('millrace', '$t')",
    "SELECT * FROM (SELECT * FROM $t SETTINGS additional_table_filters = {}, log_comment = 'x')",
    "SELECT * FROM $t SETTINGS readonly = 0, final = 1",
    "SELECT * FROM $t FINAL SAMPLE 1/2 PREWHERE $f($c) = 1",
    "SELECT $c, row_number() OVER (PARTITION BY $f($c)) FROM $t ORDER BY 1 LIMIT 5 BY $c",
    "EXPLAIN SELECT * FROM $t WHERE $f($c) = '$x'",
    "EXPLAIN ESTIMATE SELECT * FROM $t",
    "DESCRIBE TABLE $t",
    "DESCRIBE (SELECT $f($c) FROM $t)",
    "EXISTS TABLE $t",
    "SHOW TABLES FROM $t",
    "SHOW CREATE TABLE $t",
    "INSERT INTO $t SELECT * FROM $t",
    "CREATE TABLE q AS $t",
    "SELECT dictGet('$t', '$c', 1), joinGet('$t', '$c', 1)",
    "SELECT * FROM $t INTO OUTFILE '/tmp/millrace-sql-mutation'",
    "SELECT currentDatabase(), $f(), version() FROM $t",
    "SELECT {p:String} FROM {t:Identifier} WHERE $c = {p:String}",
    "SELECT * FROM $t ARRAY JOIN [1, 2] AS n WHERE $c ILIKE '%canary%'",
    "SELECT uniq($c), topK(10)($c), groupArray($c), anyHeavy($c) FROM $t",
];
const TABLES: &[&str] = &[
    "events",
    "orders",
    "people",
    "messages",
    "message_events",
    "campaigns",
    "millrace.events",
    "millrace.people",
    "`millrace`.`events`",
    "millrace_sql.events",
    "millrace_sql_plain.events",
    "millrace.timeline",
    "millrace.identities",
    "millrace.message_outcomes",
    "timeline",
    "identities",
    "system.processes",
    "system.parts",
    "system.tables",
    "system.columns",
    "system.errors",
    "system.query_log",
    "system.stack_trace",
    "system.one",
    "system.numbers",
    "system.settings",
    "system.functions",
    "information_schema.tables",
    "\"system\".\"processes\"",
    "numbers(3)",
    "merge('millrace', 'events')",
    "remote('127.0.0.1', millrace.events)",
    "file('/etc/passwd')",
    "mergeTreeIndex(millrace, events)",
    "url('http://127.0.0.1/')",
    "(SELECT * FROM millrace.events)",
    "`millrace.events`",
    "default.events",
    "_table_function.x",
    "loop(millrace.events)",
    "view(SELECT * FROM events)",
    "executable('ls', TSV, 'x String')",
    "cluster('default', millrace.events)",
    "eval('SELECT 1')",
];
const COLUMNS: &[&str] = &[
    "event_id",
    "person_id",
    "properties",
    "user_id",
    "workspace_id",
    "email",
    "external_id",
    "attributes",
    "name",
    "reason",
    "query",
    "seq",
    "version",
    "_part",
    "_table",
    "order_id",
    "events.event_id",
    "millrace.events.user_id",
    "numbers",
    "number",
    "dummy",
    "create_table_query",
    "last_error_message",
    "Settings",
];
const FUNCTIONS: &[&str] = &[
    "toString",
    "upper",
    "length",
    "max",
    "hex",
    "identity",
    "file",
    "getSetting",
    "getMacro",
    "hostName",
    "throwIf",
    "toUInt64",
    "dictGetString",
    "joinGet",
    "currentUser",
    "sleep",
    "hasColumnInTable",
    "getServerPort",
    "initializeAggregation",
    "sumIf",
    "JSONExtractString",
    "base64Encode",
    "materialize",
    "catboostEvaluate",
    "addressToLine",
    "`file`",
    "\"hostName\"",
    "FILE",
    "filesystemCapacity",
    "getServerSetting",
    "aiGenerate",
    "globalVariable",
    "merge",
    "remote",
    "view",
    "currentDatabase",
    "__getScalar",
    "showCertificate",
    "arrayJoin",
    "lambda",
];
/// Values that are deep, long or extreme, for functions that take one or several.
const EXTREMES: &[&str] = &[
    "concat(repeat('{\"a\":', 40000), '1', repeat('}', 40000))",
    "materialize(concat(repeat('{\"a\":', 40000), '1', repeat('}', 40000)))",
    "concat(repeat('[', 100000), repeat(']', 100000))",
    "materialize(repeat('[', 100000))",
    "concat(repeat('(', 1000), 'a', repeat(')*', 1000))",
    "concat('GEOMETRYCOLLECTION', repeat('(GEOMETRYCOLLECTION', 20000))",
    "concat(repeat('Array(', 20000), 'UInt8', repeat(')', 20000))",
    "repeat('<div>', 100000)",
    "repeat('%', 100000)",
    "unhex(repeat('ff', 1000))",
    "'{}'",
    "'$.a'",
    "nan",
    "-inf",
    "1e308",
    "-1",
    "9223372036854775807",
    "NULL",
    "[nan, inf]",
    "[[[[]]]]",
    "map('a', 1)",
    "(1, 'a')",
];
/// Functions that take such values apart.
const OF_EXTREMES: &[&str] = &[
    "JSONExtractRaw",
    "JSONExtractKeysAndValuesRaw",
    "JSONMergePatch",
    "jsonMergePatch",
    "JSON_VALUE",
    "JSON_QUERY",
    "JSON_EXISTS",
    "JSONLength",
    "JSONType",
    "isValidJSON",
    "prettyPrintJSON",
    "toJSONString",
    "simpleJSONExtractRaw",
    "visitParamExtractRaw",
    "extractKeyValuePairs",
    "extractTextFromHTML",
    "readWKT",
    "parseReadableSizeOrNull",
    "normalizeQuery",
    "tokens",
    "URLHierarchy",
    "mapFromString",
    "arrayFlatten",
    "toTypeName",
    "base58Decode",
];

/// One call of a function with values that could end the engine.
fn extreme(random: &mut StdRng) -> String {
    let values: Vec<&str> =
        (0..random.random_range(1..4)).map(|_| *EXTREMES.choose(random).unwrap()).collect();
    let function = OF_EXTREMES.choose(random).unwrap();
    format!("SELECT ignore({function}({}))", values.join(", "))
}

/// What is put between words.
const INSERTED: &[&str] = &[
    "/**/",
    "--\n",
    " ",
    "(",
    ")",
    "'",
    "`",
    "\"",
    "\\",
    ";",
    "AS",
    ".",
    ",",
    "*",
    "millrace",
    "system",
    "FORMAT",
    "SETTINGS",
    "SETTINGS max_threads=1",
    "SETTINGS log_comment = 'millrace-sql:'",
    "{t:Identifier}",
    "UNION ALL",
    "file",
    "'/etc/passwd'",
    "NULL",
    "1",
    "#!",
    "\u{a0}",
    "“",
    "$$",
    "@@hostname",
    "0x",
    "{",
    "}",
    "?",
    "::String",
    "FROM",
    "WHERE",
    "OR 1",
    "IN",
    "GLOBAL",
    "FINAL",
    "APPLY",
    "->",
    "SELECT",
    "millrace_sql.",
    "INTO OUTFILE",
    "EXPLAIN",
];

/// One statement, made of parts and mutated half of the time.
fn statement(random: &mut StdRng, text: &str) -> String {
    let mut made = (*SHAPES.choose(random).unwrap()).to_owned();
    for (mark, choices) in [("$t", TABLES), ("$c", COLUMNS), ("$f", FUNCTIONS)] {
        while made.contains(mark) {
            made = made.replacen(mark, chosen(random, choices), 1);
        }
    }
    made = made.replace("$x", text);
    if random.random_bool(0.5) {
        for _ in 0..random.random_range(1..4) {
            made = mutated(random, &made);
        }
    }
    made
}

/// Half of the time one of the first, which may be asked for: statements that are all refused prove little.
fn chosen<'a>(random: &mut StdRng, choices: &[&'a str]) -> &'a str {
    let first = choices.get(..USUAL).unwrap();
    let among = if random.random_bool(0.5) { first } else { choices };
    among.choose(random).unwrap()
}

fn mutated(random: &mut StdRng, made: &str) -> String {
    let mut words: Vec<String> =
        made.split_inclusive([' ', '(', ')', ',', '.']).map(str::to_owned).collect();
    let at = random.random_range(0..words.len());
    let other = random.random_range(0..words.len());
    match random.random_range(0..6) {
        0 => words.insert(at, (*INSERTED.choose(random).unwrap()).to_owned()),
        1 => drop(words.remove(at)),
        2 => words.swap(at, other),
        3 => {
            let copy = words[other].clone();
            words[at] = copy;
        }
        4 => words[at] = words[at].to_uppercase(),
        _ => {
            let mut characters: Vec<char> = words[at].chars().collect();
            if !characters.is_empty() {
                let place = random.random_range(0..characters.len());
                let inserted = INSERTED.choose(random).unwrap();
                characters.splice(place..=place, inserted.chars());
            }
            words[at] = characters.into_iter().collect();
        }
    }
    words.concat()
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[tokio::test]
async fn no_deep_or_extreme_value_ends_the_engine() {
    let seed = number("MILLRACE_SQL_SEED").unwrap_or_else(|| rand::rng().random());
    let count = number("MILLRACE_SQL_STATEMENTS").map_or(EXTREME_STATEMENTS, |it| it as usize);
    eprintln!("seed of extreme values: MILLRACE_SQL_SEED={seed}");
    let sql = Sql::of(&Workspace::new().await).await;
    let mut random = StdRng::seed_from_u64(seed);
    let statements: Vec<String> = (0..count).map(|_| extreme(&mut random)).collect();
    let answered = stream::iter(&statements).map(|statement| {
        let sql = &sql;
        async move {
            let answer = sql.ask_with(statement, &[("max_execution_time", "5")]).await;
            // 210: the engine broke off its answer, or is away.
            assert_ne!(answer.code(), 210, "{statement}: {}", answer.text);
            assert!(
                answer.status == 200 || answer.text.starts_with("Code: "),
                "{statement}\n{}: {}",
                answer.status,
                answer.text
            );
            answer.status == 200
        }
    });
    let good =
        answered.buffer_unordered(AT_A_TIME).filter(|good| std::future::ready(*good)).count().await;
    assert!(good * 20 > count, "only {good} of {count} were answered");
    assert_eq!(sql.value("SELECT 1").await, "1");
}

#[tokio::test]
async fn no_mutated_statement_shows_anything_of_another_workspace() {
    let seed = number("MILLRACE_SQL_SEED").unwrap_or_else(|| rand::rng().random());
    let count = number("MILLRACE_SQL_STATEMENTS").map_or(STATEMENTS, |count| count as usize);
    eprintln!("seed of mutated statements: MILLRACE_SQL_SEED={seed}");
    let canary = Canary::new().await;
    let own = Workspace::new().await;
    let sql = Sql::of(&own).await;
    track(
        &own,
        &sql,
        vec![json!({"userId": "ann", "eventName": "Seen", "properties": {"note": "own"}})],
    )
    .await;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned();
    let canary_id = canary.workspace.id.uuid().to_string();
    let data_dir = server().data_dir.to_string_lossy().into_owned();
    let mut random = StdRng::seed_from_u64(seed);
    let statements: Vec<String> =
        (0..count).map(|_| statement(&mut random, &canary.text)).collect();
    let answered = stream::iter(&statements).map(|statement| {
        let (sql, canary, host) = (&sql, &canary, &host);
        let (canary_id, data_dir) = (&canary_id, &data_dir);
        async move {
            // A query that asks for the text may be answered with its own words, so the text is looked for in what is not asked.
            let params =
                [("param_p", "p"), ("param_t", "millrace.events"), ("max_execution_time", "5")];
            let answer = sql.ask_with(statement, &params).await;
            let shown = answer.text.replace(statement.as_str(), "");
            let is_own_words = statement.contains(&canary.text) && answer.status != 200;
            let forbidden = [
                (canary.text.as_str(), !is_own_words && !statement.contains(&canary.text)),
                // Of every text of the other workspace, and of no statement.
                ("730915286", true),
                ("00000000000000000000ca0a", true),
                ("root:x:0", true),
                (canary_id, true),
                (data_dir, true),
                (host, host.len() > 3 && !host.contains("millrace")),
            ];
            for (text, is_looked_for) in forbidden {
                assert!(
                    !is_looked_for || !shown.contains(text),
                    "{statement}\n{text}: {}",
                    answer.text
                );
            }
            assert!(
                answer.status == 200 || answer.text.starts_with("Code: "),
                "{statement}\n{}: {}",
                answer.status,
                answer.text
            );
            assert_ne!(answer.code(), 210, "{statement}: {}", answer.text);
            answer.status == 200
        }
    });
    let good =
        answered.buffer_unordered(AT_A_TIME).filter(|good| std::future::ready(*good)).count().await;
    eprintln!("{good} of {count} statements were answered");
    // Statements that are all refused would prove little.
    assert!(good * 20 > count, "only {good} of {count} were answered");
    assert!(!std::path::Path::new("/tmp/millrace-sql-mutation").exists());
    // The other workspace still has what it had, and the engine lives.
    assert_eq!(canary.sql.value("SELECT count() FROM events").await, "20");
    assert_eq!(sql.value("SELECT count() FROM events").await, "1");
}
