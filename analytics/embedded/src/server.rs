//! The HTTP front: who is let in, what a request is, and how the whole comes up and goes down.

use std::{
    convert::Infallible, fs::DirBuilder, os::unix::fs::DirBuilderExt as _, path::Path, sync::Arc,
    time::Duration,
};

use anyhow::Context as _;
use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode, header};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
};

use crate::{
    Options, Ready,
    answer::{self, Answer, AnswerBody, Head},
    auth::Credential,
    body::Upload,
    configuration,
    engine::Engine,
    fault::{Fault, code},
    ffi::Library,
    insert::{self, Insert},
    merges,
    query::{self, Query},
    request::{Request, not_implemented},
    session::Session,
    statement::{Other, Statement},
    wire::{Wire, Written},
};

/// Connections at once; further ones wait to be taken.
const CONNECTIONS_MAX: usize = 512;
/// The head of a request, in bytes. Statements may stand in URLs.
const HEAD_BYTES_MAX: usize = 1024 * 1024;
/// The time a head may take to arrive.
const HEAD_TIME_MAX: Duration = Duration::from_secs(30);
/// The text of a statement, without the rows of an insert, in bytes. Twice what callers who ask in SQL may send, since
/// their statements are written anew.
const STATEMENT_BYTES_MAX: usize = 2 * 1024 * 1024;
/// A form: a statement and its parameters, in bytes.
const FORM_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The time requests under way get when the server stops.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(5);

struct Server {
    engine: Arc<Engine>,
    credential: Credential,
    database: String,
}

/// Serves the embedded engine until `stop` resolves, then closes everything it opened.
///
/// `ready` is called once requests are answered. Blocks of its own run on threads of their own, so the
/// runtime may have one thread. One call a process: the library does not start twice.
///
/// # Errors
///
/// A socket that is not on a loopback address, files another process holds, a library that cannot be loaded or does not start.
pub async fn serve(
    options: Options,
    ready: impl FnOnce(Ready),
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let Options {
        library,
        data_dir,
        listener,
        user,
        password,
        database,
        memory_bytes,
        connections,
        row_access,
    } = options;
    let address = listener.local_addr()?;
    anyhow::ensure!(
        address.ip().is_loopback(),
        "the embedded ClickHouse listens on a loopback address only"
    );
    anyhow::ensure!(!password.is_empty(), "the embedded ClickHouse needs a password");
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let name = database.clone();
    let (engine, threads, untested_version) = tokio::task::spawn_blocking(move || {
        prepare_files(&data_dir)?;
        let library = Library::load(&library)?;
        let untested_version = library.untested_version.clone();
        let arguments: Arc<[String]> =
            configuration::prepare(&data_dir, memory_bytes, row_access.as_ref())?.into();
        let (engine, threads) = Engine::start(library, &arguments, &name, connections)?;
        merges::let_others_go_first(configuration::BACKGROUND_POOL_THREADS)?;
        anyhow::Ok((engine, threads, untested_version))
    })
    .await
    .context("start the engine")??;
    tracing::info!(%address, version = %engine.version, connections, memory_bytes, "embedded clickhouse answers");
    let server = Arc::new(Server { engine, credential: Credential::new(user, password), database });
    ready(Ready { address, untested_version });
    accept(&listener, &server, stop).await;
    drop(listener);
    drop(server);
    tokio::task::spawn_blocking(move || threads.join()).await.context("stop the engine")??;
    tracing::info!("embedded clickhouse stopped");
    Ok(())
}

/// Makes the folder, for its owner only, and finds out whether another process holds the files: the library would only
/// say so on stderr.
fn prepare_files(data_dir: &Path) -> anyhow::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(data_dir)
        .with_context(|| format!("make the folder {}", data_dir.display()))?;
    let status = data_dir.join("status");
    match std::fs::File::open(&status) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("open {}", status.display())),
        // The lock goes with the file, before the library takes it.
        Ok(file) => match file.try_lock() {
            Ok(()) => Ok(()),
            Err(_) => anyhow::bail!("another process runs ClickHouse on {}", data_dir.display()),
        },
    }
}

async fn accept(listener: &TcpListener, server: &Arc<Server>, stop: impl Future<Output = ()>) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let slot = tokio::select! {
            () = &mut stop => break,
            slot = Arc::clone(&slots).acquire_owned() => slot.expect("the semaphore is never closed"),
        };
        let stream = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        let connection = graceful.watch(connect(stream, server));
        while connections.try_join_next().is_some() {}
        connections.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection broke off");
            }
            drop(slot);
        });
    }
    if tokio::time::timeout(DRAIN_TIME_MAX, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests are cut off, they did not end in time");
        // Statements that only read are killed with their requests.
        connections.shutdown().await;
    }
}

fn connect(
    stream: TcpStream,
    server: &Arc<Server>,
) -> impl hyper_util::server::graceful::GracefulConnection<Error = hyper::Error> + Send + use<> {
    // Answers are written in large pieces; waiting to fill packets only delays small ones.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "no delay could not be switched off");
    }
    let server = Arc::clone(server);
    let wire = Wire::new(stream);
    let written = wire.written();
    let service = service_fn(move |request| {
        let (server, written) = (Arc::clone(&server), written.clone());
        async move { Ok::<_, Infallible>(server.answer(request, written).await) }
    });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(wire), service)
}

impl Server {
    async fn answer(&self, request: http::Request<Incoming>, written: Written) -> Answer {
        let (head, body) = request.into_parts();
        match head.uri.path() {
            "/ping" => return plain(StatusCode::OK, "Ok.\n"),
            "/" => {}
            _ => {
                return plain(
                    StatusCode::NOT_FOUND,
                    "There is no handle for this path; use /ping or /\n",
                );
            }
        }
        if !matches!(head.method, Method::GET | Method::HEAD | Method::POST | Method::PUT) {
            let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, "Use GET, HEAD, POST or PUT\n");
            answer
                .headers_mut()
                .insert(header::ALLOW, http::HeaderValue::from_static("GET, HEAD, POST, PUT"));
            return answer;
        }
        let request = match Request::read(&head.method, head.uri.query(), &head.headers) {
            Ok(request) => request,
            Err(fault) => return answer::failed(&fault, None, &self.engine.version),
        };
        if let Err(fault) = self.credential.check(request.credential()) {
            return answer::failed(&fault, None, &self.engine.version);
        }
        let id = request.query_id.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        let answer_head =
            Head { engine: &self.engine, query_id: &id, format: String::new(), written };
        match self.run(request, &head.headers, body, answer_head).await {
            Ok(answer) => answer,
            Err(fault) => answer::failed(&fault, Some(&id), &self.engine.version),
        }
    }

    async fn run(
        &self,
        mut request: Request,
        headers: &HeaderMap,
        body: Incoming,
        mut head: Head<'_>,
    ) -> Result<Answer, Fault> {
        let mut upload = if let Some(boundary) = boundary(headers) {
            read_form(&mut request, body, boundary).await?;
            Upload::empty()
        } else {
            Upload::new(body, request.decompress)
        };
        let (text, statement) = statement(&request, &mut upload).await?;
        if text.trim_ascii().is_empty() {
            return Ok(plain(StatusCode::OK, "Ok.\n"));
        }
        let session = Session {
            database: request.database.take().unwrap_or_else(|| self.database.clone()),
            role: request.role.take(),
            settings: std::mem::take(&mut request.settings),
            params: std::mem::take(&mut request.params),
        };
        match statement {
            Statement::Insert { .. } if request.read_only => Err(query::read_only()),
            Statement::Insert { head: statement, format, rows_at } => {
                upload.put_back(text.slice(rows_at..));
                let format = format.unwrap_or_else(|| insert::FORMAT_DEFAULT.to_owned());
                let insert = Insert { session, statement: text.slice(statement), format };
                let figures = insert.run(&self.engine, head.query_id, upload).await?;
                Ok(head.whole(figures, 0, Bytes::new()))
            }
            Statement::Other(cut) => {
                let asked = cut.format.as_ref().map(|(name, _)| name.clone());
                let format = asked
                    .or_else(|| request.default_format.clone())
                    .unwrap_or_else(|| query::FORMAT_DEFAULT.to_owned());
                format_name(&format)?;
                let query = Query {
                    session,
                    text,
                    cut,
                    format: format.clone(),
                    read_only: request.read_only,
                };
                head.format = format;
                let running = query.start(&self.engine, head.query_id)?;
                answer::of_running(running, &request, &head).await
            }
        }
    }
}

/// The statement: of the URL, continued by the body. What of an insert's rows was read with it stays behind it.
async fn statement(request: &Request, upload: &mut Upload) -> Result<(Bytes, Statement), Fault> {
    let url = request.query.as_bytes();
    match Statement::of(url) {
        insert @ Statement::Insert { .. } if !values_with_params(&insert, request) => {
            return Ok((Bytes::copy_from_slice(url), insert));
        }
        _ => {}
    }
    let (body, whole) = upload.gather(STATEMENT_BYTES_MAX).await?;
    let text = match (url.is_empty(), body.is_empty()) {
        (true, _) => body,
        (false, true) => Bytes::copy_from_slice(url),
        // ClickHouse reads the URL's part, a line feed, and the body as one text.
        (false, false) => Bytes::from([url, b"\n", &body].concat()),
    };
    match Statement::of(&text) {
        Statement::Other(_) if !whole => Err(Fault::new(
            code::SYNTAX_ERROR,
            "SYNTAX_ERROR",
            format_args!(
                "Max query size exceeded: a statement has at most {STATEMENT_BYTES_MAX} bytes here"
            ),
        )),
        insert if whole && values_with_params(&insert, request) => {
            let all = Other { format: None, end: text.len(), into_outfile: false };
            Ok((text, Statement::Other(all)))
        }
        statement => Ok((text, statement)),
    }
}

/// Whether this is `VALUES ({a:UInt8})`, which runs as one text: the library knows the parameters of an insert only
/// until its rows begin.
fn values_with_params(statement: &Statement, request: &Request) -> bool {
    let values =
        matches!(statement, Statement::Insert { format: Some(format), .. } if format == "Values");
    values && !request.params.is_empty()
}

/// A format is a name; it becomes part of a statement.
fn format_name(format: &str) -> Result<(), Fault> {
    if format.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Ok(());
    }
    Err(Fault::new(
        73,
        "UNKNOWN_FORMAT",
        format_args!("Unknown format {}", format.escape_default()),
    ))
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, "text/html; charset=UTF-8")
        .body(AnswerBody::Whole(Bytes::from_static(text.as_bytes())))
        .expect("a plain answer is well formed")
}

fn boundary(headers: &HeaderMap) -> Option<String> {
    multer::parse_boundary(headers.get(header::CONTENT_TYPE)?.to_str().ok()?).ok()
}

/// Reads a form into the request: the statement and its parameters, as the `clickhouse` crate sends them.
async fn read_form(request: &mut Request, body: Incoming, boundary: String) -> Result<(), Fault> {
    let bad = |error: multer::Error| {
        Fault::new(
            code::BAD_ARGUMENTS,
            "BAD_ARGUMENTS",
            format_args!("The form cannot be read: {error}"),
        )
    };
    let limit = multer::SizeLimit::new().whole_stream(FORM_BYTES_MAX);
    let constraints = multer::Constraints::new().size_limit(limit);
    let data = http_body_util::BodyDataStream::new(body);
    let mut form = multer::Multipart::with_constraints(data, boundary, constraints);
    while let Some(field) = form.next_field().await.map_err(bad)? {
        let name = field.name().unwrap_or_default().to_owned();
        if field.file_name().is_some() {
            return Err(not_implemented(format_args!("external data ({})", name.escape_default())));
        }
        let text = field.text().await.map_err(bad)?;
        request.field(&name, text.into())?;
    }
    Ok(())
}
