//! Accounts at an OpenID provider: the authorization code flow with PKCE.
//!
//! Source: OpenID Connect Core 1.0, sections 3.1 and 5.3; Discovery 1.0; RFC 7636. The library checks signature, issuer,
//! audience, expiry and nonce of the ID token, and that UserInfo is about the same account.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use kernel::{Clock, EmailAddress};
use openidconnect::{
    AccessToken, AsyncHttpClient, AuthType, AuthorizationCode, ClaimsVerificationError, ClientId,
    ClientSecret, CsrfToken, EndUserEmail, EndpointMaybeSet, EndpointNotSet, EndpointSet,
    HttpRequest, HttpResponse, IssuerUrl, Nonce, OAuth2TokenResponse as _, PkceCodeChallenge,
    PkceCodeVerifier, RedirectUrl, Scope, SubjectIdentifier, TokenResponse as _, UserInfoError,
    core::{
        CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod, CoreIdToken, CoreIdTokenClaims,
        CoreJwsSigningAlgorithm as Algorithm, CoreProviderMetadata, CoreTokenResponse,
        CoreUserInfoClaims,
    },
};
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;
use tokio::sync::Mutex;
use url::Url;

use crate::sign_in::Account;

/// How long the provider's addresses and keys are used.
const METADATA_LIFE: Duration = Duration::from_mins(10);
/// How long at least, where a token is signed with a key that is not among them.
const METADATA_LIFE_MIN: Duration = Duration::from_secs(1);
/// Signatures that are believed: those of the provider's key pairs.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RsaSsaPkcs1V15Sha256,
    Algorithm::RsaSsaPkcs1V15Sha384,
    Algorithm::RsaSsaPkcs1V15Sha512,
    Algorithm::RsaSsaPssSha256,
    Algorithm::RsaSsaPssSha384,
    Algorithm::RsaSsaPssSha512,
    Algorithm::EcdsaP256Sha256,
    Algorithm::EcdsaP384Sha384,
    Algorithm::EdDsa,
];
/// Separates the parts of an attempt; none of them contains it.
const SEPARATOR: char = '.';

/// A call of the provider that did not succeed: why, in a line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CallFailed(pub String);

/// The answer to a call, once it is there.
pub type CallFuture = Pin<Box<dyn Future<Output = Result<HttpResponse, CallFailed>> + Send>>;

/// Makes the calls of the provider, without following redirects.
pub trait ProviderCalls: fmt::Debug + Send + Sync {
    /// Makes one call of the provider.
    fn call(&self, request: HttpRequest) -> CallFuture;
}

#[derive(Debug)]
struct Calls(Arc<dyn ProviderCalls>);

impl AsyncHttpClient<'_> for Calls {
    type Error = CallFailed;
    type Future = CallFuture;

    fn call(&self, request: HttpRequest) -> CallFuture {
        self.0.call(request)
    }
}

/// What the provider knows this server by.
#[derive(Debug)]
pub struct OpenIdOptions {
    /// The provider, as its tokens name it.
    pub issuer: String,
    /// The name of this server at the provider.
    pub client_id: String,
    /// The password of this server there.
    pub client_secret: SecretString,
    /// The address to which the provider leads back.
    pub redirect_url: Url,
    /// Makes the calls of the provider.
    pub calls: Arc<dyn ProviderCalls>,
    /// The time by which tokens expire.
    pub clock: Clock,
}

/// Why a person is not signed in by the provider.
#[derive(Debug, thiserror::Error)]
pub enum OpenIdFault {
    /// The provider does not answer as it should. For the log.
    #[error("the OpenID provider cannot be used: {0}")]
    Provider(String),
    /// The answer is not that to an attempt of this browser, or its token is not valid. For the log.
    #[error("the OpenID provider's answer is refused: {0}")]
    Refused(String),
}

/// The OpenID provider, with its addresses and keys.
#[derive(Debug)]
pub struct OpenId {
    options: OpenIdOptions,
    issuer: IssuerUrl,
    redirect_url: RedirectUrl,
    calls: Calls,
    metadata: Mutex<Option<(Instant, CoreProviderMetadata)>>,
}

/// An attempt to sign in that has begun.
#[derive(Debug)]
pub struct Begun {
    /// The provider's page, to which the browser is led.
    pub url: Url,
    /// What only this browser may know until it is back.
    pub attempt: SecretString,
}

/// Who is back from the provider.
#[derive(Debug)]
pub struct Identified {
    /// The account that the provider signed in.
    pub account: Account,
    /// Why its address is not known, where the provider did not say it when asked. A member who has the account needs none.
    pub address_fault: Option<OpenIdFault>,
}

/// What the provider leads back with.
#[derive(Debug)]
pub struct Returned {
    /// The name of the attempt.
    pub state: String,
    /// Stands for the account, once.
    pub code: SecretString,
}

type Client = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

impl OpenId {
    /// # Errors
    /// When the issuer or the redirect address is no URL.
    pub fn new(options: OpenIdOptions) -> Result<Self, String> {
        let issuer = IssuerUrl::new(options.issuer.clone()).map_err(|it| it.to_string())?;
        let redirect_url = RedirectUrl::from_url(options.redirect_url.clone());
        let calls = Calls(Arc::clone(&options.calls));
        Ok(Self { options, issuer, redirect_url, calls, metadata: Mutex::default() })
    }

    /// The provider, for people.
    pub fn host(&self) -> &str {
        self.issuer.url().host_str().unwrap_or_else(|| self.issuer.as_str())
    }

    /// Begins an attempt to sign in.
    ///
    /// # Errors
    /// When the provider does not answer.
    pub async fn begin(&self) -> Result<Begun, OpenIdFault> {
        let client = self.client(METADATA_LIFE).await?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let (url, state, nonce) = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                CsrfToken::new_random,
                Nonce::new_random,
            )
            .add_scope(Scope::new("email".to_owned()))
            .set_pkce_challenge(challenge)
            .url();
        let attempt = [state.secret().as_str(), nonce.secret(), verifier.secret()]
            .join(&SEPARATOR.to_string());
        Ok(Begun { url, attempt: attempt.into() })
    }

    /// The account with which the browser of an attempt is back.
    ///
    /// # Errors
    /// When the provider does not answer, or its answer is not that to this attempt.
    pub async fn finish(
        &self,
        attempt: &SecretString,
        returned: Returned,
    ) -> Result<Identified, OpenIdFault> {
        let refused = |why: &str| OpenIdFault::Refused(why.to_owned());
        let mut parts = attempt.expose_secret().split(SEPARATOR);
        let (Some(state), Some(nonce), Some(verifier), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(refused("this browser has begun no attempt"));
        };
        if !bool::from(state.as_bytes().ct_eq(returned.state.as_bytes())) {
            return Err(refused("it is not that to the attempt of this browser"));
        }
        let client = self.client(METADATA_LIFE).await?;
        let (verifier, nonce) =
            (PkceCodeVerifier::new(verifier.to_owned()), Nonce::new(nonce.to_owned()));
        let tokens = self.exchange(&client, returned.code, verifier).await?;
        let token = tokens.id_token().ok_or_else(|| provider(&"it gave no ID token"))?;
        let claims = match self.verified(&client, token, &nonce) {
            // The provider may sign with a key that it has published since.
            Err(ClaimsVerificationError::SignatureVerification(_)) => {
                let client = self.client(METADATA_LIFE_MIN).await?;
                self.verified(&client, token, &nonce).cloned()
            }
            claims => claims.cloned(),
        };
        let claims = claims.map_err(|fault| OpenIdFault::Refused(fault.to_string()))?;
        let subject = claims.subject().clone();
        let email = match claims.email() {
            Some(email) => Ok(verified_address(Some(email), claims.email_verified())),
            None => self.address_of(&client, tokens.access_token(), &subject).await,
        };
        let (email, address_fault) = match email {
            Ok(email) => (email, None),
            Err(fault @ OpenIdFault::Provider(_)) => (None, Some(fault)),
            Err(refused) => return Err(refused),
        };
        let issuer = self.issuer.as_str().to_owned();
        let account = Account { issuer, subject: subject.as_str().to_owned(), email };
        Ok(Identified { account, address_fault })
    }

    /// The verified address of an account whose ID token has none, from the provider's UserInfo if there is one.
    async fn address_of(
        &self,
        client: &Client,
        token: &AccessToken,
        subject: &SubjectIdentifier,
    ) -> Result<Option<EmailAddress>, OpenIdFault> {
        let Ok(request) = client.user_info(token.clone(), Some(subject.clone())) else {
            return Ok(None);
        };
        let answer: Result<CoreUserInfoClaims, _> = request.request_async(&self.calls).await;
        let claims = answer.map_err(|fault| match fault {
            UserInfoError::ClaimsVerification(fault) => OpenIdFault::Refused(fault.to_string()),
            UserInfoError::Request(fault) => provider(&fault),
            other => provider(&other),
        })?;
        Ok(verified_address(claims.email(), claims.email_verified()))
    }

    async fn exchange(
        &self,
        client: &Client,
        code: SecretString,
        verifier: PkceCodeVerifier,
    ) -> Result<CoreTokenResponse, OpenIdFault> {
        let code = AuthorizationCode::new(code.expose_secret().to_owned());
        let request = client.exchange_code(code).map_err(|fault| provider(&fault))?;
        let answer = request.set_pkce_verifier(verifier).request_async(&self.calls).await;
        answer.map_err(|fault| match fault {
            openidconnect::RequestTokenError::ServerResponse(answer) => {
                OpenIdFault::Refused(answer.error().to_string())
            }
            other => provider(&other),
        })
    }

    fn verified<'t>(
        &self,
        client: &Client,
        token: &'t CoreIdToken,
        nonce: &Nonce,
    ) -> Result<&'t CoreIdTokenClaims, ClaimsVerificationError> {
        let now = self.options.clock.now().utc();
        let verifier =
            client.id_token_verifier().set_allowed_algs(ALGORITHMS).set_time_fn(move || now);
        token.claims(&verifier, nonce)
    }

    /// This server as a client of the provider, by what is known of it for no longer than this.
    async fn client(&self, life: Duration) -> Result<Client, OpenIdFault> {
        let metadata = self.metadata(life).await?;
        let methods = metadata.token_endpoint_auth_methods_supported();
        let takes = |method| methods.is_none_or(|known| known.contains(&method));
        let in_body = !takes(CoreClientAuthMethod::ClientSecretBasic)
            && takes(CoreClientAuthMethod::ClientSecretPost);
        let secret = ClientSecret::new(self.options.client_secret.expose_secret().to_owned());
        let id = ClientId::new(self.options.client_id.clone());
        let client = CoreClient::from_provider_metadata(metadata, id, Some(secret))
            .set_redirect_uri(self.redirect_url.clone());
        Ok(if in_body { client.set_auth_type(AuthType::RequestBody) } else { client })
    }

    /// The provider's addresses and keys, asked for where they are older than this.
    async fn metadata(&self, life: Duration) -> Result<CoreProviderMetadata, OpenIdFault> {
        let mut known = self.metadata.lock().await;
        if let Some((since, metadata)) = known.as_ref()
            && since.elapsed() < life
        {
            return Ok(metadata.clone());
        }
        let found = CoreProviderMetadata::discover_async(self.issuer.clone(), &self.calls).await;
        let found = found.map_err(|fault| provider(&fault))?;
        *known = Some((Instant::now(), found.clone()));
        Ok(found)
    }
}

/// An address, if it is one and the provider has verified it.
fn verified_address(
    email: Option<&EndUserEmail>,
    is_verified: Option<bool>,
) -> Option<EmailAddress> {
    email.filter(|_| is_verified == Some(true)).and_then(|it| it.parse().ok())
}

fn provider(fault: &dyn fmt::Display) -> OpenIdFault {
    OpenIdFault::Provider(fault.to_string())
}
