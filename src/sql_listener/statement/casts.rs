//! Types that values are cast to. A caller's bytes cast to `AggregateFunction` would become the state of an aggregate
//! function as it never is, and those functions trust their states: with some they run for hours, or beyond their memory.

use super::node::Node;
use crate::fault::Fault;

/// Functions whose second argument is the name of a type.
const CASTS: [&str; 5] =
    ["cast", "_cast", "accuratecast", "accuratecastordefault", "accuratecastornull"];
const STATE: &str = "AggregateFunction";
/// Depth of arguments below their function: there is a list between them.
const ARGUMENT_DEPTH: usize = 2;

/// A call of a cast in a syntax tree, and the arguments that were seen of it.
#[derive(Debug)]
struct Cast {
    depth: usize,
    arguments: usize,
}

/// The casts around a node of a syntax tree.
#[derive(Debug, Default)]
pub(super) struct Casts(Vec<Cast>);

impl Casts {
    /// Takes the next node. A type is a text, so that it can be read, and it is not that of states.
    pub(super) fn check(&mut self, node: &Node<'_>) -> Result<(), Fault> {
        while self.0.pop_if(|cast| cast.depth >= node.depth).is_some() {}
        if let Some(cast) = self.0.last_mut()
            && cast.depth + ARGUMENT_DEPTH == node.depth
        {
            cast.arguments += 1;
            if cast.arguments == 2 && !(node.kind == "Literal" && is_allowed(node.rest)) {
                return Err(Fault::denied(
                    "Not enough privileges: a type to cast to is a text, and not AggregateFunction",
                ));
            }
        }
        if node.kind == "Function" && CASTS.contains(&node.name.to_ascii_lowercase().as_str()) {
            self.0.push(Cast { depth: node.depth, arguments: 0 });
        }
        Ok(())
    }
}

/// Whether the text of a type has neither that of states nor escapes that could spell it: `\\x46` within quoted names.
fn is_allowed(text: &str) -> bool {
    let mut parts = text.split('\\').skip(1);
    let has_escape = parts.any(|part| part.starts_with(|it: char| it.is_ascii_alphanumeric()));
    !has_escape && !text.contains(STATE)
}
