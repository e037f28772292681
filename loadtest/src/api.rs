//! Client of the API: requests are built once, answers are parsed as far as they are checked.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Uri, header};
use http_body_util::Full;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    http::{Answer, Connection, Parameter},
    target::{ApiKey, Endpoint},
};

/// An event as `GET /events/query` returns it, as far as it is looked at here.
#[derive(Clone, Debug, Deserialize)]
pub struct EventRead {
    /// Id under which the event is stored.
    pub event_id: String,
    /// The user as tracked, empty when anonymous.
    pub user_id: String,
    /// Name of the event.
    pub event_name: String,
    /// `YYYY-MM-DD HH:MM:SS` in UTC.
    pub timestamp: String,
    pub properties: BTreeMap<String, Value>,
}

/// The answer to a tracked array or single event.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum TrackAnswer {
    Array {
        accepted: usize,
        rejected: Vec<Rejection>,
    },
    Single {
        #[serde(rename = "eventId")]
        event_id: String,
        /// Always true of a 2xx.
        success: bool,
    },
}

#[derive(Debug, Deserialize)]
pub struct Rejection {
    /// Zero-based position in the request.
    pub index: usize,
    /// The API's reason, in words.
    pub reason: String,
}

/// What `POST /events/aggregate` is asked.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question<'a> {
    /// Name of the events.
    pub event_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_date: Option<String>,
    /// `hour`, `day`, `week` or `month`.
    pub group_by: &'a str,
    /// `count` alone when there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<&'a [&'a str]>,
    /// The property to sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_field: Option<&'a str>,
}

#[derive(Deserialize)]
struct AggregateAnswer {
    data: AggregateData,
}

#[derive(Deserialize)]
struct AggregateData {
    total: u64,
    results: Vec<Period>,
}

#[derive(Deserialize)]
struct Period {
    count: u64,
}

/// Where load goes at an endpoint.
#[derive(Clone, Debug)]
pub enum Intake {
    /// `POST /events/track` of Millrace, whose acknowledgement is read event by event.
    Track(ApiKey),
    /// Another program: any 2xx acknowledges a whole body.
    Peer {
        /// Path of its requests.
        path: String,
        /// Content type of their bodies.
        content_type: &'static str,
    },
    /// Millrace by Segment's protocol: a path and the key in `Authorization: Basic`.
    Segment {
        /// Path of its requests.
        path: &'static str,
        /// Key of the workspace that takes the calls.
        key: ApiKey,
    },
}

/// Makes the requests of one workspace.
#[derive(Clone, Debug)]
pub struct Requests {
    host: HeaderValue,
    authorization: HeaderValue,
}

/// Makes the requests that carry load.
#[derive(Clone, Debug)]
pub(crate) enum LoadRequests {
    Track(Requests),
    Segment { requests: Requests, path: &'static str },
    Peer { host: HeaderValue, path: Uri, content_type: HeaderValue },
}

impl LoadRequests {
    /// Requests to what takes load at `endpoint`.
    ///
    /// # Errors
    /// A key, a path or a content type that cannot be sent.
    pub(crate) fn new(endpoint: &Endpoint, intake: &Intake) -> Result<Self> {
        Ok(match intake {
            Intake::Track(key) => Self::Track(Requests::new(endpoint, key)?),
            Intake::Segment { path, key } => {
                Self::Segment { requests: Requests::with_write_key(endpoint, key)?, path }
            }
            Intake::Peer { path, content_type } => Self::Peer {
                host: HeaderValue::from_str(&endpoint.authority)?,
                path: path.parse().context("the path of the peer is not one")?,
                content_type: HeaderValue::from_static(content_type),
            },
        })
    }

    /// A POST of a finished body.
    pub(crate) fn post(&self, body: Bytes) -> Request<Full<Bytes>> {
        match self {
            Self::Track(requests) => requests.track(body),
            Self::Segment { requests, path } => requests.make(Method::POST, path, body),
            Self::Peer { host, path, content_type } => {
                let mut request = Request::new(Full::new(body));
                *request.method_mut() = Method::POST;
                *request.uri_mut() = path.clone();
                request.headers_mut().insert(header::HOST, host.clone());
                request.headers_mut().insert(header::CONTENT_TYPE, content_type.clone());
                request
            }
        }
    }
}

impl Requests {
    /// Requests to `endpoint` with `key`.
    ///
    /// # Errors
    /// A key that cannot stand in a header.
    pub fn new(endpoint: &Endpoint, key: &ApiKey) -> Result<Self> {
        Self::with_authorization(endpoint, &key.bearer())
    }

    /// Requests to `endpoint` of event SDKs, with `key` as the user name of Basic.
    ///
    /// # Errors
    /// A key that cannot stand in a header.
    pub fn with_write_key(endpoint: &Endpoint, key: &ApiKey) -> Result<Self> {
        Self::with_authorization(endpoint, &key.basic())
    }

    fn with_authorization(endpoint: &Endpoint, text: &str) -> Result<Self> {
        let host = HeaderValue::from_str(&endpoint.authority)?;
        let mut authorization =
            HeaderValue::from_str(text).context("the key is not header text")?;
        authorization.set_sensitive(true);
        Ok(Self { host, authorization })
    }

    /// `POST /events/track` of a finished body.
    pub fn track(&self, body: Bytes) -> Request<Full<Bytes>> {
        self.make(Method::POST, "/events/track", body)
    }

    /// `POST /users` of a finished body.
    pub fn upsert(&self, body: Bytes) -> Request<Full<Bytes>> {
        self.make(Method::POST, "/users", body)
    }

    /// `POST /v1/batch` of a finished body, of requests with a write key.
    pub fn segment_batch(&self, body: Bytes) -> Request<Full<Bytes>> {
        self.make(Method::POST, "/v1/batch", body)
    }

    /// A GET of a finished path with its query.
    pub fn get(&self, path_and_query: &str) -> Request<Full<Bytes>> {
        self.make(Method::GET, path_and_query, Bytes::new())
    }

    /// Any other call, with a body or without.
    pub fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Request<Full<Bytes>> {
        self.make(method, path, body.map(|body| body.to_string().into()).unwrap_or_default())
    }

    fn make(&self, method: Method, path: &str, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().unwrap_or_default();
        let headers = request.headers_mut();
        headers.insert(header::HOST, self.host.clone());
        headers.insert(header::AUTHORIZATION, self.authorization.clone());
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request
    }
}

/// A connection for the calls that are not load: questions, markers, look-ups.
#[derive(Debug)]
pub struct Api {
    connection: Connection,
    requests: Requests,
}

impl Api {
    /// A client of the API at `endpoint`.
    ///
    /// # Errors
    /// As [`Requests::new`].
    pub fn new(endpoint: &Endpoint, key: &ApiKey) -> Result<Self> {
        let requests = Requests::new(endpoint, key)?;
        Ok(Self { connection: Connection::new(endpoint.clone()), requests })
    }

    /// Tracks a finished body.
    ///
    /// # Errors
    /// A broken connection; statuses are not errors.
    pub async fn track(&mut self, body: Bytes) -> Result<Answer> {
        self.connection.exchange(self.requests.track(body)).await
    }

    /// `GET /events/query` with these parameters.
    ///
    /// # Errors
    /// A broken connection, a status other than 200, an answer that is not an array of events.
    pub async fn query(&mut self, parameters: &[Parameter<'_>]) -> Result<Vec<EventRead>> {
        let body = self.query_raw(parameters).await?;
        serde_json::from_slice(&body)
            .context("the answer of /events/query is not an array of events")
    }

    /// As [`Api::query`], without reading the answer.
    ///
    /// # Errors
    /// A broken connection, a status other than 200.
    pub async fn query_raw(&mut self, parameters: &[Parameter<'_>]) -> Result<Bytes> {
        let path = with_parameters("/events/query?", parameters);
        self.call(Method::GET, &path, Bytes::new()).await
    }

    /// `POST /events/aggregate`: the total, after checking that it is the sum of its periods.
    ///
    /// # Errors
    /// A broken connection, a status other than 200, an answer that contradicts itself.
    pub async fn count(&mut self, question: &Question<'_>) -> Result<u64> {
        let body = Bytes::from(serde_json::to_vec(question)?);
        let answer = self.call(Method::POST, "/events/aggregate", body).await?;
        let answer: AggregateAnswer = serde_json::from_slice(&answer)
            .context("the answer of /events/aggregate has another shape")?;
        let sum: u64 = answer.data.results.iter().map(|period| period.count).sum();
        if sum != answer.data.total {
            bail!(
                "/events/aggregate says {} in total, its periods add up to {sum}",
                answer.data.total
            );
        }
        Ok(sum)
    }

    async fn call(&mut self, method: Method, path: &str, body: Bytes) -> Result<Bytes> {
        let request = self.requests.make(method, path, body);
        let answer = self.connection.exchange(request).await?;
        if answer.status != 200 {
            let text = String::from_utf8_lossy(&answer.body).chars().take(300).collect::<String>();
            bail!("{path} answered {}: {text}", answer.status);
        }
        Ok(answer.body)
    }
}

/// Appends URL-encoded parameters to a path that ends with its question mark.
fn with_parameters(path: &str, parameters: &[Parameter<'_>]) -> String {
    let mut text = url::form_urlencoded::Serializer::for_suffix(path.to_owned(), path.len());
    text.extend_pairs(parameters.iter().map(|it| (it.name, it.value))).finish()
}
