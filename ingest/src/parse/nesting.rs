//! The open brackets around a position, one bit each.

/// Bits of one word.
const WORD_BITS: usize = 64;

/// A stack of open containers that needs no recursion: any depth a body can hold costs an eighth
/// of its bytes at most.
#[derive(Debug, Default)]
pub struct Nesting {
    /// One bit a container, 1 for an object.
    words: Vec<u64>,
    depth: usize,
}

impl Nesting {
    /// Containers open.
    pub fn depth(&self) -> usize {
        self.depth
    }

    pub(super) fn clear(&mut self) {
        self.depth = 0;
    }

    pub(super) fn push(&mut self, is_object: bool) {
        let (word, bit) = (self.depth / WORD_BITS, self.depth % WORD_BITS);
        if word == self.words.len() {
            self.words.push(0);
        }
        let mask = 1 << bit;
        if is_object {
            self.words[word] |= mask;
        } else {
            self.words[word] &= !mask;
        }
        self.depth += 1;
    }

    pub(super) fn pop(&mut self) {
        self.depth -= 1;
    }

    /// Whether the innermost container is an object; none outside of any.
    pub(super) fn innermost_is_object(&self) -> Option<bool> {
        let top = self.depth.checked_sub(1)?;
        Some(self.words[top / WORD_BITS] >> (top % WORD_BITS) & 1 == 1)
    }
}
