//! The bodies of campaigns in OpenAPI: the fields of a definition, most of which are optional.

use std::borrow::Cow;

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

use crate::model::{Definition, Status};

/// The body of `POST /campaigns`.
#[derive(Debug)]
pub(super) struct CampaignFields;

/// The body of `PUT /campaigns/:campaignId`.
#[derive(Debug)]
pub(super) struct CampaignChange;

/// A definition with a `status`, in which only these fields are required.
fn fields(required: &[&str]) -> RefOr<Schema> {
    let mut schema = Definition::schema();
    if let RefOr::T(Schema::Object(object)) = &mut schema {
        object.required = required.iter().map(|name| (*name).to_owned()).collect();
        object.properties.insert("status".to_owned(), Status::schema());
    }
    schema
}

impl PartialSchema for CampaignFields {
    fn schema() -> RefOr<Schema> {
        // `variants` are also required, for every channel but in_app.
        fields(&["name", "channel"])
    }
}

impl PartialSchema for CampaignChange {
    fn schema() -> RefOr<Schema> {
        fields(&[])
    }
}

impl ToSchema for CampaignFields {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("CampaignFields")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Definition::schemas(schemas);
    }
}

impl ToSchema for CampaignChange {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("CampaignChange")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Definition::schemas(schemas);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_mandatory_fields_are_required() {
        let written = |schema| serde_json::to_value::<RefOr<Schema>>(schema).unwrap();
        let (new, change) = (written(CampaignFields::schema()), written(CampaignChange::schema()));
        assert_eq!(new["required"], json!(["name", "channel"]));
        assert_eq!(change.get("required"), None);
        for name in Definition::FIELDS.iter().chain(&["status"]) {
            assert!(new["properties"].get(name).is_some(), "{name}");
            assert!(change["properties"].get(name).is_some(), "{name}");
        }
        assert_eq!(new["properties"].as_object().unwrap().len(), Definition::FIELDS.len() + 1);
    }
}
