//! Rows as they arrive, and their values column by column.

use bytes::Bytes;
use uuid::Uuid;

use super::{
    COLUMNS,
    native::{
        Dictionary, column_header_bytes, write_column_header, write_string, write_uuid,
        write_var_uint,
    },
};
use crate::record::{BatchHeader, EventView, Numbers};

/// Strings of a row that are written as they are.
const TEXT_COUNT: usize = 9;
/// Where those strings stand among [`COLUMNS`], in the order they are kept.
const TEXT_COLUMNS: [usize; TEXT_COUNT] = [4, 5, 6, 8, 9, 10, 11, 13, 15];
/// Where some of them stand among those strings.
const USER_ID: usize = 0;
const ANONYMOUS_ID: usize = 1;
const SERVICE_USER_ID: usize = 2;
const EVENT_ID: usize = 4;

const _: () = assert!(TEXT_COLUMNS[TEXT_COUNT - 1] < COLUMNS.len() && EVENT_ID < TEXT_COUNT);

const WORKSPACE_ID: usize = 0;
const EVENT_NAME: usize = 1;
const DAY: usize = 2;
const TIMESTAMP: usize = 3;
const ALIAS_LABEL: usize = 7;
const RECEIVED_AT: usize = 12;
const NUMBERS: usize = 14;
const REVENUE: usize = 16;
const CURRENCY: usize = 17;
const BASE_REVENUE: usize = 18;
const BASE_CURRENCY: usize = 19;
const HAS_REVENUE: usize = 20;
const SEQ: usize = 21;
const IS_UNIQUE: usize = 22;

/// Columns whose values have a fixed number of bytes.
const FIXED_BYTES: [(usize, usize); 9] = [
    (WORKSPACE_ID, size_of::<Uuid>()),
    (DAY, size_of::<u16>()),
    (TIMESTAMP, size_of::<i64>()),
    (RECEIVED_AT, size_of::<i64>()),
    // The ends of the rows' numbers; the numbers themselves follow.
    (NUMBERS, size_of::<u64>()),
    (REVENUE, size_of::<i64>()),
    (BASE_REVENUE, size_of::<i64>()),
    (HAS_REVENUE, size_of::<u8>()),
    (SEQ, size_of::<u64>()),
];
/// Bytes that say how long a string of a few kilobytes is.
const STRING_LENGTH_BYTES: usize = 2;

/// Strings of a block that come again and again.
#[derive(Debug, Default)]
pub(super) struct Dictionaries {
    pub(super) event_names: Dictionary,
    alias_labels: Dictionary,
    currencies: Dictionary,
}

/// A row: an event, with the numbers of its dictionary strings. Borrowed from its batch.
#[derive(Debug)]
pub(super) struct Row<'a> {
    pub(super) workspace: u32,
    pub(super) event_name: u32,
    pub(super) day: u16,
    pub(super) timestamp_ms: i64,
    received_at_ms: i64,
    pub(super) seq: u64,
    alias_label: u32,
    currency: u32,
    base_currency: u32,
    revenue: Option<i64>,
    base_revenue: Option<i64>,
    numbers: Numbers<'a>,
    texts: [&'a str; TEXT_COUNT],
}

impl<'a> Row<'a> {
    pub(super) fn new(
        workspace: u32,
        header: &BatchHeader,
        event: &EventView<'a>,
        dictionaries: &mut Dictionaries,
    ) -> Self {
        let order = event.order.unwrap_or_default();
        Self {
            workspace,
            event_name: dictionaries.event_names.number(event.event_name),
            day: event.day,
            timestamp_ms: event.timestamp_ms,
            received_at_ms: header.received_at_ms,
            seq: event.seq,
            alias_label: dictionaries.alias_labels.number(event.alias_label),
            currency: dictionaries.currencies.number(order.currency),
            base_currency: dictionaries.currencies.number(order.base_currency),
            revenue: order.revenue,
            base_revenue: order.base_revenue,
            numbers: event.numbers,
            texts: [
                event.user_id,
                event.anonymous_id,
                event.service_user_id,
                event.alias_name,
                event.event_id,
                event.session_id,
                event.device_id,
                event.properties,
                order.order_id,
            ],
        }
    }

    /// The id of the event, as bytes: ClickHouse compares strings so.
    pub(super) fn event_id(&self) -> &'a [u8] {
        self.texts[EVENT_ID].as_bytes()
    }

    pub(super) fn user_id(&self) -> &'a [u8] {
        self.texts[USER_ID].as_bytes()
    }

    pub(super) fn anonymous_id(&self) -> &'a [u8] {
        self.texts[ANONYMOUS_ID].as_bytes()
    }

    pub(super) fn service_user_id(&self) -> &'a [u8] {
        self.texts[SERVICE_USER_ID].as_bytes()
    }
}

/// The values of a block, column by column, each column behind its header. They are sent as they are, without being
/// copied into one piece.
#[derive(Debug)]
pub(super) struct Values {
    rows: usize,
    plain: [Vec<u8>; COLUMNS.len()],
    event_names: Vec<u32>,
    alias_labels: Vec<u32>,
    currencies: Vec<u32>,
    base_currencies: Vec<u32>,
    number_paths: Dictionary,
    leaf_paths: Vec<u32>,
    leaves: Vec<u8>,
}

impl Values {
    /// Empty columns with room for these rows.
    pub(super) fn for_rows(rows: &[Row<'_>]) -> Self {
        let mut room = [0; COLUMNS.len()];
        for (column, bytes) in FIXED_BYTES {
            room[column] = bytes * rows.len();
        }
        for row in rows {
            for (column, text) in TEXT_COLUMNS.into_iter().zip(row.texts) {
                room[column] += text.len() + STRING_LENGTH_BYTES;
            }
        }
        let mut plain = [const { Vec::new() }; COLUMNS.len()];
        for (((name, kind), room), column) in COLUMNS.into_iter().zip(room).zip(&mut plain) {
            column.reserve(column_header_bytes(name, kind) + room);
            write_column_header(column, name, kind);
        }
        Dictionary::write_prefix(&mut plain[NUMBERS]);
        let leaves = rows.iter().map(|row| row.numbers.into_iter().len()).sum();
        Self {
            rows: 0,
            plain,
            event_names: Vec::with_capacity(rows.len()),
            alias_labels: Vec::with_capacity(rows.len()),
            currencies: Vec::with_capacity(rows.len()),
            base_currencies: Vec::with_capacity(rows.len()),
            number_paths: Dictionary::default(),
            leaf_paths: Vec::with_capacity(leaves),
            leaves: Vec::with_capacity(leaves * size_of::<f64>()),
        }
    }

    /// Adds the next row of the block.
    pub(super) fn push(&mut self, row: &Row<'_>, workspace_id: Uuid) {
        self.rows += 1;
        write_uuid(&mut self.plain[WORKSPACE_ID], workspace_id);
        self.plain[DAY].extend_from_slice(&row.day.to_le_bytes());
        self.plain[TIMESTAMP].extend_from_slice(&row.timestamp_ms.to_le_bytes());
        self.plain[RECEIVED_AT].extend_from_slice(&row.received_at_ms.to_le_bytes());
        self.plain[SEQ].extend_from_slice(&row.seq.to_le_bytes());
        let revenue = row.revenue.unwrap_or_default();
        self.plain[REVENUE].extend_from_slice(&revenue.to_le_bytes());
        let base_revenue = row.base_revenue.unwrap_or_default();
        self.plain[BASE_REVENUE].extend_from_slice(&base_revenue.to_le_bytes());
        self.plain[HAS_REVENUE].push(u8::from(row.revenue.is_some()));

        self.event_names.push(row.event_name);
        self.alias_labels.push(row.alias_label);
        self.currencies.push(row.currency);
        self.base_currencies.push(row.base_currency);

        for (path, value) in row.numbers {
            self.leaf_paths.push(self.number_paths.number(path));
            self.leaves.extend_from_slice(&value.to_le_bytes());
        }
        let end = self.leaf_paths.len() as u64;
        self.plain[NUMBERS].extend_from_slice(&end.to_le_bytes());
        for (column, text) in TEXT_COLUMNS.into_iter().zip(row.texts) {
            write_string(&mut self.plain[column], text.as_bytes());
        }
    }

    /// The block in pieces, in the order of [`COLUMNS`].
    pub(super) fn finish(mut self, dictionaries: &Dictionaries, is_unique: bool) -> Vec<Bytes> {
        debug_assert!(self.is_complete(), "all columns have as many values");
        let mut begin = Vec::new();
        write_var_uint(&mut begin, COLUMNS.len());
        write_var_uint(&mut begin, self.rows);
        let names = &dictionaries.event_names;
        for (column, dictionary, numbers) in [
            (EVENT_NAME, names, &self.event_names),
            (ALIAS_LABEL, &dictionaries.alias_labels, &self.alias_labels),
            (CURRENCY, &dictionaries.currencies, &self.currencies),
            (BASE_CURRENCY, &dictionaries.currencies, &self.base_currencies),
        ] {
            Dictionary::write_prefix(&mut self.plain[column]);
            dictionary.write_values(&mut self.plain[column], numbers);
        }
        self.number_paths.write_values(&mut self.plain[NUMBERS], &self.leaf_paths);
        let unique = &mut self.plain[IS_UNIQUE];
        unique.resize(unique.len() + self.rows, u8::from(is_unique));
        let mut pieces = vec![Bytes::from(begin)];
        let mut leaves = Some(self.leaves);
        for (index, column) in self.plain.into_iter().enumerate() {
            pieces.push(Bytes::from(column));
            if index == NUMBERS {
                pieces.extend(leaves.take().map(Bytes::from));
            }
        }
        pieces
    }

    fn is_complete(&self) -> bool {
        let bytes = |column: usize| {
            let (name, kind) = COLUMNS[column];
            self.plain[column].len() - column_header_bytes(name, kind)
        };
        [&self.event_names, &self.alias_labels, &self.currencies, &self.base_currencies]
            .iter()
            .all(|numbers| numbers.len() == self.rows)
            && self.leaves.len() == self.leaf_paths.len() * size_of::<f64>()
            && FIXED_BYTES
                .iter()
                .filter(|(column, _)| *column != NUMBERS)
                .all(|(column, each)| bytes(*column) == each * self.rows)
            && TEXT_COLUMNS.iter().all(|column| bytes(*column) >= self.rows)
    }
}
