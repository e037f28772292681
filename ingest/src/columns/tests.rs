//! Blocks are what ClickHouse reads: layout, order, and a block it wrote itself.

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::record::{BatchKind, MessageEvent, MessageKind, NumberBuffer, OrderView};

/// `SELECT cityHash64('ann')` and `SELECT cityHash64('bob')` of ClickHouse 26.7.
const ANN_HASH: u64 = 11_277_972_941_799_405_761;
const BOB_HASH: u64 = 13_671_481_681_542_908_696;

fn header(workspace: u128) -> BatchHeader {
    BatchHeader {
        kind: BatchKind::Events,
        workspace_id: Uuid::from_u128(workspace),
        received_at_ms: 1_000,
        first_seq: 0,
        count: 1,
    }
}

/// Reads a block by the format's rules, knowing nothing of how it was written.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().unwrap())
    }

    fn var_uint(&mut self) -> usize {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.take(1)[0];
            value |= usize::from(byte & 0x7F) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }

    fn string(&mut self) -> String {
        let length = self.var_uint();
        String::from_utf8(self.take(length).to_vec()).unwrap()
    }

    /// The values of a `LowCardinality(String)` after its prefix.
    fn low_cardinality(&mut self, rows: usize) -> Vec<String> {
        if rows == 0 {
            return Vec::new();
        }
        let flags = self.u64();
        assert_eq!(flags & !0xFF, 0x600);
        let width = 1 << (flags & 0xFF);
        let keys = self.u64();
        let keys: Vec<String> = (0..keys).map(|_| self.string()).collect();
        assert_eq!(keys[0], "", "the first is the default");
        assert_eq!(self.u64(), rows as u64);
        (0..rows)
            .map(|_| {
                let index = self
                    .take(width)
                    .iter()
                    .rev()
                    .fold(0, |index, byte| index << 8 | usize::from(*byte));
                keys[index].clone()
            })
            .collect()
    }

    /// The values of a column as text.
    fn column(&mut self, kind: &str, rows: usize) -> Vec<String> {
        match kind {
            "String" => (0..rows).map(|_| self.string()).collect(),
            "UUID" => (0..rows)
                .map(|_| {
                    let (first, second) = (self.u64(), self.u64());
                    Uuid::from_u64_pair(first, second).to_string()
                })
                .collect(),
            "Date" => (0..rows)
                .map(|_| u16::from_le_bytes(self.take(2).try_into().unwrap()).to_string())
                .collect(),
            "UInt8" | "Bool" => (0..rows).map(|_| self.take(1)[0].to_string()).collect(),
            "UInt32" => (0..rows)
                .map(|_| u32::from_le_bytes(self.take(4).try_into().unwrap()).to_string())
                .collect(),
            "LowCardinality(String)" => {
                assert_eq!(self.u64(), 1);
                self.low_cardinality(rows)
            }
            "Map(LowCardinality(String), Float64)" => {
                assert_eq!(self.u64(), 1);
                let ends: Vec<usize> =
                    (0..rows).map(|_| usize::try_from(self.u64()).unwrap()).collect();
                let leaves = ends.last().copied().unwrap_or(0);
                let paths = self.low_cardinality(leaves);
                let values: Vec<f64> = (0..leaves).map(|_| f64::from_bits(self.u64())).collect();
                let starts = std::iter::once(0).chain(ends.iter().copied());
                starts
                    .zip(&ends)
                    .map(|(start, end)| {
                        format!("{:?}", (&paths[start..*end], &values[start..*end]))
                    })
                    .collect()
            }
            _ => (0..rows).map(|_| self.u64().cast_signed().to_string()).collect(),
        }
    }
}

/// Reads a whole block of events: rows of columns as text.
fn read(block: &[u8]) -> Vec<Vec<String>> {
    read_of(Table::Events, block)
}

fn read_of(table: Table, block: &[u8]) -> Vec<Vec<String>> {
    let columns = table.columns();
    let mut reader = Reader { rest: block };
    assert_eq!(reader.var_uint(), columns.len());
    let rows = reader.var_uint();
    let mut read = vec![Vec::new(); rows];
    for &(name, kind) in columns {
        assert_eq!((reader.string().as_str(), reader.string().as_str()), (name, kind));
        for (row, value) in read.iter_mut().zip(reader.column(kind, rows)) {
            row.push(value);
        }
    }
    assert!(reader.rest.is_empty());
    read
}

#[test]
fn the_statement_names_the_columns_of_the_block() {
    for table in [Table::Events, Table::MessageEvents, Table::Timeline, Table::Orders] {
        let names: Vec<&str> = table.columns().iter().map(|(name, _)| *name).collect();
        let expected = format!("INSERT INTO {} ({}) FORMAT Native", table.name(), names.join(", "));
        assert_eq!(table.insert(), expected);
    }
}

#[test]
fn every_value_lands_in_its_column() {
    let mut numbers = NumberBuffer::default();
    numbers.push("a", 1.0);
    numbers.push("b.c", 2.5);
    let event = EventView {
        seq: 9,
        event_name: "Order Completed",
        timestamp_ms: 5,
        day: 3,
        user_id: "user",
        anonymous_id: "anonymous",
        service_user_id: "service",
        alias_label: "label",
        alias_name: "name",
        event_id: "id",
        session_id: "session",
        device_id: "device",
        properties: "{}",
        numbers: numbers.view(),
        order: Some(OrderView {
            order_id: "order",
            revenue: Some(-12),
            currency: "EUR",
            base_revenue: None,
            base_currency: "USD",
        }),
        ..EventView::default()
    };
    for (mut columns, is_unique) in
        [(EventColumns::default(), "0"), (EventColumns::unique(), "1"), (emptied(&event), "1")]
    {
        columns.push(&header(7), &event);
        let block = columns.encode().concat();
        assert_eq!(
            read(&block),
            [[
                "00000000-0000-0000-0000-000000000007",
                "Order Completed",
                "3",
                "5",
                "user",
                "anonymous",
                "service",
                "label",
                "name",
                "id",
                "session",
                "device",
                "1000",
                "{}",
                r#"(["a", "b.c"], [1.0, 2.5])"#,
                "order",
                "-12",
                "EUR",
                "0",
                "USD",
                "1",
                "9",
                is_unique,
            ]]
        );
    }
}

/// Columns with a row that was taken out.
fn emptied<'a>(event: &EventView<'a>) -> EventColumns<'a> {
    let mut columns = EventColumns::unique();
    columns.push(&header(8), &EventView { event_name: "Other", seq: 8, ..*event });
    columns.leave_out(&HashSet::from([8]));
    columns
}

#[test]
fn the_timeline_lists_each_event_for_its_workspace_and_its_identifiers_by_time() {
    let event = |user_id, service_user_id, timestamp_ms, event_id| EventView {
        event_name: "Viewed",
        timestamp_ms,
        day: 3,
        user_id,
        service_user_id,
        event_id,
        ..EventView::default()
    };
    let mut columns = EventColumns::unique();
    // Workspaces are in the order of their second halves.
    columns.push(&header(1 << 64 | 1), &event("ann", "", 20, "b"));
    columns.push(&header(2), &event("", "", 5, "c"));
    columns.push(&header(1 << 64 | 1), &event("ann", "bob", 10, "a"));
    columns.push(&header(1 << 64 | 1), &event("ann", "ann", 15, "d"));
    let mut block = Vec::new();
    columns.encode_timeline(&mut block);
    let entries = read_of(Table::Timeline, &block);
    let of = |workspace: u128, identifier: &str| -> Vec<[&str; 2]> {
        let workspace = Uuid::from_u128(workspace).to_string();
        let listed = entries.iter().filter(|it| it[0] == workspace && it[1] == identifier);
        listed.map(|it| [it[2].as_str(), it[5].as_str()]).collect()
    };
    let ann = ANN_HASH.cast_signed().to_string();
    let bob = BOB_HASH.cast_signed().to_string();
    let all = [["10", "a"], ["15", "d"], ["20", "b"]];
    assert_eq!(of(1 << 64 | 1, "0"), all);
    assert_eq!(of(1 << 64 | 1, &ann), all);
    assert_eq!(of(1 << 64 | 1, &bob), [["10", "a"]]);
    assert_eq!(of(2, "0"), [["5", "c"]]);
    assert_eq!(entries.len(), 8);
    let keys: Vec<(u128, u64, i64)> = entries
        .iter()
        .map(|it| {
            let workspace: Uuid = it[0].parse().unwrap();
            let identifier = it[1].parse::<i64>().unwrap().cast_unsigned();
            (
                workspace.as_u128() << 64 | workspace.as_u128() >> 64,
                identifier,
                it[2].parse().unwrap(),
            )
        })
        .collect();
    assert!(keys.is_sorted(), "{keys:?}");
    assert!(entries.iter().all(|it| it[3] == "Viewed" && it[4] == "3"));
}

#[test]
fn an_order_is_known_by_its_id_or_by_that_of_its_event() {
    let order = |order_id| Some(OrderView { order_id, ..OrderView::default() });
    let paid = Some(OrderView { revenue: Some(0), ..OrderView::default() });
    let completed = |order, event_id| EventView {
        event_name: "Order Completed",
        order,
        event_id,
        ..EventView::default()
    };
    let key = |event: EventView<'_>| OrderKey::of(&event).map(|key| key.as_str().to_owned());
    for (event, expected) in [
        (completed(order("7"), "e"), Some("order:7")),
        (completed(order(""), "e"), Some("event:e")),
        (completed(None, "e"), Some("event:e")),
        (completed(None, "sdk:e"), None),
        (completed(order(""), "sdk:e"), None),
        (completed(order("7"), "sdk:e"), Some("order:7")),
        (completed(paid, "sdk:e"), Some("event:sdk:e")),
        (EventView { event_name: "Viewed", ..completed(order("7"), "e") }, None),
    ] {
        assert_eq!(key(event).as_deref(), expected, "{event:?}");
    }
}

#[test]
fn every_value_of_a_message_event_lands_in_its_column() {
    let event = MessageEvent {
        seq: 9,
        campaign_id: Uuid::from_u128(1 << 64 | 2),
        kind: MessageKind::Clicked,
        user_id: "user",
        message_id: Uuid::from_u128(3),
        event_id: "id",
        timestamp_ms: 5,
        occurrence: 4,
        variant_id: "variant",
        channel: "email",
        is_bot: true,
        is_test: false,
        url: "url",
        label: "label",
        code: "code",
        reason: "reason",
        platform: "web",
        app_id: "app",
        button_id: "button",
    };
    let mut columns = MessageColumns::default();
    columns.push(&header(7), event);
    let mut block = Vec::new();
    columns.encode(&mut block);
    assert_eq!(
        read_of(Table::MessageEvents, &block),
        [[
            "00000000-0000-0000-0000-000000000007",
            "00000000-0000-0001-0000-000000000002",
            "clicked",
            "user",
            "00000000-0000-0000-0000-000000000003",
            "id",
            "5",
            "4",
            "variant",
            "email",
            "1",
            "0",
            "url",
            "label",
            "code",
            "reason",
            "web",
            "app",
            "button",
            "9",
        ]]
    );
}

#[test]
fn message_events_come_in_the_order_of_the_key() {
    // Workspace, campaign, kind, user, message, event id; the ids by their second half first.
    let keys = [
        (1, 2 << 64 | 1, MessageKind::Sent, "a", 1, ""),
        (1, 1 << 64 | 2, MessageKind::Clicked, "b", 1, ""),
        (1, 1 << 64 | 2, MessageKind::Opened, "a", 1, "1"),
        (1, 1 << 64 | 2, MessageKind::Opened, "a", 1, "2"),
        (1, 1 << 64 | 2, MessageKind::Opened, "a", 1 << 64 | 1, ""),
        (1, 1 << 64 | 2, MessageKind::Opened, "a", 2, ""),
        (1, 1 << 64 | 2, MessageKind::Queued, "a", 1, ""),
        (2, 1, MessageKind::Queued, "a", 1, ""),
    ];
    let mut columns = MessageColumns::default();
    for (seq, (workspace, campaign, kind, user_id, message, event_id)) in
        (0..).zip(keys).collect::<Vec<_>>().into_iter().rev()
    {
        let event = MessageEvent {
            seq,
            campaign_id: Uuid::from_u128(campaign),
            kind,
            user_id,
            message_id: Uuid::from_u128(message),
            event_id,
            ..MessageEvent::default()
        };
        columns.push(&header(workspace), event);
    }
    let mut block = Vec::new();
    columns.encode(&mut block);
    let order: Vec<String> = read_of(Table::MessageEvents, &block)
        .into_iter()
        .map(|mut row| row.pop().unwrap())
        .collect();
    assert_eq!(order, ["0", "1", "2", "3", "4", "5", "6", "7"]);
}

#[test]
fn dictionaries_grow_past_one_and_two_bytes() {
    for names in [255_u32, 256, 65_535, 65_536] {
        let mut columns = EventColumns::default();
        let expected: Vec<String> = (0..names).map(|name| format!("n{name:05}")).collect();
        for event_name in &expected {
            columns.push(&header(1), &EventView { event_name, ..EventView::default() });
        }
        let block = columns.encode().concat();
        let read: Vec<String> =
            read(&block).into_iter().map(|mut row| row.swap_remove(1)).collect();
        assert_eq!(read, expected, "sorted, and each its own");
    }
}

proptest! {
    #[test]
    fn rows_come_out_complete_and_in_the_order_of_the_key(
        events in vec((0_u128..3, "[a-c]{0,2}", 0_u16..3, "[a-c0é-]{0,3}|[a-z0-9-]{0,80}", vec(("[a-d]", -9.0..9.0), 0..4)), 0..40),
    ) {
        let mut columns = EventColumns::default();
        let mut expected = Vec::new();
        let numbers: Vec<NumberBuffer> = events
            .iter()
            .map(|(.., leaves)| {
                let mut numbers = NumberBuffer::default();
                for (path, value) in leaves {
                    numbers.push(path, *value);
                }
                numbers
            })
            .collect();
        for (seq, ((workspace, event_name, day, event_id, leaves), numbers)) in (0..).zip(events.iter().zip(&numbers)) {
            // The halves of the id differ in order, as ClickHouse's comparison demands.
            let workspace = workspace << 64 | (5 - workspace);
            let event = EventView { seq, event_name, day: *day, event_id, numbers: numbers.view(), ..EventView::default() };
            columns.push(&header(workspace), &event);
            let key = (workspace & u128::from(u64::MAX), event_name.clone(), *day, event_id.clone(), seq);
            let (paths, values): (Vec<_>, Vec<_>) = leaves.iter().cloned().unzip();
            expected.push((key, Uuid::from_u128(workspace).to_string(), event_id.clone(), format!("{:?}", (paths, values))));
        }
        expected.sort_by(|one, other| one.0.cmp(&other.0));
        let read = read(&columns.encode().concat());
        prop_assert_eq!(read.len(), expected.len());
        for (row, (key, workspace, event_id, numbers)) in read.iter().zip(&expected) {
            prop_assert_eq!(&row[0], workspace);
            prop_assert_eq!(&row[1], &key.1);
            prop_assert_eq!(&row[2], &key.2.to_string());
            prop_assert_eq!(&row[9], event_id);
            prop_assert_eq!(&row[14], numbers);
            prop_assert_eq!(&row[21], &key.4.to_string());
        }
    }
}
