//! ClickHouse's `Native` format, as far as events need it.
//!
//! A block is: number of columns, number of rows (both as unsigned LEB128), then for each column
//! its name, its type (both strings) and its values. Written as ClickHouse does without a protocol
//! revision, which is how it reads `FORMAT Native` over HTTP. Checked byte by byte against
//! ClickHouse 26.7. Sources: <https://clickhouse.com/docs/interfaces/formats/Native>; ClickHouse,
//! `src/Formats/NativeReader.cpp`, `src/DataTypes/Serializations/SerializationLowCardinality.cpp`.

use std::collections::HashMap;

use ahash::RandomState;
use uuid::Uuid;

/// `SharedDictionariesWithAdditionalKeys`: the only version of `LowCardinality` there is.
const LOW_CARDINALITY_VERSION: u64 = 1;
/// `HasAdditionalKeysBit | NeedUpdateDictionary`: the block brings its dictionary along.
const LOW_CARDINALITY_FLAGS: u64 = 0x600;

/// Appends an unsigned LEB128 number.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "seven bits are taken at a time")]
pub(super) fn write_var_uint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push((value & 0x7F) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a string: its length, then its bytes.
#[inline]
pub(super) fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    write_var_uint(out, text.len());
    out.extend_from_slice(text);
}

/// Appends a UUID: its halves one after the other, each little-endian.
#[inline]
pub(super) fn write_uuid(out: &mut Vec<u8>, id: Uuid) {
    let (first, second) = id.as_u64_pair();
    out.extend_from_slice(&first.to_le_bytes());
    out.extend_from_slice(&second.to_le_bytes());
}

/// Appends a column's name and type.
pub(super) fn write_column_header(out: &mut Vec<u8>, name: &str, kind: &str) {
    write_string(out, name.as_bytes());
    write_string(out, kind.as_bytes());
}

/// Bytes of a column's name and type as they are written; both are short.
pub(super) const fn column_header_bytes(name: &str, kind: &str) -> usize {
    debug_assert!(name.len() < 0x80 && kind.len() < 0x80);
    1 + name.len() + 1 + kind.len()
}

/// The distinct strings of a column. Number 0 is the empty string, the type's default.
#[derive(Debug)]
pub(super) struct Dictionary {
    numbers: HashMap<Box<str>, u32, RandomState>,
    /// The strings in order of their numbers, as they are written.
    encoded: Vec<u8>,
}

impl Default for Dictionary {
    fn default() -> Self {
        Self { numbers: HashMap::default(), encoded: vec![0] }
    }
}

impl Dictionary {
    /// The number of a string, a new one when it is new.
    #[inline]
    pub(super) fn number(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        match self.numbers.get(text) {
            Some(number) => *number,
            None => self.add(text),
        }
    }

    fn add(&mut self, text: &str) -> u32 {
        let number = u32::try_from(self.len()).expect("a block is far below 2^32 strings");
        self.numbers.insert(text.into(), number);
        write_string(&mut self.encoded, text.as_bytes());
        number
    }

    /// Strings, the empty one included.
    fn len(&self) -> usize {
        self.numbers.len() + 1
    }

    /// For every number, the rank of its string among all by their bytes.
    pub(super) fn ranks(&self) -> Vec<u32> {
        let mut sorted: Vec<(&str, u32)> =
            self.numbers.iter().map(|(text, number)| (text.as_ref(), *number)).collect();
        sorted.sort_unstable();
        debug_assert!(
            sorted.is_sorted_by(|(one, _), (next, _)| one < next),
            "each string has one number"
        );
        let mut ranks = vec![0; self.len()];
        for ((_, number), rank) in sorted.into_iter().zip(1..) {
            ranks[number as usize] = rank;
        }
        ranks
    }

    /// Appends what comes before all values of a column of these strings.
    pub(super) fn write_prefix(out: &mut Vec<u8>) {
        out.extend_from_slice(&LOW_CARDINALITY_VERSION.to_le_bytes());
    }

    /// Appends the dictionary and the numbers of the values; nothing when there are none.
    #[expect(clippy::cast_possible_truncation, reason = "the width is that of the largest number")]
    pub(super) fn write_values(&self, out: &mut Vec<u8>, numbers: &[u32]) {
        if numbers.is_empty() {
            return;
        }
        debug_assert!(
            numbers.iter().all(|number| (*number as usize) < self.len()),
            "every value is in the dictionary"
        );
        let (width, width_flag) = match self.len() {
            0..=0x100 => (1, 0_u64),
            0x101..=0x1_0000 => (2, 1),
            _ => (4, 2),
        };
        for count in [LOW_CARDINALITY_FLAGS | width_flag, self.len() as u64] {
            out.extend_from_slice(&count.to_le_bytes());
        }
        out.extend_from_slice(&self.encoded);
        out.extend_from_slice(&(numbers.len() as u64).to_le_bytes());
        out.reserve(numbers.len() * width);
        match width {
            1 => out.extend(numbers.iter().map(|number| *number as u8)),
            2 => out.extend(numbers.iter().flat_map(|number| (*number as u16).to_le_bytes())),
            _ => out.extend(numbers.iter().flat_map(|number| number.to_le_bytes())),
        }
    }
}
