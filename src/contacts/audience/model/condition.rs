//! A condition on the properties of an event, as triggers and conversions use it.

use kernel::{
    Timestamp,
    fields::{Fields, FromFields},
    schema::one_of_words,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{Criterion, Operator, Path};

/// `{field, operator, value}` on the property at `field`.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The path of the property.
    pub path: Path,
    /// The rule for its value.
    pub criterion: Criterion,
}

/// The name of an operator.
#[derive(Debug)]
struct OperatorName;

impl utoipa::PartialSchema for OperatorName {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        one_of_words(Operator::NAMED.iter().map(|(name, _)| *name))
    }
}

impl ToSchema for OperatorName {
    fn name() -> std::borrow::Cow<'static, str> {
        "Operator".into()
    }
}

/// A condition as it is sent and returned.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Condition)]
pub struct ConditionBody {
    /// Name of a property; a dot path reaches into objects.
    #[schema(min_length = 1, max_length = 255)]
    field: String,
    /// How the property is compared.
    #[schema(value_type = OperatorName)]
    operator: String,
    /// The operand; absent for `exists`, `is_true` and other operators without one.
    #[schema(value_type = Value)]
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
}

impl Condition {
    /// Whether the properties of an event meet it.
    pub fn holds(&self, properties: &Map<String, Value>, now: Timestamp) -> bool {
        self.criterion.holds(&self.path.values(properties), now)
    }

    /// The condition as the API returns it.
    pub fn body(&self) -> ConditionBody {
        ConditionBody {
            field: self.path.as_str().to_owned(),
            operator: self.criterion.operator_name().to_owned(),
            value: self.criterion.operand(),
        }
    }
}

impl FromFields for Condition {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let operators: Vec<Operator> = Operator::NAMED.iter().map(|(_, known)| *known).collect();
        Self { path: Path::read(body), criterion: Criterion::read(body, &operators) }
    }
}

impl Serialize for Condition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.body().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        super::stored(deserializer)
    }
}

impl utoipa::PartialSchema for Condition {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        ConditionBody::schema()
    }
}

impl ToSchema for Condition {
    fn name() -> std::borrow::Cow<'static, str> {
        "Condition".into()
    }

    fn schemas(schemas: &mut kernel::schema::NamedSchemas) {
        ConditionBody::schemas(schemas);
    }
}
