//! The API's description, generated from the mounted routes: `GET /openapi.json`, and `GET /docs`, a page to
//! read it that is compiled into the program.

use axum::{Router, response::IntoResponse, routing};
use http::header::CONTENT_TYPE;
use kernel::schema::QueryMoment;
use utoipa::{
    PartialSchema as _, ToSchema,
    openapi::{
        Components, Content, License, OpenApi, PathItem, Ref, RefOr, Response,
        path::{Operation, Parameter, ParameterIn},
        request_body::RequestBody,
        schema::{Schema, SchemaType, Type},
        security::{
            ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
        },
    },
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_swagger_ui::{Config, SwaggerUi};

use super::envelope::Envelope;

/// The path of the description.
const DESCRIPTION_PATH: &str = "/openapi.json";
/// Name of the security scheme of the API.
const BEARER: &str = "bearer";
/// Name of the security scheme of client SDKs, which their operations name themselves.
const SDK_KEY: &str = "sdk_key";
/// Name of the security scheme of the users of apps.
const USER_TOKEN: &str = "user_token";
/// Operations with this tag need no credential.
const OPEN_TAG: &str = "health";

/// Finishes a router: describes all of its routes and mounts the description.
pub fn finish<S: Clone + Send + Sync + 'static>(router: OpenApiRouter<S>) -> Router<S> {
    let (router, described) = router.split_for_parts();
    let document = completed(described);
    let json = document.to_json().expect("a description always serializes");
    let describe = async move || ([(CONTENT_TYPE, "application/json")], json).into_response();
    // The validator's badge would send a request to a server on the internet.
    let page = SwaggerUi::new("/docs").config(Config::from(DESCRIPTION_PATH).validator_url("none"));
    router.route(DESCRIPTION_PATH, routing::get(describe)).merge(page)
}

/// An answer with a body of a type that is described elsewhere, too.
pub fn answer_with<T: ToSchema>() -> Response {
    let body = Content::new(Some(Ref::from_schema_name(T::name())));
    Response::builder().content("application/json", body).build()
}

/// An answer that a sentence describes.
pub fn answer(description: &str) -> Response {
    Response::builder().description(description).build()
}

const THROTTLED: &str = "Too many requests, or too many of keys that do not exist; `Retry-After` says when to come back";

/// The description of the routes in a router.
pub fn description<S: Clone + Send + Sync + 'static>(router: OpenApiRouter<S>) -> OpenApi {
    completed(router.into_openapi())
}

/// Adds 429 to the responses of every operation described so far: those of routes with a rate limit.
pub(super) fn describe_rate_limit(document: &mut OpenApi) {
    for operation in document.paths.paths.values_mut().flat_map(operations) {
        describe_refusal(operation, "429", THROTTLED);
    }
}

/// Adds the parts common to all operations: title, credential, error body.
fn completed(mut document: OpenApi) -> OpenApi {
    "Millrace".clone_into(&mut document.info.title);
    env!("CARGO_PKG_VERSION").clone_into(&mut document.info.version);
    let description = "Customer engagement: profiles, events, consent, suppressions, campaigns. Fields that are \
         not described are ignored; a text with a NUL character is refused.";
    document.info.description = Some(description.to_owned());
    // utoipa fills in its own contact and licence.
    document.info.contact = None;
    document.info.license = Some(License::new(env!("CARGO_PKG_LICENSE")));
    let components = document.components.get_or_insert_with(Components::new);
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("An API key made by `millrace keys create`."))
        .build();
    components.add_security_scheme(BEARER, SecurityScheme::Http(bearer));
    let sdk_key = ApiKeyValue::with_description(
        "x-sdk-key",
        "A key made by `millrace keys create --sdk`, which every copy of an app may hold.",
    );
    components.add_security_scheme(SDK_KEY, SecurityScheme::ApiKey(ApiKey::Header(sdk_key)));
    let user_token = ApiKeyValue::with_description(
        "x-user-token",
        "A JWT of the app's user, signed by the workspace's backend: HS256 with the secret of `millrace sdk \
         secret`, or ES256 or RS256 with a key of `millrace sdk keys add`. `sub` is the user's external id, `exp` \
         at most 24 hours ahead. Required unless `[sdk] identity` is `optional`.",
    );
    components.add_security_scheme(USER_TOKEN, SecurityScheme::ApiKey(ApiKey::Header(user_token)));
    components.schemas.insert(Envelope::name().into_owned(), Envelope::schema());
    // These schemas are only used in parameters, where utoipa does not collect them.
    components.schemas.insert(QueryMoment::name().into_owned(), QueryMoment::schema());
    for item in document.paths.paths.values_mut() {
        // A `POST` without fields accepts a body and ignores it.
        if let Some(post) = &mut item.post {
            describe_body_refusals(post);
        }
        operations(item).for_each(complete);
    }
    document
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, head, options, .. } = item;
    [get, put, post, delete, patch, head, options].into_iter().flatten()
}

fn complete(operation: &mut Operation) {
    let is_open = operation.tags.iter().flatten().any(|tag| tag == OPEN_TAG);
    if !is_open && operation.security.is_none() {
        let no_scopes: [&str; 0] = [];
        operation.security = Some(vec![SecurityRequirement::new(BEARER, no_scopes)]);
    }
    let is_guarded = operation.security.is_some();
    let parameters = operation.parameters.iter().flatten();
    let is_of_path =
        |it: &RefOr<Parameter>| matches!(it, RefOr::T(it) if it.parameter_in == ParameterIn::Path);
    let names_something = parameters.clone().any(is_of_path);
    let takes_body = operation.request_body.is_some();
    let reads = takes_body || parameters.count() > 0;
    let refusals = [
        (reads, "400", "A field, parameter or body that breaks a rule; `errors` names each"),
        (is_guarded, "401", "No credential, or none that is valid"),
        (
            is_guarded,
            "403",
            "The credential does not reach this far, or lacks the scope that the message names",
        ),
        (is_guarded, "429", THROTTLED),
        (names_something, "404", "What the path names is not there, or of another workspace"),
        (
            true,
            "503",
            "Something needed is away for the moment; `Retry-After` says when to come back",
        ),
        (true, "default", "Any other refusal or failure, in the same form"),
    ];
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        refuse_null(body);
    }
    if takes_body {
        describe_body_refusals(operation);
    }
    for (applies, status, description) in refusals {
        if applies {
            describe_refusal(operation, status, description);
        }
    }
    for (status, response) in &mut operation.responses.responses {
        if let RefOr::T(response) = response
            && status.starts_with(['4', '5'])
            && response.content.is_empty()
        {
            response.content = refusal(&response.description).content;
        }
    }
}

/// An optional body may be absent but not null.
fn refuse_null(body: &mut RequestBody) {
    let is_null = |schema: &RefOr<Schema>| match schema {
        RefOr::T(Schema::Object(object)) => object.schema_type == SchemaType::Type(Type::Null),
        _ => false,
    };
    for content in body.content.values_mut() {
        if let RefOr::T(content) = content
            && let Some(RefOr::T(Schema::OneOf(one_of))) = &mut content.schema
            && one_of.items.iter().any(is_null)
        {
            one_of.items.retain(|item| !is_null(item));
        }
    }
}

fn describe_body_refusals(operation: &mut Operation) {
    describe_refusal(
        operation,
        "400",
        "A field, parameter or body that breaks a rule; `errors` names each",
    );
    describe_refusal(operation, "413", "The body is over its limit");
    describe_refusal(operation, "415", "The body is not JSON, or packed in a way not known");
}

/// Adds an error to the responses of an operation, unless it is described already.
fn describe_refusal(operation: &mut Operation, status: &str, description: &str) {
    let responses = &mut operation.responses.responses;
    responses.entry(status.to_owned()).or_insert_with(|| RefOr::T(refusal(description)));
}

fn refusal(description: &str) -> Response {
    let body = Content::new(Some(Ref::from_schema_name(Envelope::name())));
    Response::builder().description(description).content("application/json", body).build()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use utoipa_axum::routes;

    use super::*;

    #[utoipa::path(
        post,
        path = "/things/{id}",
        tag = "things",
        params(("id" = String, Path, description = "Its id")),
        request_body = String,
        responses((status = 200, description = "made"))
    )]
    async fn create_thing() {}

    #[utoipa::path(get, path = "/livez", tag = "health", responses((status = 200)))]
    async fn livez() {}

    fn described() -> Value {
        let mut router =
            OpenApiRouter::<()>::new().routes(routes!(create_thing)).routes(routes!(livez));
        serde_json::to_value(completed(router.to_openapi())).unwrap()
    }

    #[test]
    fn every_operation_names_its_credential_and_the_error_body() {
        let document = described();
        let operation = &document["paths"]["/things/{id}"]["post"];
        assert_eq!(operation["security"], json!([{"bearer": []}]));
        let reference = &operation["responses"]["default"]["content"]["application/json"]["schema"];
        assert_eq!(reference["$ref"], "#/components/schemas/Error");
        let error = &document["components"]["schemas"]["Error"]["properties"];
        for field in ["statusCode", "message", "errors", "timestamp", "path"] {
            assert!(error.get(field).is_some(), "{field} is missing in {error}");
        }
        assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
    }

    #[test]
    fn health_checks_ask_for_no_credential() {
        let operation = &described()["paths"]["/livez"]["get"];
        assert!(operation.get("security").is_none());
        let statuses: Vec<&String> = operation["responses"].as_object().unwrap().keys().collect();
        assert_eq!(statuses, ["200", "503", "default"]);
    }

    #[test]
    fn refusals_are_listed_where_they_can_happen() {
        let document = described();
        let responses = &document["paths"]["/things/{id}"]["post"]["responses"];
        let statuses: Vec<&String> = responses.as_object().unwrap().keys().collect();
        assert_eq!(
            statuses,
            ["200", "400", "401", "403", "404", "413", "415", "429", "503", "default"]
        );
        assert_eq!(responses["200"]["description"], "made");
    }
}
