//! What a body says of a campaign: any of its writable fields, laid over what is there.

use kernel::{
    Error, Result, Timestamp,
    fields::{Fields, read_object_by},
};
use serde_json::{Map, Value};
use web::http::FromBody;

use super::{Definition, Status};

/// What a time that is over is answered with.
pub const IN_THE_FUTURE: &str = "must be in the future";

/// A body to create or to change a campaign by. Its fields are judged as part of the whole they make
/// with what is there ([`Edit::over`]), so that each rule is written once.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    fields: Map<String, Value>,
    /// The status asked for.
    pub status: Option<Status>,
}

impl Edit {
    /// An edit of these fields.
    pub fn of(fields: Map<String, Value>) -> Self {
        Self { fields, status: None }
    }

    /// The campaign the edit makes by itself; a time it is to be sent at is not judged by the clock.
    ///
    /// # Errors
    /// Every complaint.
    pub fn alone(&self, workspace_zone: &str) -> Result<Definition> {
        read(&self.fields, |fields| Definition::read(fields, workspace_zone))
    }

    /// The new campaign it makes.
    ///
    /// # Errors
    /// Every complaint; among them, of a time that is over.
    pub fn create(&self, workspace_zone: &str, now: Timestamp) -> Result<Definition> {
        read(&self.fields, |fields| {
            let new = Definition::read(fields, workspace_zone);
            refuse_past(fields, (None, new.scheduled_at), now);
            new
        })
    }

    /// What the edit makes of a campaign: fields that were sent replace whole fields, null removes.
    ///
    /// # Errors
    /// Every complaint; among them, of a new time that is over.
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
            refuse_past(fields, (definition.scheduled_at, new.scheduled_at), now);
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

/// Refuses a time that is over, where it is another than before (DECISIONS F4).
fn refuse_past(
    fields: &mut Fields<'_>,
    (old, new): (Option<Timestamp>, Option<Timestamp>),
    now: Timestamp,
) {
    if new != old && new.is_some_and(|at| at <= now) {
        fields.refuse("scheduledAt", IN_THE_FUTURE);
    }
}

impl Definition {
    /// The form it is written out in.
    ///
    /// # Errors
    /// When that cannot be written, which is a fault of ours.
    pub fn written(&self) -> Result<Map<String, Value>> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => Ok(fields),
            Ok(_) => Err(Error::internal("a campaign is written as something else than an object")),
            Err(fault) => Err(Error::Internal(fault.into())),
        }
    }

    /// The same, as a value.
    ///
    /// # Errors
    /// As [`Definition::written`].
    pub fn value(&self) -> Result<Value> {
        self.written().map(Value::Object)
    }
}

impl FromBody for Edit {
    fn from_body(body: Option<&Value>) -> Result<Self> {
        let body = body.ok_or_else(|| Error::bad_request("body is not valid JSON: it is empty"))?;
        let fields =
            body.as_object().ok_or_else(|| Error::bad_request("body must be an object"))?;
        let status =
            read_object_by(fields, |fields| fields.optional("status").one_of(Status::NAMED))?;
        Ok(Self { fields: fields.clone(), status })
    }
}
