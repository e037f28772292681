//! Suppressions: the ledger, the identifier and the reason.

mod identifier;
mod ledger;
mod row;

pub use self::{
    identifier::Identifier,
    ledger::{Access, Ledger},
    row::{OptOut, Reason, Scope, Suppression},
};
