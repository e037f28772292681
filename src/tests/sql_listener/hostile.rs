//! Statements of callers who try to get past the walls, one way each, beside a workspace that they must not see.

use super::{
    fixture::{Sql, track},
    walls::Canary,
};
use crate::kit::{Workspace, server};

/// A statement that is answered. Its answer may hold nothing of others.
const ANSWERED: u32 = 0;

/// What fails for rows of others fails for none. `$x` is the text that must not be seen.
const BY_FAILURES: &[&str] = &[
    "SELECT toInt32(properties) FROM events WHERE user_id != 'ann'",
    "SELECT CAST(user_id AS UInt8) FROM events WHERE user_id LIKE '$x%'",
    "SELECT user_id::UInt8 FROM events WHERE notEmpty(order_id) AND user_id != 'ann'",
    "SELECT toUUID(order_id) FROM orders WHERE order_id != 'own'",
    "SELECT CAST(event_name, 'Enum8(\\'Order Completed\\' = 1)') FROM events",
    "SELECT accurateCast(event_name, 'Enum8(\\'Order Completed\\' = 1)') FROM events GROUP BY event_name",
    "SELECT arrayElement([1, 2], toUInt8(user_id)) FROM events WHERE user_id != 'ann'",
    "SELECT throwIf(JSONExtractString(properties, 'note') = '$x') FROM events",
    "SELECT throwIf(numbers['total'] > 730915286) FROM events",
    "SELECT intDiv(1, revenue < 730915286) FROM orders",
    "SELECT parseDateTimeBestEffort(properties) FROM events WHERE user_id != 'ann'",
    "SELECT count() FROM events AS e ANY LEFT JOIN orders AS o ON throwIf(o.order_id LIKE '$x%') = 0 AND e.order_id = o.order_id",
    "SELECT count() FROM events ASOF JOIN orders USING (currency, timestamp) WHERE throwIf(orders.order_id LIKE '$x%') = 0",
    "SELECT count() FROM orders AS a CROSS JOIN people AS b WHERE throwIf(b.email = '$x') = 0",
    "SELECT throwIf((SELECT max(revenue) FROM orders) > 730915286)",
    "WITH (SELECT groupArray(user_id) FROM events) AS x SELECT throwIf(has(x, '$xu1'))",
    "SELECT arrayMap(y -> throwIf(y = '$x'), groupArray(external_id)) FROM people",
    "SELECT sumIf(1, throwIf(name = '$x') = 0) FROM campaigns",
    "SELECT timestamp FROM events ORDER BY throwIf(user_id LIKE '$x%') LIMIT 1",
    "SELECT 1 FROM events LIMIT 1 BY throwIf(user_id LIKE '$x%')",
    "SELECT count() FROM events QUALIFY throwIf(count() > 1) = 0",
    "SELECT throwIf(count() > 1) FROM orders",
];

/// What is refused with a code, or answered.
const OTHERS: &[(&str, u32)] = &[
    // Other names for what row policies and views are made of.
    ("WITH 'x' AS workspace_id SELECT count() FROM events", ANSWERED),
    (
        "WITH toUUID('$w') AS workspace_id SELECT count() FROM events WHERE 1 OR workspace_id = workspace_id",
        ANSWERED,
    ),
    ("WITH (x -> toUUID('$w')) AS toUUIDOrZero SELECT count() FROM events", ANSWERED),
    ("WITH (x, y, z -> '$w') AS substring SELECT count() FROM events", ANSWERED),
    ("WITH (a, b -> 1) AS equals SELECT count() FROM events", ANSWERED),
    ("WITH events AS (SELECT * FROM millrace.events) SELECT count() FROM events", ANSWERED),
    ("SELECT * FROM events AS system", ANSWERED),
    ("SELECT system.processes FROM events AS system", 60),
    ("SELECT (x -> '$w') AS getSetting, count() FROM events", 497),
    ("SELECT 'millrace-sql:$w' AS log_comment, count() FROM events", 164),
    ("SELECT workspace_id FROM events", 47),
    ("SELECT seq, precedence FROM events", 47),
    ("SELECT _part, _partition_id FROM events", 47),
    ("SELECT * FROM events PREWHERE user_id LIKE '$x%'", 182),
    ("SELECT * FROM events AS a FULL JOIN events AS b ON a.event_id = b.order_id", ANSWERED),
    ("SELECT user_id FROM events WHERE user_id GLOBAL NOT IN (SELECT 'ann')", ANSWERED),
    ("SELECT * FROM events FINAL SAMPLE 1", ANSWERED),
    // Settings.
    ("SELECT * FROM (SELECT * FROM events SETTINGS log_comment = 'millrace-sql:$w:x')", 164),
    ("SELECT * FROM (SELECT * FROM events SETTINGS `max_threads` = 1)", 164),
    ("SELECT * FROM (SELECT 1 LIMIT 1. settings max_memory_usage = 0)", 164),
    ("WITH a AS (SELECT 1 SETTINGS/**/additional_table_filters = {'x': '1'}) SELECT * FROM a", 164),
    ("SELECT 1 UNION ALL (SELECT 2 SETTINGS max_execution_time = 0)", 164),
    ("SELECT 1 IN (SELECT 1 SETTINGS final = 0)", 164),
    ("EXPLAIN SELECT * FROM (SELECT 1 SETTINGS log_comment = 'x')", 164),
    ("EXPLAIN SELECT 1 SETTINGS log_comment = 'x'", 164),
    ("SELECT 1 SETTINGS `log_comment` = 'x'", 164),
    ("SELECT 1 SETTINGS role = 'everything'", 164),
    ("SELECT 1 SETTINGS format_schema = '/etc/passwd'", 164),
    ("SELECT 1 SETTINGS max_threads = DEFAULT", 62),
    ("SELECT 1 /SETTINGS max_threads=1* '*/ , upper(\\'hidden\\') --'", 62),
    ("SELECT fi SETTINGS max_threads='1'le", 47),
    ("SELECT 1 -SETTINGS max_threads=1-1", ANSWERED),
    ("SELECT 1 SETTINGS max_execution_time = 1e9", 452),
    ("SELECT 1 SETTINGS max_memory_usage = 0", 452),
    ("SELECT 1 SETTINGS max_threads = 0x7fffffff", 452),
    // What the engine's tree does not have.
    (
        "SELECT * APPLY(x -> (SELECT groupArray(user_id) FROM events SETTINGS log_comment = 'millrace-sql:$w:x')) FROM numbers(1)",
        164,
    ),
    ("SELECT * APPLY(x -> (SELECT count() FROM events)) FROM numbers(1)", 497),
    ("SELECT * APPLY lambda(tuple(x), upper(x)) FROM (SELECT 'a' AS x)", 497),
    ("SELECT * APPLY(quantile((SELECT count() FROM events))) FROM numbers(1)", 497),
    ("SELECT * APPLY(quantile(0.5)) FROM numbers(3)", ANSWERED),
    // Functions behind another name, in every place.
    ("WITH file AS f SELECT f('/etc/passwd')", 497),
    ("WITH (x -> file(x)) AS f SELECT f('/etc/passwd')", 497),
    ("SELECT arrayMap(lambda(tuple(x), file(x)), ['/etc/passwd'])", 497),
    ("SELECT arrayFold((acc, x) -> file(x), ['/etc/passwd'], '')", 497),
    ("SELECT * APPLY(toString) APPLY(file) FROM (SELECT '/etc/passwd' AS x)", 497),
    ("SELECT * APPLY lambda(tuple(x), file(x)) FROM (SELECT '/etc/passwd' AS x)", 497),
    ("SELECT COLUMNS('x') APPLY `file` FROM (SELECT '/etc/passwd' AS x)", 497),
    ("SELECT {f:Identifier}('/etc/passwd')", 497),
    ("SELECT arrayMap({f:Identifier}, ['/etc/passwd'])", 497),
    ("SELECT arrayReduce('file', ['/etc/passwd'])", 63),
    ("SELECT file -- x\n('/etc/passwd')", 497),
    ("SELECT fi/**/le('/etc/passwd')", 497),
    ("SELECT [file('/etc/passwd')], {'a': file('/etc/passwd')}", 497),
    ("SELECT 1 LIMIT length(file('/etc/passwd'))", 497),
    ("SELECT 1 FROM numbers(length(file('/etc/passwd')))", 497),
    ("SELECT 1 WINDOW w AS (PARTITION BY file('/etc/passwd'))", 497),
    ("SELECT INTERVAL file('/etc/passwd') DAY", 497),
    ("SELECT EXTRACT(DAY FROM toDate(file('/etc/passwd')))", 497),
    ("SELECT DATE_ADD(DAY, length(file('/etc/passwd')), now())", 497),
    ("SELECT TRIM(BOTH file('/etc/passwd') FROM 'x')", 497),
    ("SELECT CASE WHEN file('/etc/passwd') = '' THEN 1 END", 497),
    ("SELECT \u{fb01}le('/etc/passwd')", 62),
    ("SELECT file\u{200b}('/etc/passwd')", 62),
    ("SELECT `fi\\x6ce`('/etc/passwd')", 62),
    ("SELECT 1 AS `x\\`, file('/etc/passwd') AS y`", 62),
    ("SELECT $file$/etc/passwd$file$", 62),
    ("SELECT /* /* */ 1 */ file('/etc/passwd')", 497),
    ("SELECT catboostEvaluate('/etc/passwd', 1)", 497),
    ("SELECT dictGetOrDefault('a', 'b', toUInt64(1), 'x')", 497),
    ("SELECT currentRoles(), enabledRoles(), currentProfiles()", 497),
    ("SELECT getClientHTTPHeader('authorization')", 497),
    ("SELECT serverUUID(), tcpPort(), queryID()", 497),
    ("SELECT filesystemCapacity(), getOSKernelVersion()", 497),
    ("SELECT globalVariable('hostname')", 497),
    ("SELECT formatRow('CapnProto', 1)", 73),
    // Tables and table functions.
    ("SELECT * FROM {db:Identifier}.processes", 60),
    ("SELECT * FROM {t:Identifier}", 60),
    ("SELECT * FROM `system.processes`", 60),
    ("SELECT * FROM SYSTEM.processes", 60),
    ("SELECT * FROM system . /* x */ \"processes\"", 60),
    ("FROM system.processes SELECT *", 60),
    ("((SELECT * FROM system.processes))", 60),
    ("SELECT 1 IN system.processes", 60),
    ("SELECT in('x', system.processes)", 60),
    ("SELECT in('x', 'system.processes')", ANSWERED),
    ("SELECT x IN millrace_sql.events FROM events", 60),
    ("SELECT EXISTS(SELECT * FROM system.row_policies)", 60),
    ("SELECT 1 LIMIT (SELECT count() FROM system.parts)", 60),
    ("SELECT * FROM events EXCEPT SELECT * FROM millrace_sql_plain.events", 60),
    ("SELECT * FROM `INFORMATION_SCHEMA`.`TABLES`", 60),
    ("SELECT * FROM _temporary_and_external_tables.x", 60),
    ("SELECT * FROM millrace.events.user_id", 62),
    ("SELECT * FROM (EXPLAIN ESTIMATE SELECT * FROM events)", 497),
    ("SELECT * FROM (DESCRIBE system.processes)", 60),
    ("SELECT * FROM view(SELECT * FROM events)", 497),
    ("SELECT * FROM viewExplain('EXPLAIN', '', (SELECT 1))", 497),
    (
        "SELECT * FROM numbers(3) AS a JOIN url('http://127.0.0.1', TSV, 'number UInt64') AS b USING number",
        497,
    ),
    ("SELECT * FROM values('a String', 'b'), file('/etc/passwd', LineAsString)", 497),
    ("SELECT * FROM clusterAllReplicas('default', millrace.events)", 497),
    ("SELECT * FROM filesystem('/')", 497),
    ("SELECT * FROM sqlite('/tmp/x.db', 'y')", 497),
    ("SELECT * FROM loop(events)", 497),
    ("SELECT * FROM dictionary('x')", 497),
    ("SELECT * FROM format(JSONEachRow, '{\"a\": 1}')", 497),
    ("SELECT name FROM system.functions WHERE create_query != ''", ANSWERED),
    ("SELECT * FROM system.settings WHERE name IN ('log_comment', 'readonly')", ANSWERED),
    ("SELECT * FROM system.tables", ANSWERED),
    (
        "SELECT * FROM system.columns WHERE table NOT IN ('events', 'orders', 'people', 'messages', 'message_events', 'campaigns')",
        ANSWERED,
    ),
    // Statements of other kinds, and several of them.
    ("WITH x AS (SELECT 1) INSERT INTO events SELECT 1", 497),
    ("FROM events INSERT INTO events", 62),
    ("PARALLEL WITH SELECT 1", 164),
    ("EXECUTE AS millrace_sql_definer SELECT 1", 164),
    ("CREATE FUNCTION f AS x -> file(x)", 164),
    ("SET param_x = 1", 164),
    ("SELECT 1 ;; SELECT 2", 62),
    ("SELECT 1 /*/ + 1", 62),
    ("SELECT 'a\\'; DROP TABLE events; --'", ANSWERED),
    ("SELECT 1 FORMAT Template FORMAT JSON", 62),
    ("SELECT 1 FORMAT TSV INTO/**/OUTFILE '/tmp/millrace-sql-hostile'", 497),
    ("EXPLAIN actions = 1, indexes = 1 SELECT * FROM events", 497),
    ("EXPLAIN QUERY TREE dump_ast = 1 SELECT 1", 497),
    ("EXPLAIN AST SELECT file('/etc/passwd')", 497),
    ("EXPLAIN SYNTAX SELECT * FROM file('/etc/passwd', LineAsString)", 497),
    ("EXPLAIN QUERY TREE SELECT * FROM events", ANSWERED),
    ("EXPLAIN SELECT * FROM events WHERE user_id LIKE '$x%'", ANSWERED),
    ("DESCRIBE file('/etc/passwd')", 62),
    ("DESCRIBE TABLE (SELECT file('/etc/passwd') AS x)", 497),
    ("DESCRIBE (SELECT * FROM system.processes)", 60),
    ("SHOW TABLES LIKE '%' OR 1", 62),
    ("SHOW TABLES FROM system WHERE 1", 62),
    ("SHOW COLUMNS FROM processes FROM system", 60),
    ("SHOW SETTINGS", 497),
    ("SHOW POLICIES", 497),
    // More than there is.
    ("SELECT repeat('x', 1000000000)", 241),
    ("SELECT range(100000000000)", 69),
    ("SELECT arrayWithConstant(1000000000, 'xxxxxxxxxxxx')", 128),
    ("SELECT toFixedString('x', 100000000000)", 69),
    ("SELECT count() FROM numbers(100000000) AS a CROSS JOIN numbers(100000000) AS b", TOO_LONG),
    ("SELECT * FROM numbers(20000000) FORMAT Null", 396),
    // States of aggregate functions that are the caller's bytes.
    ("SELECT CAST(unhex('00'), 'AggregateFunction(groupBitmap, UInt64)')", 497),
    ("SELECT finalizeAggregation(CAST('x', 'AggregateFunction(uniqExact, UInt64)'))", 497),
    (
        "SELECT finalizeAggregation(unhex('0113ff')::AggregateFunction(mannWhitneyUTest, UInt8, UInt8))",
        497,
    ),
    ("SELECT CAST('x', concat('Aggregate', 'Function(sum, UInt64)'))", 497),
    ("WITH concat('Aggregate', 'Function(sum, UInt64)') AS t SELECT cast('x', t)", 497),
    ("SELECT accurateCast('x', 'Aggregate\\x46unction(sum, UInt64)')", 497),
    ("SELECT _CAST('x', '`Aggregate\\\\x46unction`(sum, UInt64)')", 497),
    ("SELECT CAST(('x', 1), 'Tuple(children AggregateFunction(sum, UInt64), b UInt8)')", 497),
    ("SELECT arrayMap(x -> CAST(x, concat('Aggregate', 'Function(sum, UInt64)')), ['x'])", 497),
    ("SELECT {f:AggregateFunction(sum, UInt64)}", 497),
    (
        "SELECT finalizeAggregation(initializeAggregation('sumState', 1)), CAST(1 AS String)",
        ANSWERED,
    ),
    // Deep values: with these the engine ended.
    (DEEP_PATCH, 497),
    ("SELECT JSONMergePatch(repeat('{\"a\":', 40000))", 497),
    ("SELECT arrayMap(jsonMergePatch, ['{}'], ['{}'])", 497),
    ("SELECT * APPLY JSONMergePatch FROM (SELECT '{}' AS x)", 497),
    ("WITH `jsonMergePatch` AS f SELECT f('{}', '{}')", 497),
    // What would look at neither its time nor a kill.
    (
        "SELECT sum(levenshteinDistance(materialize(repeat('a', 60000)), concat(repeat('b', 60000), toString(number)))) FROM numbers(60)",
        497,
    ),
    ("SELECT arrayLevenshteinDistance(range(300000), range(300000))", 497),
    ("SELECT jaroSimilarity(repeat('ab', 30000), repeat('b', 60000))", 497),
    ("SELECT multiMatchAny('a', arrayMap(x -> 'a', range(100000)))", 36),
];

/// A text in JSON so deep that taking it apart overflows a stack.
const DEEP_PATCH: &str = "SELECT length(jsonMergePatch(concat(repeat('{\"a\":', 40000), '1', repeat('}', 40000)), '{}'))";

/// The code of a statement that runs for longer than it may.
const TOO_LONG: u32 = 159;

/// Parameters of a statement; one that ends by itself has time on a busy machine.
fn params(code: u32) -> [(&'static str, &'static str); 5] {
    [
        ("param_f", "file"),
        ("param_t", "system.processes"),
        ("param_db", "system"),
        ("max_execution_time", if code == TOO_LONG { "3" } else { "30" }),
        ("wait_end_of_query", "1"),
    ]
}

#[tokio::test]
async fn statements_that_try_to_get_past_the_walls_show_nothing_of_others() {
    let canary = Canary::new().await;
    let own = Workspace::new().await;
    let sql = Sql::of(&own).await;
    let order = serde_json::json!({
        "userId": "ann", "eventName": "Order Completed", "timestamp": "2026-01-02T03:04:05Z",
        "properties": {"orderId": "own", "total": 5, "currency": "EUR"},
    });
    track(&own, &sql, vec![order]).await;
    canary.beside(&own).await;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned();
    let data_dir = server().data_dir.to_string_lossy().into_owned();
    let its_id = canary.workspace.id.uuid().to_string();
    let failing = BY_FAILURES.iter().map(|statement| (*statement, ANSWERED));
    for (statement, code) in failing.chain(OTHERS.iter().copied()) {
        let statement = statement.replace("$x", &canary.text).replace("$w", &its_id);
        let answer = sql.ask_with(&statement, &params(code)).await;
        assert_eq!(answer.code(), code, "{statement}: {}", answer.text);
        assert_eq!(answer.status == 200, code == ANSWERED, "{statement}: {}", answer.text);
        // A refusal and a plan repeat words of the statement; whole values of others are in neither.
        let repeats = statement.contains(&canary.text);
        let user = format!("{}u", canary.text);
        let forbidden = [
            (canary.text.clone(), !repeats),
            (user.clone(), !statement.contains(&user)),
            ("730915286".to_owned(), !statement.contains("730915286")),
            ("00000000000000000000ca0a".to_owned(), true),
            (its_id.clone(), !statement.contains(&its_id)),
            ("root:x:0".to_owned(), true),
            (data_dir.clone(), true),
            (host.clone(), host.len() > 3 && !host.contains("millrace")),
        ];
        for (text, is_looked_for) in forbidden {
            let is_shown = is_looked_for && answer.text.contains(&text);
            assert!(!is_shown, "{statement}\n{text}: {}", answer.text);
        }
    }
    // For the owner of the rows those that look for failures do fail: they are tried on something.
    let mut failed = 0;
    for statement in BY_FAILURES {
        let statement = statement.replace("$x", &canary.text);
        let answer = canary.sql.ask_with(&statement, &params(ANSWERED)).await;
        failed += usize::from(answer.status != 200);
    }
    assert_eq!(failed, BY_FAILURES.len());
    assert!(!std::path::Path::new("/tmp/millrace-sql-hostile").exists());
    assert_eq!(canary.sql.value("SELECT count() FROM events").await, "20");
}
