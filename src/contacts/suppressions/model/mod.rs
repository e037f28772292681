//! Suppressions: the ledger, the identifier, the reason and the history.

mod history;
mod identifier;
mod ledger;
mod row;

pub use self::{
    history::{HistoryAction, HistoryEntry},
    identifier::{Identifier, LedgerAddress, Renumbered},
    ledger::{Access, Ledger},
    row::{Import, ImportedRow, LedgerSize, OptOut, Reason, Scope, Suppression},
};
