//! Values of a closed set of words; an error names the unknown word.

use kernel::fields::{Field, Presence, Required, Words};

/// Characters of an unknown word that the error repeats.
const SHOWN_CHARS_MAX: usize = 40;

/// Reads one of these words; `None` after an error that names the word that was sent.
pub(super) fn read<T: Copy>(field: Field<'_, Required>, words: &Words<T>) -> Option<T> {
    read_as(field, words)
}

/// The same for a field that may be absent.
pub(super) fn read_as<T: Copy, P: Presence>(
    field: Field<'_, P>,
    words: &Words<T>,
) -> P::Out<Option<T>> {
    field.parsed(None, |text| named(text, words).map(Some))
}

/// The value of the word, or the error that names it.
pub(super) fn named<T: Copy>(text: &str, words: &Words<T>) -> Result<T, String> {
    if let Some((_, value)) = words.iter().find(|(name, _)| *name == text) {
        return Ok(*value);
    }
    let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
    let shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    Err(format!("must be one of: {}; \"{shown}\" is not", names.join(", ")))
}
