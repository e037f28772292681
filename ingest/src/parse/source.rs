//! From the nodes of a tape back to the text they were read from.
//!
//! simd-json gives no positions, but it decodes strings where they stand in its copy of the text: a
//! string's address is its position. Each step is checked against the text, so that a parser that
//! did otherwise would cost time and not correctness.

/// A parsed text as it was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'t> {
    pub(super) text: &'t [u8],
    /// Address of the copy that the strings of the tape are in.
    pub(super) copied_to: usize,
}

/// A string of a tape, by its address, and how many containers are open around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) address: usize,
    pub(crate) depth: usize,
}

impl<'t> Source<'t> {
    /// The text of the object that is the value of a key. `last` is the last string in it, with the
    /// object itself counted as open; none when there is no string in it.
    pub(crate) fn object_after(&self, key: &str, last: Option<Mark>) -> Option<&'t str> {
        let key_end = self.position(key.as_ptr().addr())?.checked_add(key.len())?;
        let colon = self.after(key_end, b'"')?;
        let value = self.after(self.blank_end(colon), b':')?;
        let begin = self.blank_end(value);
        let inside = self.after(begin, b'{')?;
        let (mut at, mut open) = match last {
            Some(Mark { address, depth }) => (self.string_end(self.position(address)?)?, depth),
            None => (inside, 1),
        };
        // No string is left, so that a bracket is a bracket.
        loop {
            match self.text.get(at)? {
                b'{' | b'[' => open += 1,
                b'}' | b']' => open = open.checked_sub(1)?,
                b'"' => return None,
                _ => {}
            }
            at += 1;
            if open == 0 {
                return str::from_utf8(self.text.get(begin..at)?).ok();
            }
        }
    }

    /// Where the object begins that has this as its first key.
    pub(crate) fn object_before(&self, key: &str) -> Option<usize> {
        let quote = self.position(key.as_ptr().addr())?.checked_sub(1)?;
        let begin = self.text.get(..quote)?.trim_ascii_end().len().checked_sub(1)?;
        (self.text.get(begin) == Some(&b'{')).then_some(begin)
    }

    /// Where a string begins, behind its quote.
    fn position(&self, address: usize) -> Option<usize> {
        let position = address.checked_sub(self.copied_to)?;
        (self.text.get(position.checked_sub(1)?) == Some(&b'"')).then_some(position)
    }

    /// Behind the closing quote of the string that begins there.
    fn string_end(&self, begin: usize) -> Option<usize> {
        let mut at = begin;
        loop {
            match self.text.get(at)? {
                b'"' => return Some(at + 1),
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
    }

    /// Behind this byte, where it stands there.
    fn after(&self, at: usize, byte: u8) -> Option<usize> {
        (self.text.get(at) == Some(&byte)).then_some(at + 1)
    }

    /// Behind the white space that begins there.
    fn blank_end(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        at + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
    }
}
