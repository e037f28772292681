//! The difference between two texts, line by line.

use maud::{Markup, html};

/// Most lines of a text that are compared; the work grows with their product.
const LINES_MAX: usize = 1_000;

/// A line of a difference.
#[derive(Debug, PartialEq, Eq)]
enum Line<'l> {
    Same(&'l str),
    Removed(&'l str),
    Added(&'l str),
}

/// What a text became. Longer texts are shown one after the other.
pub fn diff(before: &str, after: &str) -> Markup {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.lines().collect(), after.lines().collect());
    html! {
        pre class="diff" tabindex="0" {
            @for line in lines(&before, &after) {
                @match line {
                    Line::Same(text) => span { "  " (text) "\n" },
                    Line::Removed(text) => del { "− " (text) "\n" },
                    Line::Added(text) => ins { "+ " (text) "\n" },
                }
            }
        }
    }
}

/// The lines of both texts; a longest common part stands once.
fn lines<'l>(before: &[&'l str], after: &[&'l str]) -> Vec<Line<'l>> {
    let removed = before.iter().map(|line| Line::Removed(line));
    if before.len() > LINES_MAX || after.len() > LINES_MAX {
        return removed.chain(after.iter().map(|line| Line::Added(line))).collect();
    }
    // common[i][j]: lines that before[i..] and after[j..] have in common.
    let mut common = vec![vec![0_usize; after.len() + 1]; before.len() + 1];
    for i in (0..before.len()).rev() {
        for j in (0..after.len()).rev() {
            common[i][j] = if before[i] == after[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    while i < before.len() || j < after.len() {
        if i < before.len() && j < after.len() && before[i] == after[j] {
            found.push(Line::Same(before[i]));
            i += 1;
            j += 1;
        } else if j == after.len() || i < before.len() && common[i + 1][j] >= common[i][j + 1] {
            found.push(Line::Removed(before[i]));
            i += 1;
        } else {
            found.push(Line::Added(after[j]));
            j += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_lines_stand_once() {
        use Line::{Added, Removed, Same};
        assert_eq!(
            lines(&["a", "b", "c"], &["a", "x", "c", "d"]),
            [Same("a"), Removed("b"), Added("x"), Same("c"), Added("d")]
        );
        assert_eq!(lines(&[], &["a"]), [Added("a")]);
        assert!(lines(&[], &[]).is_empty());
    }
}
