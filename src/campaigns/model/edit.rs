//! Edits of a campaign: a body with any of the writable fields, applied to the stored definition.

use kernel::{
    Error, Result, Timestamp,
    fields::{Fields, FromFields, read_object_by},
};
use serde_json::{Map, Value};

use super::{Definition, Status};

/// The error for a time in the past.
pub const IN_THE_FUTURE: &str = "must be in the future";

/// A body that creates or changes a campaign. Its fields are validated as part of the resulting definition
/// ([`Edit::over`]), so that each rule exists once.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    fields: Map<String, Value>,
    /// The status that the caller asks for.
    pub status: Option<Status>,
}

impl Edit {
    pub fn of(fields: Map<String, Value>) -> Self {
        Self { fields, status: None }
    }

    /// The definition from this edit alone, without checking its times against the clock.
    ///
    /// # Errors
    /// Every invalid field.
    pub fn alone(&self, workspace_zone: &str) -> Result<Definition> {
        read(&self.fields, |fields| Definition::read(fields, workspace_zone))
    }

    /// The definition of a new campaign.
    ///
    /// # Errors
    /// Every invalid field, including a time in the past.
    pub fn create(&self, workspace_zone: &str, now: Timestamp) -> Result<Definition> {
        read(&self.fields, |fields| {
            let new = Definition::read(fields, workspace_zone);
            refuse_past(fields, None, new.scheduled_at, now);
            new
        })
    }

    /// Applies the edit to a definition: sent fields replace whole fields, null removes.
    ///
    /// # Errors
    /// Every invalid field, including a new time in the past.
    pub fn over(
        &self,
        definition: &Definition,
        workspace_zone: &str,
        now: Timestamp,
    ) -> Result<Definition> {
        let mut fields = definition.written()?;
        for name in Definition::FIELDS {
            if let Some(value) = self.fields.get(*name) {
                fields.insert((*name).to_owned(), value.clone());
            }
        }
        read(&fields, |fields| {
            let new = Definition::read(fields, workspace_zone);
            refuse_past(fields, definition.scheduled_at, new.scheduled_at, now);
            new
        })
    }
}

fn read(
    fields: &Map<String, Value>,
    by: impl FnOnce(&mut Fields<'_>) -> Definition,
) -> Result<Definition> {
    Ok(read_object_by(fields, by)?)
}

/// Refuses a time in the past unless it is unchanged.
fn refuse_past(
    fields: &mut Fields<'_>,
    old: Option<Timestamp>,
    new: Option<Timestamp>,
    now: Timestamp,
) {
    if new != old && new.is_some_and(|at| at <= now) {
        fields.refuse("scheduledAt", IN_THE_FUTURE);
    }
}

impl Definition {
    /// The serialized form.
    ///
    /// # Errors
    /// If serialization fails, which is a bug.
    pub fn written(&self) -> Result<Map<String, Value>> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => Ok(fields),
            Ok(_) => Err(Error::internal("a campaign is written as something else than an object")),
            Err(fault) => Err(Error::Internal(fault.into())),
        }
    }

    /// The serialized form as a value.
    ///
    /// # Errors
    /// As [`Definition::written`].
    pub fn value(&self) -> Result<Value> {
        self.written().map(Value::Object)
    }
}

impl FromFields for Edit {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let status = body.optional("status").one_of(Status::NAMED);
        Self { fields: body.sent().clone(), status }
    }
}
