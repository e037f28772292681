//! Checks whether a string can be written as JSON as it is: without a quote, a backslash or a control
//! character.
//!
//! Most strings are short: what is left after wide steps is looked at by words that overlap, not
//! byte by byte.

/// Bytes of one wide step.
const STEP_BYTES: usize = 16;
/// A one in each byte of a word.
const ONES: u64 = u64::MAX / 0xFF;
/// The highest bit of each byte of a word.
const HIGHEST: u64 = ONES << 7;

/// Whether no byte is special.
#[inline]
pub(super) fn is_plain(bytes: &[u8]) -> bool {
    let (steps, _) = bytes.as_chunks::<STEP_BYTES>();
    // Each step is three vector comparisons to compilers.
    if !steps.iter().all(|step| step.iter().fold(true, |plain, byte| plain & !is_special(*byte))) {
        return false;
    }
    let tail = bytes.get(steps.len() * STEP_BYTES..).unwrap_or_default();
    match (tail.first_chunk(), tail.last_chunk()) {
        (Some(first), Some(last)) => {
            !has_special(u64::from_le_bytes(*first)) & !has_special(u64::from_le_bytes(*last))
        }
        _ => is_short_plain(tail),
    }
}

/// Of fewer than eight bytes.
#[inline]
fn is_short_plain(bytes: &[u8]) -> bool {
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            !has_special(u64::from(first) << 32 | u64::from(last))
        }
        _ => !bytes.iter().any(|byte| is_special(*byte)),
    }
}

/// Whether one of the eight bytes of a word is special (Anderson, "Bit Twiddling Hacks", "Determine
/// if a word has a byte less than n").
#[inline]
fn has_special(word: u64) -> bool {
    let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | equal(b'"') | equal(b'\\')) & HIGHEST != 0
}

#[inline]
#[expect(
    clippy::needless_bitwise_bool,
    reason = "short circuits would keep lanes from being alike"
)]
fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    proptest! {
        #[test]
        fn a_special_byte_is_found_wherever_it_is(
            mut bytes in vec(any::<u8>(), 0..80),
            special in proptest::option::of((any::<prop::sample::Index>(), prop_oneof![Just(b'"'), Just(b'\\'), 0..0x20_u8])),
        ) {
            for byte in &mut bytes {
                *byte = (*byte).max(b'#');
                if *byte == b'\\' {
                    *byte = 0xFF;
                }
            }
            prop_assert!(is_plain(&bytes));
            if let Some((index, special)) = special && !bytes.is_empty() {
                let index = index.index(bytes.len());
                bytes[index] = special;
                prop_assert!(!is_plain(&bytes), "{:?}", bytes);
            }
        }
    }
}
