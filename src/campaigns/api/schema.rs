//! The bodies of campaigns in OpenAPI: the fields of a definition, most of which are optional.

use std::borrow::Cow;

use kernel::schema::NamedSchemas;
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

    fn schemas(schemas: &mut NamedSchemas) {
        Definition::schemas(schemas);
    }
}

impl ToSchema for CampaignChange {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("CampaignChange")
    }

    fn schemas(schemas: &mut NamedSchemas) {
        Definition::schemas(schemas);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use kernel::fields::describe::describe_by;
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::model::CampaignChannel;

    /// Keywords by which a schema limits a value.
    const LIMITS: &[&str] =
        &["minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "enum"];

    fn written(schema: RefOr<Schema>) -> Value {
        serde_json::to_value(schema).unwrap()
    }

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

    /// A difference in one field, and the channels of which it is true.
    type Differences = BTreeMap<(String, String), BTreeSet<&'static str>>;

    /// Compares what a reader enforces with what is described.
    struct Comparison {
        components: Map<String, Value>,
        channel: &'static str,
        /// The channels that have a field.
        channels: BTreeMap<String, BTreeSet<&'static str>>,
        differences: Differences,
    }

    impl Comparison {
        /// What a schema may be, without references and without null.
        fn alternatives(&self, schema: &Value) -> Vec<Value> {
            if let Some(name) = schema["$ref"].as_str() {
                let name = name.rsplit('/').next().unwrap();
                return self.alternatives(&self.components[name]);
            }
            let any = ["oneOf", "anyOf", "allOf"].iter().find_map(|it| schema[*it].as_array());
            match any {
                Some(parts) => parts.iter().flat_map(|part| self.alternatives(part)).collect(),
                None if schema["type"] == "null" => Vec::new(),
                None => vec![schema.clone()],
            }
        }

        fn differ(&mut self, place: &str, problem: String) {
            self.differences.entry((place.to_owned(), problem)).or_default().insert(self.channel);
        }

        fn compare(&mut self, enforced: &Value, described: &Value, place: &str) {
            let described = self.alternatives(described);
            self.channels.entry(place.to_owned()).or_default().insert(self.channel);
            for enforced in self.alternatives(enforced) {
                for limit in LIMITS {
                    let words = |it: &Value| match it.get(*limit)? {
                        Value::Array(words) => {
                            Some(words.iter().filter(|it| !it.is_null()).cloned().collect())
                        }
                        number => number.as_f64().map(Value::from),
                    };
                    // A minimum length of zero is no limit.
                    let enforces = words(&enforced).filter(|it| *it != 0.0 || *limit == "minimum");
                    let Some(enforced) = &enforces else { continue };
                    let found: Vec<Value> = described.iter().filter_map(words).collect();
                    // A closed set may be described in parts.
                    let parts = found.iter().filter_map(Value::as_array).flatten();
                    let all: Value = parts.cloned().collect();
                    if all != *enforced && !found.contains(enforced) {
                        let problem = format!("{limit} is {enforced}, described as {found:?}");
                        self.differ(place, problem);
                    }
                }
                if let Some(items) = enforced.get("items") {
                    let of: Vec<&Value> =
                        described.iter().filter_map(|it| it.get("items")).collect();
                    match of.first() {
                        Some(it) => self.compare(items, it, &format!("{place}[]")),
                        None => self.differ(place, "is not described as a list".to_owned()),
                    }
                }
                for (name, field) in enforced["properties"].as_object().into_iter().flatten() {
                    let of: Vec<&Value> =
                        described.iter().filter_map(|it| it["properties"].get(name)).collect();
                    let place = format!("{place}.{name}");
                    match of.as_slice() {
                        [] => self.differ(&place, "is not described".to_owned()),
                        [one] => self.compare(field, one, &place),
                        several => {
                            let any = json!({"anyOf": several});
                            self.compare(field, &any, &place);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_limit_of_a_campaign_is_described() {
        let mut comparison = Comparison {
            components: Map::new(),
            channel: "",
            channels: BTreeMap::new(),
            differences: BTreeMap::new(),
        };
        let mut described = Vec::new();
        CampaignFields::schemas(&mut described);
        for (channel, _) in CampaignChannel::NAMED {
            let given = Map::from_iter([("channel".to_owned(), json!(channel))]);
            let enforced = describe_by(&given, |fields| drop(Definition::read(fields, "UTC")));
            let all = described.iter().cloned().chain(enforced.components);
            comparison.components = all.map(|(name, schema)| (name, written(schema))).collect();
            comparison.channel = channel;
            let schema = written(enforced.schema);
            assert!(schema["properties"].as_object().unwrap().len() > 15, "{schema}");
            comparison.compare(&schema, &written(CampaignFields::schema()), "");
        }
        let Comparison { channels, differences, .. } = comparison;
        // Where limits differ by channel, the schema has those of one channel.
        let wrong: Vec<_> =
            differences.iter().filter(|((place, _), of)| channels[place].is_subset(of)).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
