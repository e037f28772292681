//! Walks the nodes of a tape. A value is the slice of nodes that begins with its own.

use simd_json::{Node, StaticNode};

/// Nodes of the value that begins with `node`.
#[inline]
fn size(node: &Node<'_>) -> usize {
    match node {
        Node::Object { count, .. } | Node::Array { count, .. } => count + 1,
        Node::String(_) | Node::Static(_) => 1,
    }
}

/// The value at the beginning of `nodes`, and the nodes after it.
#[inline]
fn split<'t, 'a>(nodes: &'t [Node<'a>]) -> Option<(&'t [Node<'a>], &'t [Node<'a>])> {
    nodes.split_at_checked(size(nodes.first()?))
}

/// Keys and values of an object.
#[inline]
pub(crate) fn members<'t, 'a>(
    object: &'t [Node<'a>],
) -> impl Iterator<Item = (&'a str, &'t [Node<'a>])> + Clone {
    let mut rest = object.get(1..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (Node::String(key), values) = rest.split_first()? else { return None };
        let (value, after) = split(values)?;
        rest = after;
        Some((*key, value))
    })
}

/// Values of an array.
#[inline]
pub(crate) fn elements<'t, 'a>(array: &'t [Node<'a>]) -> impl Iterator<Item = &'t [Node<'a>]> {
    let mut rest = array.get(1..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (value, after) = split(rest)?;
        rest = after;
        Some(value)
    })
}

/// The nearest double of a number; none of anything else.
#[inline]
#[expect(clippy::cast_precision_loss, reason = "the nearest double is what is asked for")]
pub(crate) fn number(node: StaticNode) -> Option<f64> {
    match node {
        StaticNode::I64(integer) => Some(integer as f64),
        StaticNode::U64(integer) => Some(integer as f64),
        StaticNode::F64(double) => Some(double),
        StaticNode::Bool(_) | StaticNode::Null => None,
    }
}
