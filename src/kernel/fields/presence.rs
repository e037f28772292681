//! What the absence of a field means: an error, nothing, or something other than null.

/// What was found where a field was looked for.
#[derive(Debug)]
pub enum Seen<T> {
    /// The field is not there.
    Absent,
    /// The field is null.
    Null,
    /// The field is there and right.
    Value(T),
    /// The field is there and wrong; its error is reported.
    Wrong,
}

/// A way to treat absence.
pub trait Presence {
    /// What a rule gives.
    type Out<T>;
    /// Whether absence is an error.
    const REQUIRED: bool;
    /// Turns what was found into what the rule gives.
    fn give<T>(seen: Seen<T>, placeholder: impl FnOnce() -> T) -> Self::Out<T>;
}

/// The field must be present and not null.
#[derive(Debug, Clone, Copy)]
pub struct Required;

impl Presence for Required {
    type Out<T> = T;
    const REQUIRED: bool = true;

    fn give<T>(seen: Seen<T>, placeholder: impl FnOnce() -> T) -> T {
        match seen {
            Seen::Value(value) => value,
            Seen::Absent | Seen::Null | Seen::Wrong => placeholder(),
        }
    }
}

/// May be absent; null is absent.
#[derive(Debug, Clone, Copy)]
pub struct Optional;

impl Presence for Optional {
    type Out<T> = Option<T>;
    const REQUIRED: bool = false;

    fn give<T>(seen: Seen<T>, _: impl FnOnce() -> T) -> Option<T> {
        match seen {
            Seen::Value(value) => Some(value),
            Seen::Absent | Seen::Null | Seen::Wrong => None,
        }
    }
}

/// Absent and null differ.
#[derive(Debug, Clone, Copy)]
pub struct Patched;

impl Presence for Patched {
    type Out<T> = Patch<T>;
    const REQUIRED: bool = false;

    fn give<T>(seen: Seen<T>, _: impl FnOnce() -> T) -> Patch<T> {
        match seen {
            Seen::Value(value) => Patch::Value(value),
            Seen::Null => Patch::Null,
            Seen::Absent | Seen::Wrong => Patch::Absent,
        }
    }
}

/// A change to one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Patch<T> {
    /// Not sent: leave it.
    #[default]
    Absent,
    /// Sent as null: clear it.
    Null,
    /// A value was sent: set it.
    Value(T),
}

impl Patch<String> {
    /// The new text where the field was sent; null clears it to an empty one.
    pub fn or_empty(self) -> Option<String> {
        self.is_sent().then(|| self.over(None).unwrap_or_default())
    }
}

impl<T> Patch<T> {
    /// Whether the field was sent.
    pub fn is_sent(&self) -> bool {
        !matches!(self, Self::Absent)
    }

    /// What the field becomes: the old value when it was not sent.
    pub fn over(self, old: Option<T>) -> Option<T> {
        match self {
            Self::Absent => old,
            Self::Null => None,
            Self::Value(new) => Some(new),
        }
    }

    /// The same change in another type.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Patch<U> {
        match self {
            Self::Absent => Patch::Absent,
            Self::Null => Patch::Null,
            Self::Value(value) => Patch::Value(f(value)),
        }
    }
}
