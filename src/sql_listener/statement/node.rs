//! Lines of a syntax tree, as `EXPLAIN AST` answers it.

/// A line of the tree.
pub(super) struct Node<'a> {
    pub(super) depth: usize,
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
    /// All that stands behind the kind.
    pub(super) rest: &'a str,
}

impl<'a> Node<'a> {
    pub(super) fn read(line: &'a str) -> Self {
        let text = line.trim_start_matches(' ');
        let depth = line.len() - text.len();
        let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
        Self { depth, kind, name: without_notes(rest), rest }
    }
}

/// A name without `(alias a)` and `(children 2)` behind it.
fn without_notes(mut name: &str) -> &str {
    for note in ["(children ", "(alias "] {
        if let Some((before, _)) = name.rsplit_once(note) {
            name = before;
        }
    }
    name.trim_end_matches(' ')
}
