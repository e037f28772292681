//! Suppressions: the ledger, the identifier and the reason.

mod identifier;
mod ledger;
mod row;

pub use self::{
    identifier::{Identifier, LedgerAddress, Renumbered},
    ledger::{Access, Ledger},
    row::{Import, ImportedRow, LedgerSize, OptOut, Reason, Scope, Suppression},
};
