//! What a suppression is: which ledger, whom, why.

mod identifier;
mod ledger;
mod row;

pub use self::{
    identifier::Identifier,
    ledger::{Access, Ledger},
    row::{OptOut, Reason, Scope, Suppression},
};
