//! Rows as they arrive, and their values column by column.

use uuid::Uuid;

use super::{
    COLUMNS,
    native::{Dictionary, write_string, write_uuid},
};
use crate::record::{EventView, NumbersIter};

/// Strings of a row that are written as they are.
const TEXT_COUNT: usize = 9;
/// Where those strings stand among [`COLUMNS`], in the order they are kept.
const TEXT_COLUMNS: [usize; TEXT_COUNT] = [4, 5, 6, 8, 9, 10, 11, 13, 15];
/// Where some of them stand among those strings.
const USER_ID: usize = 0;
const SERVICE_USER_ID: usize = 2;
const EVENT_ID: usize = 4;

const _: () = assert!(TEXT_COLUMNS[TEXT_COUNT - 1] < COLUMNS.len() && EVENT_ID < TEXT_COUNT);

const WORKSPACE_ID: usize = 0;
const DAY: usize = 2;
const TIMESTAMP: usize = 3;
const RECEIVED_AT: usize = 12;
const NUMBERS: usize = 14;
const REVENUE: usize = 16;
const BASE_REVENUE: usize = 18;
const HAS_REVENUE: usize = 20;
const SEQ: usize = 21;

/// A row: its fixed values, the numbers of its dictionary strings, and where the rest is.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) workspace: u32,
    pub(super) event_name: u32,
    pub(super) day: u16,
    pub(super) timestamp_ms: i64,
    pub(super) received_at_ms: i64,
    pub(super) seq: u64,
    pub(super) alias_label: u32,
    pub(super) currency: u32,
    pub(super) base_currency: u32,
    pub(super) revenue: Option<i64>,
    pub(super) base_revenue: Option<i64>,
    pub(super) numbers: NumberPlace,
    pub(super) texts: TextPlace,
}

/// Where the numeric leaves of a row are.
#[derive(Debug)]
pub(super) struct NumberPlace {
    start: usize,
    count: usize,
}

/// Where the strings of a row are: end to end.
#[derive(Debug)]
pub(super) struct TextPlace {
    start: usize,
    lengths: [u32; TEXT_COUNT],
}

/// What rows point at.
#[derive(Debug, Default)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    numbers: Vec<(u32, f64)>,
}

impl Texts {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.numbers.clear();
    }

    pub(super) fn push_numbers(
        &mut self,
        numbers: NumbersIter<'_>,
        paths: &mut Dictionary,
    ) -> NumberPlace {
        let (start, count) = (self.numbers.len(), numbers.len());
        self.numbers.extend(numbers.map(|(path, value)| (paths.number(path), value)));
        NumberPlace { start, count }
    }

    pub(super) fn push_texts(&mut self, event: &EventView<'_>, order_id: &str) -> TextPlace {
        let start = self.bytes.len();
        let texts: [&str; TEXT_COUNT] = [
            event.user_id,
            event.anonymous_id,
            event.service_user_id,
            event.alias_name,
            event.event_id,
            event.session_id,
            event.device_id,
            event.properties,
            order_id,
        ];
        let lengths = texts.map(|text| {
            self.bytes.extend_from_slice(text.as_bytes());
            u32::try_from(text.len()).expect("an event is far below 4 GiB")
        });
        TextPlace { start, lengths }
    }

    /// The id of a row's event, as bytes: ClickHouse compares strings so.
    pub(super) fn event_id(&self, row: &Row) -> &[u8] {
        self.text(row, EVENT_ID)
    }

    pub(super) fn user_id(&self, row: &Row) -> &[u8] {
        self.text(row, USER_ID)
    }

    pub(super) fn service_user_id(&self, row: &Row) -> &[u8] {
        self.text(row, SERVICE_USER_ID)
    }

    fn text(&self, row: &Row, place: usize) -> &[u8] {
        let TextPlace { start, lengths } = &row.texts;
        let before: usize = lengths[..place].iter().map(|length| *length as usize).sum();
        let from = start + before;
        self.bytes.get(from..from + lengths[place] as usize).unwrap_or_default()
    }
}

/// The values of a block, column by column.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// Columns that are bytes already, by their place in [`COLUMNS`]; of `numbers` the offsets.
    pub(super) plain: [Vec<u8>; COLUMNS.len()],
    pub(super) event_names: Vec<u32>,
    pub(super) alias_labels: Vec<u32>,
    pub(super) currencies: Vec<u32>,
    pub(super) base_currencies: Vec<u32>,
    pub(super) leaf_paths: Vec<u32>,
    pub(super) leaves: Vec<u8>,
}

impl Values {
    pub(super) fn clear(&mut self) {
        self.plain.iter_mut().for_each(Vec::clear);
        self.leaves.clear();
        for numbers in [
            &mut self.event_names,
            &mut self.alias_labels,
            &mut self.currencies,
            &mut self.base_currencies,
            &mut self.leaf_paths,
        ] {
            numbers.clear();
        }
    }

    /// Rows pushed, when all columns agree on them; for assertions.
    pub(super) fn rows(&self) -> Option<usize> {
        let rows = self.event_names.len();
        let is_dense = [&self.alias_labels, &self.currencies, &self.base_currencies]
            .iter()
            .all(|numbers| numbers.len() == rows)
            && self.leaves.len() == self.leaf_paths.len() * size_of::<f64>()
            && self.plain[WORKSPACE_ID].len() == rows * size_of::<Uuid>()
            && self.plain[DAY].len() == rows * size_of::<u16>()
            && self.plain[HAS_REVENUE].len() == rows
            && [TIMESTAMP, RECEIVED_AT, NUMBERS, REVENUE, BASE_REVENUE, SEQ]
                .iter()
                .all(|column| self.plain[*column].len() == rows * size_of::<u64>())
            && TEXT_COLUMNS.iter().all(|column| self.plain[*column].len() >= rows);
        is_dense.then_some(rows)
    }

    /// Bytes of all columns, about.
    pub(super) fn bytes(&self) -> usize {
        let plain: usize = self.plain.iter().map(Vec::len).sum();
        plain
            + self.leaves.len()
            + (self.event_names.len() * 4 + self.leaf_paths.len()) * size_of::<u32>()
    }

    /// Adds the next row of the block.
    pub(super) fn push(&mut self, row: &Row, workspace_id: Uuid, texts: &Texts) {
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

        let NumberPlace { start, count } = row.numbers;
        for (path, value) in texts.numbers.iter().skip(start).take(count) {
            self.leaf_paths.push(*path);
            self.leaves.extend_from_slice(&value.to_le_bytes());
        }
        let offset = self.leaf_paths.len() as u64;
        self.plain[NUMBERS].extend_from_slice(&offset.to_le_bytes());

        let mut rest = texts.bytes.get(row.texts.start..).unwrap_or_default();
        for (column, length) in TEXT_COLUMNS.into_iter().zip(row.texts.lengths) {
            let (text, after) = rest.split_at(length as usize);
            write_string(&mut self.plain[column], text);
            rest = after;
        }
    }
}
