//! Where a value stands in the properties.

use std::fmt::Write;

/// Characters of a path shown in a message.
const SHOWN_CHARS_MAX: usize = 64;

/// Where a value stands in its container.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// The path of the open container, without the root.
#[derive(Debug, Default)]
pub(super) struct Path(String);

impl Path {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Extends the path; gives what [`leave`](Self::leave) takes.
    pub(super) fn enter(&mut self, step: Step<'_>) -> usize {
        let outer = self.0.len();
        match step {
            Step::Key(key) => {
                if outer > 0 {
                    self.0.push('.');
                }
                self.0.push_str(key);
            }
            Step::Index(index) => write!(self.0, "[{index}]").unwrap_or_default(),
        }
        outer
    }

    pub(super) fn leave(&mut self, outer: usize) {
        self.0.truncate(outer);
    }

    /// The message about the value at `step`.
    #[cold]
    pub(super) fn message(&mut self, step: Step<'_>, message: &str) -> String {
        let outer = self.enter(step);
        let mut shown = String::new();
        for character in self.0.chars().take(SHOWN_CHARS_MAX) {
            if character.is_control() {
                write!(shown, "\\u{:04x}", character as u32).unwrap_or_default();
            } else {
                shown.push(character);
            }
        }
        if self.0.chars().nth(SHOWN_CHARS_MAX).is_some() {
            shown.push('…');
        }
        self.leave(outer);
        let separator = if shown.starts_with('[') { "" } else { "." };
        format!("properties{separator}{shown} {message}")
    }
}
