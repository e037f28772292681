//! Reading targetings, refusing invalid ones, and evaluating criteria.
#![expect(
    clippy::too_many_lines,
    clippy::needless_pass_by_value,
    reason = "tables, of values written in place"
)]

use kernel::{Timestamp, fields::read_object};
use serde_json::{Value, json};

use super::*;

fn read(targeting: &Value) -> Result<Targeting, Vec<String>> {
    let object = targeting.as_object().expect("an object");
    read_object(object).map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

fn with(filter: Value) -> Value {
    json!({"filterGroups": [{"filters": [filter], "operator": "AND"}]})
}

fn refused(filter: Value) -> Vec<String> {
    match read(&with(filter.clone())) {
        Ok(_) => panic!("{filter} is not refused"),
        Err(errors) => errors
            .iter()
            .map(|error| error.strip_prefix("filterGroups[0].filters[0].").unwrap_or(error))
            .map(str::to_owned)
            .collect(),
    }
}

const LIST: &str = "0199aaaa-0000-7000-8000-000000000001";

/// One filter of each type and operator.
fn every_filter() -> Vec<Value> {
    let attribute = |operator: &str, value: Value| {
        let mut filter = json!({"type": "attribute", "field": "a.b", "operator": operator});
        if !value.is_null() {
            filter["value"] = value;
        }
        filter
    };
    vec![
        attribute("equals", json!("x")),
        attribute("equals", json!("")),
        attribute("not_equals", json!(1.5)),
        attribute("contains", json!("x")),
        attribute("not_contains", json!(true)),
        attribute("starts_with", json!("x")),
        attribute("ends_with", json!("x")),
        attribute("in", json!(["x", 1, true])),
        attribute("not_in", json!([""])),
        attribute("gt", json!(1)),
        attribute("gte", json!("2026-03-01")),
        attribute("lt", json!(-0.5)),
        attribute("lte", json!("2026-03-01T10:00:00+02:00")),
        attribute("between", json!([1, 1])),
        attribute("between", json!(["2026-03-01", "2026-03-01"])),
        attribute("exists", Value::Null),
        attribute("not_exists", Value::Null),
        attribute("before", json!("2026-03-01")),
        attribute("after", json!("2026-03-01")),
        attribute("within_last", json!(30)),
        attribute("not_within_last", json!({"amount": 2, "unit": "weeks"})),
        attribute("is_true", Value::Null),
        attribute("is_false", Value::Null),
        json!({"type": "profile", "field": "email", "operator": "ends_with", "value": "@x.test"}),
        json!({"type": "profile", "field": "phone", "operator": "in", "value": ["+49 1"]}),
        json!({"type": "profile", "field": "externalId", "operator": "not_exists"}),
        json!({"type": "profile", "field": "createdAt", "operator": "before", "value": "2026-03-01"}),
        json!({"type": "profile", "field": "updatedAt", "operator": "within_last", "value": 7}),
        json!({"type": "event", "field": "Order Completed", "operator": "performed"}),
        json!({"type": "event", "field": "A", "operator": "not_performed",
            "value": {"count": {"op": "gte", "n": 3}, "withinDays": 30, "properties": {"a.b": [1, "x"]}}}),
        json!({"type": "segment", "field": "vips", "operator": "member"}),
        json!({"type": "segment", "field": "segmentId", "operator": "not_member", "value": "vips"}),
        json!({"type": "list", "field": LIST, "operator": "member"}),
        json!({"type": "list", "operator": "not_member", "value": LIST}),
        json!({"type": "channel", "field": "sms", "operator": "equals", "value": "optedIn"}),
        json!({"type": "channel", "field": "email", "operator": "in", "value": ["subscribed"]}),
        json!({"type": "channel", "field": "push", "operator": "not_exists"}),
        json!({"type": "engagement", "operator": "sent"}),
        json!({"type": "engagement", "field": "email", "operator": "opened",
            "value": {"campaignId": LIST, "withinDays": 1}}),
        json!({"type": "engagement", "operator": "clicked", "value": {"withinDays": 3650}}),
    ]
}

#[test]
fn targetings_are_written_back_as_sent_and_read_again() {
    let whole = json!({
        "userIds": ["u1", "65abcdef0123456789abcdef"],
        "filterGroups": [
            {"filters": every_filter(), "operator": "OR"},
            {"filters": [every_filter()[0]]},
        ],
        "excludeFilterGroups": [{"filters": [every_filter()[1]], "operator": "AND"}],
        "filterOperator": "OR",
        "subscriptionPreference": "opted_in_only",
    });
    for sent in [json!({}), json!({"filterGroups": []}), whole] {
        let targeting = read(&sent).unwrap_or_else(|errors| panic!("{errors:?}"));
        assert_eq!(serde_json::to_value(&targeting).expect("JSON"), sent);
        let again: Targeting = serde_json::from_value(sent).expect("as stored");
        assert_eq!(again, targeting);
    }
}

#[test]
fn absent_fields_have_their_defaults() {
    let targeting = read(&with(every_filter()[0].clone())).expect("a targeting");
    assert_eq!(targeting.join(), Join::And);
    assert_eq!(targeting.preference(), SubscriptionPreference::SubscribedOrOptedIn);
    let group = json!({"filterGroups": [{"filters": [every_filter()[0]]}]});
    assert_eq!(read(&group).expect("a targeting").groups()[0].join(), Join::And);
}

#[test]
fn unknown_words_are_refused_by_name_and_path() {
    let sent = json!({
        "filterGroups": [
            {"filters": [{"type": "phase_of_moon", "field": "x", "operator": "equals", "value": 1}], "operator": "XOR"},
            {"filters": [
                {"type": "attribute", "field": "x", "operator": "like", "value": "y"},
                {"type": "event", "field": "x", "operator": "equals", "value": {}},
                {"type": "channel", "field": "fax", "operator": "equals", "value": "subscribed"},
                {"type": "profile", "field": "shoeSize", "operator": "equals", "value": "1"},
                {"type": "event", "field": "x", "operator": "performed", "value": {"count": {"op": ">=", "n": 1}}},
            ]},
        ],
        "filterOperator": "and",
        "subscriptionPreference": "everyone",
    });
    let errors = read(&sent).expect_err("a refusal");
    let begins = [
        "filterGroups[0].filters[0].type must be one of: attribute, profile, event, segment, list, channel, engagement; \"phase_of_moon\" is not",
        "filterGroups[0].operator must be one of: AND, OR; \"XOR\" is not",
        "filterGroups[1].filters[0].operator must be one of: equals, not_equals,",
        "filterGroups[1].filters[1].operator must be one of: performed, not_performed; \"equals\" is not",
        "filterGroups[1].filters[2].field must be one of: email, sms, whatsapp, push, viber; \"fax\" is not",
        "filterGroups[1].filters[3].field must be one of: email, phone, externalId, createdAt, updatedAt; \"shoeSize\" is not",
        "filterGroups[1].filters[4].value.count.op must be one of: equals, gt, gte, lt, lte; \">=\" is not",
        "filterOperator must be one of: AND, OR; \"and\" is not",
        "subscriptionPreference must be one of: subscribed_or_opted_in, opted_in_only, all; \"everyone\" is not",
    ];
    assert_eq!(errors.len(), begins.len(), "{errors:#?}");
    for (error, begin) in errors.iter().zip(begins) {
        assert!(error.starts_with(begin), "{error}\n{begin}");
    }
    assert!(errors[2].ends_with("; \"like\" is not"), "{}", errors[2]);
}

#[test]
fn a_value_must_be_of_the_type_its_operator_wants() {
    let attribute = |operator: &str, value: Value| json!({"type": "attribute", "field": "a", "operator": operator, "value": value});
    for (filter, expected) in [
        (attribute("equals", json!(null)), "value is required"),
        (attribute("equals", json!(["x"])), "value must be a string, a number or a boolean"),
        (attribute("equals", json!("a\u{0}")), "value must not contain NUL characters"),
        (attribute("contains", json!("")), "value must be between 1 and 1024 characters"),
        (attribute("starts_with", json!(1)), "value must be a string"),
        (attribute("in", json!("x")), "value must be an array"),
        (attribute("in", json!([])), "value must have between 1 and 1000 elements, received 0"),
        (attribute("in", json!(["x", {}])), "value[1] must be a string, a number or a boolean"),
        (attribute("gt", json!("soon")), "value must be a number or an ISO 8601 date"),
        (attribute("gt", json!(true)), "value must be a number or an ISO 8601 date"),
        (
            attribute("between", json!([1])),
            "value must be a list of two numbers or two ISO 8601 dates",
        ),
        (attribute("between", json!([1, "2026-01-01"])), "value must be two numbers or two dates"),
        (attribute("between", json!([2, 1])), "value must not end before it begins"),
        (attribute("before", json!(5)), "value must be an ISO 8601 date or date-time"),
        (
            attribute("within_last", json!({"amount": 1, "unit": "moons"})),
            "value unit must be one of: minutes, hours, days, weeks; \"moons\" is not",
        ),
        (
            attribute("exists", json!(false)),
            "value must be absent: the operator compares with nothing",
        ),
        (
            json!({"type": "profile", "field": "email", "operator": "gt", "value": 1}),
            "operator must be one of: equals, not_equals, contains, not_contains, starts_with, ends_with, in, not_in, exists, not_exists; \"gt\" is not",
        ),
        (
            json!({"type": "profile", "field": "email", "operator": "equals", "value": 1}),
            "value must be a string",
        ),
        (
            json!({"type": "profile", "field": "createdAt", "operator": "gt", "value": 1}),
            "value must be an ISO 8601 date or date-time",
        ),
        (
            json!({"type": "channel", "field": "email", "operator": "equals", "value": "maybe"}),
            "value must be of: optedIn, subscribed, unsubscribed",
        ),
        (
            json!({"type": "list", "field": "x", "operator": "member"}),
            "field must be the id of a list, a UUID",
        ),
        (
            json!({"type": "list", "field": "x", "operator": "member", "value": LIST}),
            "field must be absent or listId where the id is in value",
        ),
        (json!({"type": "event", "operator": "performed"}), "field is required"),
        (
            json!({"type": "event", "field": "x", "operator": "performed", "value": 3}),
            "value must be an object",
        ),
        (
            json!({"type": "event", "field": "x", "operator": "performed", "value": {"properties": {"a": [{}]}}}),
            "value.properties.a must be a string, number, boolean, null, or an array of those",
        ),
        (
            json!({"type": "engagement", "operator": "opened", "value": {"campaignId": "x"}}),
            "value.campaignId must be the id of a campaign, a UUID",
        ),
    ] {
        assert_eq!(refused(filter.clone()), [expected], "{filter}");
    }
    assert_eq!(refused(json!({})), ["type is required"]);
    assert_eq!(
        refused(json!({"type": "attribute"})),
        ["field is required", "operator is required"]
    );
}

#[test]
fn each_limit_holds_at_its_bound_and_not_past_it() {
    let filters = |count: usize| vec![every_filter()[0].clone(); count];
    let groups = |of: usize, each: usize| -> Value {
        json!({"filterGroups": vec![json!({"filters": filters(each)}); of]})
    };
    let events = |count: usize| json!({"filterGroups": [{"filters": vec![every_filter()[28].clone(); count]}]});
    let in_list = |values: usize| json!({"type": "attribute", "field": "a", "operator": "in", "value": vec![1; values]});
    let lists = |of: usize| json!({"filterGroups": [{"filters": vec![in_list(VALUES_MAX); of]}]});
    let text = |chars: usize| {
        with(
            json!({"type": "attribute", "field": "a", "operator": "equals", "value": "é".repeat(chars)}),
        )
    };
    let field = |chars: usize| {
        with(json!({"type": "attribute", "field": "é".repeat(chars), "operator": "exists"}))
    };
    let ids = |count: usize| json!({"userIds": vec!["u"; count]});
    let event = |value: Value| {
        with(json!({"type": "event", "field": "A", "operator": "performed", "value": value}))
    };
    for (fits, exceeds, problem) in [
        (
            groups(GROUPS_MAX, 1),
            groups(GROUPS_MAX + 1, 1),
            "filterGroups must have at most 20 elements, received 21",
        ),
        (
            groups(1, FILTERS_PER_GROUP_MAX),
            groups(1, FILTERS_PER_GROUP_MAX + 1),
            "filterGroups[0].filters must have at most 50 elements, received 51",
        ),
        (
            groups(2, 50),
            json!({"filterGroups": groups(2, 50)["filterGroups"], "excludeFilterGroups": groups(1, 1)["filterGroups"]}),
            "must have at most 100 filters in all, received 101",
        ),
        (
            events(EVENT_FILTERS_MAX),
            events(EVENT_FILTERS_MAX + 1),
            "must have at most 10 filters of type event or engagement, received 11",
        ),
        (
            with(in_list(VALUES_MAX)),
            with(in_list(VALUES_MAX + 1)),
            "filterGroups[0].filters[0].value must have between 1 and 1000 elements, received 1001",
        ),
        (lists(10), lists(11), "must have at most 10000 values in its lists, received 11000"),
        (
            text(TEXT_CHARS_MAX),
            text(TEXT_CHARS_MAX + 1),
            "filterGroups[0].filters[0].value must be at most 1024 characters",
        ),
        (
            field(FIELD_CHARS_MAX),
            field(FIELD_CHARS_MAX + 1),
            "filterGroups[0].filters[0].field must be between 1 and 255 characters",
        ),
        (ids(1), ids(0), "userIds must have at least 1 element; leave it out to mean everyone"),
        (
            ids(USER_IDS_MAX),
            ids(USER_IDS_MAX + 1),
            "userIds must have at most 10000 elements, received 10001",
        ),
        (
            event(json!({"withinDays": 3650})),
            event(json!({"withinDays": 3651})),
            "filterGroups[0].filters[0].value.withinDays must be between 1 and 3650",
        ),
        (
            event(json!({"count": {"op": "lt", "n": 1_000_000}})),
            event(json!({"count": {"op": "lt", "n": 1_000_001}})),
            "filterGroups[0].filters[0].value.count.n must be between 0 and 1000000",
        ),
    ] {
        read(&fits).unwrap_or_else(|errors| panic!("{errors:?}"));
        assert_eq!(read(&exceeds).expect_err("a refusal"), [problem]);
    }
    assert_eq!(
        read(&json!({"filterGroups": [{"filters": []}]})).expect_err("a refusal"),
        ["filterGroups[0].filters must not be empty"]
    );
}

#[test]
fn a_criterion_matches_values_of_its_own_type() {
    let now = Timestamp::parse("2026-03-10T12:00:00Z").expect("a moment");
    for (operator, operand, holds_of, fails_of) in [
        (
            "equals",
            json!(1),
            vec![json!(1), json!(1.0)],
            vec![json!("1"), json!(true), json!([1]), json!(null)],
        ),
        ("not_equals", json!(1), vec![json!("1"), json!(null), json!([1])], vec![json!(1)]),
        (
            "contains",
            json!("an"),
            vec![json!("Anna an"), json!(["an"])],
            vec![json!("ANAN"), json!(["ann"]), json!({"an": 1})],
        ),
        ("contains", json!(2), vec![json!([1, 2.0])], vec![json!("12"), json!(2)]),
        ("not_contains", json!("an"), vec![json!("x"), json!(5), json!(["x"])], vec![json!("an")]),
        ("starts_with", json!("a%"), vec![json!("a%b")], vec![json!("ab"), json!(["a%"])]),
        ("ends_with", json!("_b"), vec![json!("a_b")], vec![json!("ab")]),
        ("in", json!(["a", 1]), vec![json!("a"), json!(1)], vec![json!("1"), json!(["a"])]),
        ("not_in", json!(["a"]), vec![json!("b"), json!(null)], vec![json!("a")]),
        ("gt", json!(1), vec![json!(1.5)], vec![json!(1), json!("2"), json!(true), json!([2])]),
        ("lte", json!(1), vec![json!(1), json!(-7)], vec![json!(1.01), json!("0")]),
        (
            "gt",
            json!("2026-03-01"),
            vec![json!("2026-03-02")],
            vec![json!("2026-03-01T23:59:59Z"), json!("soon"), json!(9)],
        ),
        (
            "gte",
            json!("2026-03-01"),
            vec![json!("2026-03-01")],
            vec![json!("2026-02-28T23:59:59.999Z")],
        ),
        (
            "lt",
            json!("2026-03-01"),
            vec![json!("2026-03-01T00:00:00+01:00")],
            vec![json!("2026-03-01")],
        ),
        (
            "lte",
            json!("2026-03-01"),
            vec![json!("2026-03-01 23:59")],
            vec![json!("2026-03-02"), json!("2026-02-30")],
        ),
        ("between", json!([1, 2]), vec![json!(1), json!(2)], vec![json!(0), json!(3), json!("1")]),
        (
            "between",
            json!(["2026-03-01", "2026-03-02"]),
            vec![json!("2026-03-02T20:00:00Z")],
            vec![json!("2026-03-03")],
        ),
        ("exists", json!(null), vec![json!(false), json!("")], vec![json!(null)]),
        ("not_exists", json!(null), vec![json!(null)], vec![json!(0)]),
        (
            "within_last",
            json!(1),
            vec![json!("2026-03-09T12:00:00Z"), json!("2026-03-10")],
            vec![json!("2026-03-09T11:59:59Z"), json!("2026-03-10T12:00:01Z"), json!(1)],
        ),
        (
            "not_within_last",
            json!({"amount": 60, "unit": "minutes"}),
            vec![json!("2026-03-10T10:00:00Z"), json!("x")],
            vec![json!("2026-03-10T11:30:00Z")],
        ),
        ("is_true", json!(null), vec![json!(true)], vec![json!(false), json!("true"), json!(1)]),
        ("is_false", json!(null), vec![json!(false)], vec![json!(true), json!(null), json!(0)]),
    ] {
        let condition = json!({"field": "a", "operator": operator, "value": operand});
        let condition: Condition = serde_json::from_value(condition).expect("a condition");
        let holds = |value: &Value| {
            let properties = json!({"a": value});
            condition.holds(properties.as_object().expect("an object"), now)
        };
        for value in &holds_of {
            assert!(holds(value), "{value} {operator} {operand}");
        }
        for value in &fails_of {
            assert!(!holds(value), "{value} {operator} {operand}");
        }
        // Without a value only the complements hold.
        let absent = condition.holds(&serde_json::Map::new(), now);
        assert_eq!(absent, operator.starts_with("not_"), "nothing {operator} {operand}");
    }
}

#[test]
fn a_count_matches_the_numbers_in_its_range() {
    for op in ["equals", "gt", "gte", "lt", "lte"] {
        for n in 0..4_u64 {
            let filter = json!({"type": "event", "field": "A", "operator": "performed", "value": {"count": {"op": op, "n": n}}});
            let Filter::Event(event) = serde_json::from_value(filter).expect("a filter") else {
                panic!("an event filter");
            };
            for times in 0..6_u64 {
                let expected = match op {
                    "equals" => times == n,
                    "gt" => times > n,
                    "gte" => times >= n,
                    "lt" => times < n,
                    _ => times <= n,
                };
                let range = event.count().range();
                let is_within = range.is_some_and(|range| range.contains(times));
                assert_eq!(is_within, expected, "{times} {op} {n}");
            }
        }
    }
}
