//! Finds where the plain part of a string ends: at a quote, a backslash or a control character.
//!
//! Most strings are short, so that one wide step usually finds the end and the branch that follows
//! is foreseen: this search is what parsing does most.

/// Bytes of one wide step.
const STEP_BYTES: usize = 16;

/// Length of the run before the first byte that is not plain; all of `bytes` when there is none.
#[inline]
pub(super) fn plain_bytes(bytes: &[u8]) -> usize {
    let (steps, tail) = bytes.as_chunks::<STEP_BYTES>();
    for (index, step) in steps.iter().enumerate() {
        // Compilers make three vector comparisons of this; a shorter way to a bit mask they miss.
        let mut lanes = [0; STEP_BYTES];
        for (lane, byte) in lanes.iter_mut().zip(step) {
            *lane = if is_special(*byte) { 0xFF } else { 0 };
        }
        let found = u128::from_le_bytes(lanes);
        if found != 0 {
            return index * STEP_BYTES + (found.trailing_zeros() / 8) as usize;
        }
    }
    let in_tail = tail.iter().position(|byte| is_special(*byte));
    steps.len() * STEP_BYTES + in_tail.unwrap_or(tail.len())
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
        fn the_first_special_byte_is_found_wherever_it_is(
            mut bytes in vec(any::<u8>(), 0..150),
            plain in 0_usize..150,
        ) {
            for byte in bytes.iter_mut().take(plain) {
                *byte = (*byte).max(b'#');
                if *byte == b'\\' {
                    *byte = 0xFF;
                }
            }
            let expected = bytes.iter().position(|byte| *byte == b'"' || *byte == b'\\' || *byte < 0x20);
            prop_assert_eq!(plain_bytes(&bytes), expected.unwrap_or(bytes.len()));
        }
    }
}
