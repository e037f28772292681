//! The syntax tree of a statement, as the engine's own parser sees it (`EXPLAIN AST`): a second opinion on what was read
//! from the words.
//!
//! The tree is a line for each node: its kind, its name, an alias and the number of its children. A name with a line feed
//! could make lines of its own, but take none away; the checks below only look for what must not be there.

use analytics::sql_access::{OPEN_SYSTEM_TABLES, ViewDatabases};

use super::{
    Reach,
    casts::Casts,
    functions::{self, Denied},
    names::SYSTEM,
    node::Node,
};
use crate::{
    catalog::{DATABASE, SYSTEM_VIEWS, VIEWS},
    fault::{Code, Fault},
};

/// Nodes that queries are made of. What is not here is refused: statements of other kinds, and what a newer engine adds.
const NODES: [&str; 34] = [
    "ArrayJoin",
    "Asterisk",
    "ColumnsApplyTransformer",
    "ColumnsExceptTransformer",
    "ColumnsListMatcher",
    "ColumnsRegexpMatcher",
    "ColumnsReplaceTransformer",
    "ColumnsReplaceTransformer::Replacement",
    "ColumnsTransformerList",
    "DescribeQuery",
    "Explain",
    "ExpressionList",
    "Function",
    "Identifier",
    "InterpolateElement",
    "Literal",
    "OrderByElement",
    "QualifiedAsterisk",
    "QualifiedColumnsListMatcher",
    "QualifiedColumnsRegexpMatcher",
    "QueryParameter",
    "SampleRatio",
    "SelectIntersectExceptQuery",
    "SelectQuery",
    "SelectWithUnionQuery",
    "Subquery",
    "TableExpression",
    "TableIdentifier",
    "TableJoin",
    "TablesInSelectQuery",
    "TablesInSelectQueryElement",
    "WindowDefinition",
    "WindowListElement",
    "WithElement",
];
const APPLY: &str = "ColumnsApplyTransformer";

/// What the tree of a statement must be like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tree {
    databases: ViewDatabases,
    /// Column transformers whose functions were checked: the tree does not name them.
    applied: usize,
}

impl Tree {
    pub(super) fn new(reach: Reach<'_>, applied: usize) -> Self {
        Self { databases: reach.databases.clone(), applied }
    }

    /// Refuses a tree with anything in it that may not be there.
    pub(crate) fn check(&self, tree: &str, denied: &Denied) -> Result<(), Fault> {
        let mut applied = 0;
        let mut table_at = None;
        let mut casts = Casts::default();
        for line in tree.lines() {
            let node = Node::read(line);
            if !NODES.contains(&node.kind) {
                return Err(refused(node.kind));
            }
            casts.check(&node)?;
            let is_table = table_at.is_some_and(|depth| depth + 1 == node.depth);
            table_at = match node.kind {
                "TableExpression" => Some(node.depth),
                _ => table_at.filter(|depth| node.depth > *depth),
            };
            match node.kind {
                "Function" if is_table => check_table_function(node.name)?,
                "Function" if !functions::may_be_called(node.name) => {
                    return Err(refused(node.name));
                }
                "TableIdentifier" => self.check_table(node.name)?,
                "Identifier" => check_identifier(node.name, denied)?,
                APPLY => applied += 1,
                _ => {}
            }
        }
        if applied == self.applied { Ok(()) } else { Err(refused("APPLY")) }
    }

    /// A view, or a name of the statement's own.
    fn check_table(&self, name: &str) -> Result<(), Fault> {
        let Some((database, table)) = name.split_once('.') else { return Ok(()) };
        let ViewDatabases { whole, without_people, system } = &self.databases;
        let is_known = if database == whole || database == without_people {
            VIEWS.contains(&table)
        } else if database == system {
            SYSTEM_VIEWS.contains(&table)
        } else {
            database == SYSTEM && OPEN_SYSTEM_TABLES.contains(&table)
        };
        if is_known {
            return Ok(());
        }
        let shown = if self.databases.all().contains(&database) {
            format!("{DATABASE}.{}", table.escape_default())
        } else {
            name.escape_default().to_string()
        };
        Err(Fault::new(Code::UnknownTable, format!("Table {shown} does not exist")))
    }
}

fn check_table_function(name: &str) -> Result<(), Fault> {
    if functions::TABLE_FUNCTIONS.contains(&name) { Ok(()) } else { Err(refused(name)) }
}

fn check_identifier(name: &str, denied: &Denied) -> Result<(), Fault> {
    let is_function = !name.contains('.') && denied.has(name);
    if is_function { Err(refused(name)) } else { Ok(()) }
}

fn refused(name: &str) -> Fault {
    let name = name.escape_default();
    Fault::new(Code::AccessDenied, format!("Not enough privileges: {name} is not available here"))
}
