//! `/v1/devices`: the devices that a person gets push notifications on.

use axum::{Json, extract::State};
use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use delivery::ops::devices;
use kernel::fields::describe::described;
use kernel::{
    Error, FieldError, Result,
    fields::{Fields, FromFields},
    schema::text_of,
};
use providers::model::{Device, NewDevice, Platform};
use serde::Serialize;
use url::Url;
use utoipa::{ToSchema, openapi::ObjectBuilder};
use utoipa_axum::{router::OpenApiRouter, routes};
use web::http::{ApiResult, Body, FromPath, PathOf, Upserted};

use super::person::{AppUser, Person};
use crate::{
    SdkState,
    ops::subject::{self, Subject},
};

pub(super) fn routes() -> OpenApiRouter<SdkState> {
    OpenApiRouter::new().routes(routes!(register_device)).routes(routes!(remove_device))
}

/// Characters of a token: what a PostgreSQL index entry has room for, and eight times an FCM token.
const TOKEN_CHARS_MAX: usize = 2_048;
const APP_ID_CHARS_MAX: usize = 255;
/// Characters of a key of a web push subscription; `p256dh` has 87, `auth` 22.
const PUSH_KEY_CHARS_MAX: usize = 128;
/// Bytes of `p256dh`: an uncompressed point on the curve P-256 (RFC 8291, 3.1).
const P256DH_BYTES: usize = 65;
/// The first byte of an uncompressed point (SEC 1, 2.3.3).
const UNCOMPRESSED: u8 = 4;
/// Bytes of `auth` (RFC 8291, 3.2).
const AUTH_BYTES: usize = 16;

/// Base64url, as browsers write it: with or without padding.
const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The body of a registration.
#[derive(Debug)]
pub(super) struct Registration {
    user_id: Person,
    token: Option<String>,
    subscription: Option<Subscription>,
    platform: Option<Platform>,
    app_id: Option<String>,
}

described!(
    /// A device that takes push notifications: an app by `token`, a browser by `subscription`.
    Registration as "Registration"
);

/// A push subscription of a browser (Push API, `PushSubscriptionJSON`).
#[derive(Debug, Default)]
pub(super) struct Subscription {
    endpoint: String,
    keys: SubscriptionKeys,
}

described!(
    /// A push subscription of a browser (Push API, `PushSubscriptionJSON`).
    Subscription as "Subscription"
);

/// The keys of a push subscription, base64url.
#[derive(Debug, Default)]
pub(super) struct SubscriptionKeys {
    p256dh: String,
    auth: String,
}

described!(
    /// The keys of a push subscription, base64url.
    SubscriptionKeys as "SubscriptionKeys"
);

/// Base64url of 65 bytes of which the first is 4.
const P256DH_PATTERN: &str = "^B[A-Za-z0-9_-]{85}[AEIMQUYcgkosw048]=?$";
/// Base64url of 16 bytes.
const AUTH_PATTERN: &str = "^[A-Za-z0-9_-]{21}[AQgw](?:==)?$";

/// A text as [`token`] takes it.
fn token_schema() -> ObjectBuilder {
    text_of(1..=TOKEN_CHARS_MAX).pattern(Some("^[!-~]+$"))
}

impl FromFields for Registration {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let registration = Self {
            user_id: Person::of_body(
                body,
                "The caller's own id of the profile, or the internal one.",
            ),
            token: body
                .optional("token")
                .about(
                    "The registration token of FCM or APNs. Either this or `subscription` is required.",
                )
                .as_schema(|| token_schema().into())
                .parsed(String::new(), token),
            subscription: body.optional("subscription").as_type::<Subscription>().object(),
            platform: body
                .optional("platform")
                .about("Defaults to `web` with a `subscription`; required with a `token`.")
                .as_type::<Platform>()
                .one_of(Platform::NAMED),
            app_id: body.optional("appId").about("The id of the app on the device.").text(1..=APP_ID_CHARS_MAX),
        };
        let sent = |name: &str, body: &mut Fields<'_>| !body.optional(name).unchecked().is_null();
        let (by_token, by_subscription) = (sent("token", body), sent("subscription", body));
        if by_token == by_subscription {
            body.refuse_body("either token or subscription is required");
        }
        if by_token && registration.platform.is_none() && !sent("platform", body) {
            body.refuse("platform", "is required with a token");
        }
        if by_subscription && registration.platform.is_some_and(|it| it != Platform::Web) {
            body.refuse("platform", "must be web with a subscription");
        }
        registration
    }
}

impl FromFields for Subscription {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            endpoint: body
                .required("endpoint")
                .about("The https address of the push service.")
                .as_schema(|| text_of(0..=TOKEN_CHARS_MAX).into())
                .parsed(String::new(), endpoint),
            keys: body
                .required("keys")
                .about("The keys that messages are encrypted with.")
                .as_type::<SubscriptionKeys>()
                .object(),
        }
    }
}

impl FromFields for SubscriptionKeys {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let key = |text: &str| {
            push_key(text, |bytes| {
                bytes.len() == P256DH_BYTES && bytes.first() == Some(&UNCOMPRESSED)
            })
        };
        let secret = |text: &str| push_key(text, |bytes| bytes.len() == AUTH_BYTES);
        Self {
            p256dh: body
                .required("p256dh")
                .about("The browser's public key: 65 bytes.")
                .as_schema(|| text_of(0..=PUSH_KEY_CHARS_MAX).pattern(Some(P256DH_PATTERN)).into())
                .parsed(String::new(), |text| {
                    key(text).ok_or_else(|| {
                        "must be an uncompressed P-256 key of 65 bytes, base64url".to_owned()
                    })
                }),
            auth: body
                .required("auth")
                .about("A secret of 16 bytes.")
                .as_schema(|| text_of(0..=PUSH_KEY_CHARS_MAX).pattern(Some(AUTH_PATTERN)).into())
                .parsed(String::new(), |text| {
                    secret(text).ok_or_else(|| "must be 16 bytes, base64url".to_owned())
                }),
        }
    }
}

/// Opaque, but of characters that fit into a path and a header.
fn token(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("must not be empty".to_owned());
    }
    if text.len() > TOKEN_CHARS_MAX {
        return Err(format!("must be at most {TOKEN_CHARS_MAX} characters"));
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("must be of visible ASCII characters".to_owned());
    }
    Ok(text.to_owned())
}

/// The token of a path.
#[derive(Debug)]
pub(super) struct DeviceToken(String);

impl FromPath for DeviceToken {
    type Parameters = String;

    fn from_path(text: String) -> Result<Self> {
        match token(&text) {
            Ok(token) => Ok(Self(token)),
            Err(problem) => Err(Error::Invalid(vec![FieldError::new("token", problem)])),
        }
    }
}

/// Checks the address of a push service. RFC 8030 requires https.
fn endpoint(text: &str) -> Result<String, String> {
    let text = token(text)?;
    match Url::parse(&text) {
        Ok(url) if url.scheme() == "https" && url.has_host() => Ok(text),
        _ => Err("must be an https address".to_owned()),
    }
}

/// Decodes a key and writes it in one spelling: base64url without padding.
fn push_key(text: &str, is_one: impl Fn(&[u8]) -> bool) -> Option<String> {
    if text.len() > PUSH_KEY_CHARS_MAX {
        return None;
    }
    let bytes = BASE64URL.decode(text).ok().filter(|bytes| is_one(bytes))?;
    Some(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes))
}

impl Registration {
    fn device(&self) -> Device {
        let Self { token, subscription, platform, .. } = self;
        match subscription {
            Some(Subscription { endpoint, keys }) => Device {
                token: endpoint.clone(),
                platform: Platform::Web,
                p256dh: Some(keys.p256dh.clone()),
                auth: Some(keys.auth.clone()),
            },
            None => Device {
                token: token.clone().unwrap_or_default(),
                platform: platform.unwrap_or(Platform::Web),
                p256dh: None,
                auth: None,
            },
        }
    }
}

/// A device that push messages go to.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Registered {
    /// Removes the device: its token, or the endpoint of its subscription.
    token: String,
    platform: Platform,
    /// The id of the app on the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    app_id: Option<String>,
}

/// Registers a device, or moves a registered one to this person. A person's 21st device replaces the one
/// registered longest ago. Without a user token, where that is allowed, the answer is always 200, and no
/// device that was registered with a token is changed.
#[utoipa::path(
    post,
    path = "/v1/devices",
    tag = "sdk",
    security(("sdk_key" = [], "user_token" = [])),
    request_body = Registration,
    responses(
        (status = 200, body = Registered, description = "the device was registered before"),
        (status = 201, body = Registered, description = "the device is new"),
        (status = 404, description = "the person of the user token has no profile"),
    )
)]
async fn register_device(
    State(app): State<SdkState>,
    caller: AppUser,
    Body(registration): Body<Registration>,
) -> ApiResult<Upserted<Registered>> {
    let workspace = caller.workspace();
    let device = registration.device();
    let subject = caller.subject(&app, &registration.user_id).await?;
    let registered = Registered {
        token: device.token.clone(),
        platform: device.platform,
        app_id: registration.app_id.clone(),
    };
    let is_proven = matches!(subject, Subject::Proven(_));
    let Some(user) = subject.user() else {
        return Ok(Upserted { value: registered, created: false });
    };
    let new = NewDevice { user, device, app_id: registration.app_id, is_proven };
    let is_new = match devices::register(app.db(), workspace, app.clock().now(), &new).await {
        Err(Error::NotFound(_)) if !is_proven => false,
        registered => registered?,
    };
    Ok(Upserted { value: registered, created: is_new && is_proven })
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RemovedDevice)]
pub(super) struct Removed {
    success: bool,
}

/// Removes a device of the user token's person: it gets no more push notifications. Without a user token,
/// where that is allowed, only devices that were registered without one are removed.
#[utoipa::path(
    delete,
    path = "/v1/devices/{token}",
    tag = "sdk",
    security(("sdk_key" = [], "user_token" = [])),
    params(("token" = String, Path, min_length = 1, max_length = 2048, pattern = "^[!-~]+$", description = "the token, or the endpoint of the subscription; URL-encoded")),
    responses((status = 200, body = Removed), (status = 404, description = "no device has this token"))
)]
async fn remove_device(
    State(app): State<SdkState>,
    caller: AppUser,
    PathOf(DeviceToken(named)): PathOf<DeviceToken>,
) -> ApiResult<Json<Removed>> {
    let workspace = caller.workspace();
    match caller.external_id() {
        Some(external_id) => {
            let user = subject::profile(app.db(), workspace, external_id).await?;
            devices::remove(app.db(), workspace, user, &named).await?;
        }
        None => devices::remove_unproven(app.db(), workspace, &named).await?,
    }
    Ok(Json(Removed { success: true }))
}
