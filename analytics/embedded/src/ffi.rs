//! The library's C interface (`chdb.h` of chdb-core 26.7), and the only unsafe code of this workspace.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    marker::PhantomData,
    path::Path,
    sync::Arc,
};

use anyhow::Context as _;
use nix::libc;

use crate::{
    fault::{Fault, code},
    statement::quoted_name,
};

type Handle = *mut c_void;
type Sizes = *const usize;
type Texts = *const *const c_char;

type QueryWithParams = unsafe extern "C" fn(
    Handle,
    *const c_char,
    usize,
    *const c_char,
    usize,
    Texts,
    Sizes,
    Texts,
    Sizes,
    usize,
) -> Handle;

/// Layout of `chdb_query_analysis_v1` in chDB's C header.
#[repr(C)]
#[derive(Default)]
struct Analysis {
    struct_size: u32,
    statement_count: u32,
    flags: u32,
    query_class: u32,
}

/// The symbols this crate uses. They stay valid for the life of the process: the library is never unloaded.
struct Symbols {
    connect: unsafe extern "C" fn(c_int, *mut *mut c_char) -> *mut Handle,
    close: unsafe extern "C" fn(*mut Handle),
    shutdown: unsafe extern "C" fn() -> c_int,
    query: QueryWithParams,
    stream_query: QueryWithParams,
    stream_cancel: unsafe extern "C" fn(Handle, Handle),
    classify: unsafe extern "C" fn(
        Handle,
        *const c_char,
        usize,
        *const c_char,
        usize,
        *mut Analysis,
    ) -> c_int,
    insert: QueryWithParams,
    insert_append: unsafe extern "C" fn(Handle, *const c_void, usize) -> c_int,
    insert_done: unsafe extern "C" fn(Handle) -> Handle,
    insert_cancel: unsafe extern "C" fn(Handle),
    insert_error: unsafe extern "C" fn(Handle) -> *const c_char,
    insert_destroy: unsafe extern "C" fn(Handle),
    result_destroy: unsafe extern "C" fn(Handle),
    result_buffer: unsafe extern "C" fn(Handle) -> *const u8,
    result_length: unsafe extern "C" fn(Handle) -> usize,
    result_error: unsafe extern "C" fn(Handle) -> *const c_char,
    result_elapsed: unsafe extern "C" fn(Handle) -> f64,
    rows_read: unsafe extern "C" fn(Handle) -> u64,
    storage_rows_read: unsafe extern "C" fn(Handle) -> u64,
    storage_bytes_read: unsafe extern "C" fn(Handle) -> u64,
    rows_written: unsafe extern "C" fn(Handle) -> u64,
    bytes_written: unsafe extern "C" fn(Handle) -> u64,
}

/// The release of the library that this crate is written and tested for.
const RELEASE: (u32, u32) = (26, 7);

/// Lets a thread of this process run when no other wants its core: `SCHED_IDLE` of sched(7).
#[cfg(target_os = "linux")]
pub(crate) fn run_when_idle(thread: i32) -> std::io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters outlive the call, which only reads them; any thread id is allowed.
    let status =
        unsafe { libc::sched_setscheduler(thread, libc::SCHED_IDLE, &raw const parameters) };
    if status == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Other systems have no such policy.
#[cfg(not(target_os = "linux"))]
pub(crate) fn run_when_idle(_thread: i32) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Refuses a library older than [`RELEASE`]: its interface may differ, and it may not read what this
/// release wrote. A newer one is taken; true says that it is one. Called before the library touches any file.
fn is_newer(version: &str) -> anyhow::Result<bool> {
    let (year, month) = RELEASE;
    let mut numbers = version.split('.').map(str::parse);
    let (Some(Ok(found_year)), Some(Ok(found_month))) = (numbers.next(), numbers.next()) else {
        anyhow::bail!(
            "the ClickHouse library gives no version ({version:?}): use one of {year}.{month}"
        );
    };
    let found: (u32, u32) = (found_year, found_month);
    anyhow::ensure!(
        found >= RELEASE,
        "the ClickHouse library has version {version}: {year}.{month} or newer is needed"
    );
    Ok(found > RELEASE)
}

/// The loaded engine. One a process.
pub(crate) struct Library {
    symbols: Symbols,
    /// Its version, where that is newer than [`RELEASE`].
    pub(crate) untested_version: Option<String>,
}

impl Library {
    /// Loads the library and keeps it from handling this process's signals.
    pub(crate) fn load(path: &Path) -> anyhow::Result<Arc<Self>> {
        // SAFETY: the file is the pinned engine the operator named; loading runs its initialisers, which is what we want.
        let library = unsafe { libloading::Library::new(path) }
            .with_context(|| format!("load the ClickHouse library {}", path.display()))?;
        // Unloading it would pull the code out from under the engine's threads.
        let library: &'static libloading::Library = Box::leak(Box::new(library));
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: the type the symbol is used at is its declaration in `chdb.h`, written out in `Symbols`.
                *unsafe { library.get($name) }.with_context(|| {
                    format!("the library has no {}", String::from_utf8_lossy($name))
                })?
            };
        }
        let version: unsafe extern "C" fn() -> *const c_char = symbol!(b"chdb_version");
        // SAFETY: no arguments; the text belongs to the library, which is never unloaded.
        let version = unsafe { version() };
        let version = if version.is_null() {
            String::new()
        } else {
            // SAFETY: not null; the library ends its version with a NUL.
            unsafe { CStr::from_ptr(version) }.to_string_lossy().into_owned()
        };
        let is_newer = is_newer(&version).with_context(|| format!("use {}", path.display()))?;
        let set_signal_handlers: unsafe extern "C" fn(c_int) =
            symbol!(b"chdb_set_signal_handlers_enabled");
        let symbols = Symbols {
            connect: symbol!(b"chdb_connect"),
            close: symbol!(b"chdb_close_conn"),
            shutdown: symbol!(b"chdb_shutdown"),
            query: symbol!(b"chdb_query_with_params_n"),
            stream_query: symbol!(b"chdb_stream_query_with_params_n"),
            stream_cancel: symbol!(b"chdb_stream_cancel_query"),
            classify: symbol!(b"chdb_classify_query_n"),
            insert: symbol!(b"chdb_stream_insert_with_params_n"),
            insert_append: symbol!(b"chdb_stream_append"),
            insert_done: symbol!(b"chdb_stream_done"),
            insert_cancel: symbol!(b"chdb_stream_cancel_insert"),
            insert_error: symbol!(b"chdb_stream_insert_error"),
            insert_destroy: symbol!(b"chdb_destroy_insert_stream"),
            result_destroy: symbol!(b"chdb_destroy_query_result"),
            result_buffer: symbol!(b"chdb_result_buffer"),
            result_length: symbol!(b"chdb_result_length"),
            result_error: symbol!(b"chdb_result_error"),
            result_elapsed: symbol!(b"chdb_result_elapsed"),
            rows_read: symbol!(b"chdb_result_rows_read"),
            storage_rows_read: symbol!(b"chdb_result_storage_rows_read"),
            storage_bytes_read: symbol!(b"chdb_result_storage_bytes_read"),
            rows_written: symbol!(b"chdb_result_rows_written"),
            bytes_written: symbol!(b"chdb_result_bytes_written"),
        };
        // SAFETY: takes a plain integer; called before the first connection, as the header asks.
        unsafe { set_signal_handlers(0) };
        Ok(Arc::new(Self { symbols, untested_version: is_newer.then_some(version) }))
    }

    /// Stops the engine's threads. False while a connection is open or when a thread would not stop.
    pub(crate) fn shut_down(&self) -> bool {
        // SAFETY: no arguments; safe from any thread, says the header.
        unsafe { (self.symbols.shutdown)() == 0 }
    }
}

/// One connection: a session of its own, used by one thread at a time (`&mut`).
pub(crate) struct Connection {
    library: Arc<Library>,
    handle: *mut Handle,
    /// The database of its last `USE`.
    database: Option<String>,
}

// SAFETY: the library lets any thread use a connection as long as it is one at a time, which `&mut self` holds.
unsafe impl Send for Connection {}

/// What a statement would do, says the engine's parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// It does not parse.
    Unparsed,
    /// Several statements in one text.
    Several,
    /// One statement that changes nothing.
    Read,
    /// One statement that changes data or the session.
    Write,
}

/// Name and value of each `{name:Type}` of a statement.
pub(crate) type Params = [(String, String)];

/// What a statement read and wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) read_rows: u64,
    pub(crate) read_bytes: u64,
    pub(crate) written_rows: u64,
    pub(crate) written_bytes: u64,
    pub(crate) result_rows: u64,
    pub(crate) elapsed_seconds: f64,
}

impl Connection {
    /// Opens a connection; the first one starts the engine.
    pub(crate) fn open(library: &Arc<Library>, arguments: &[String]) -> Result<Self, Fault> {
        let texts: Vec<CString> = arguments
            .iter()
            .map(|argument| CString::new(argument.as_str()))
            .collect::<Result<_, _>>()
            .map_err(|_| {
                Fault::new(code::BAD_ARGUMENTS, "BAD_ARGUMENTS", "NUL in an engine argument")
            })?;
        let mut pointers: Vec<*mut c_char> =
            texts.iter().map(|text| text.as_ptr().cast_mut()).collect();
        let count = c_int::try_from(pointers.len()).unwrap_or(c_int::MAX);
        // SAFETY: `count` pointers to NUL-terminated texts that outlive the call; the library copies what it keeps.
        let handle = unsafe { (library.symbols.connect)(count, pointers.as_mut_ptr()) };
        // SAFETY: read only where it is not null; the library gives a pointer to its connection.
        if handle.is_null() || unsafe { *handle }.is_null() {
            return Err(Fault::from_engine(
                "the engine refused a connection; its reason is on stderr",
            ));
        }
        Ok(Self { library: Arc::clone(library), handle, database: None })
    }

    fn inner(&self) -> Handle {
        // SAFETY: the handle is not null and stays valid until `Drop` closes it.
        unsafe { *self.handle }
    }

    /// Makes a database the one unqualified names mean.
    pub(crate) fn use_database(&mut self, name: &str) -> Result<(), Fault> {
        if self.database.as_deref() != Some(name) {
            self.query(format!("USE {}", quoted_name(name)).as_bytes(), "Null", &[])?;
            self.database = Some(name.to_owned());
        }
        Ok(())
    }

    /// Runs a statement and gives the bytes it answers and what it did.
    pub(crate) fn query(
        &mut self,
        sql: &[u8],
        format: &str,
        params: &Params,
    ) -> Result<(Vec<u8>, Figures), Fault> {
        let result = self.call(self.library.symbols.query, sql, format, params);
        result.fault()?;
        Ok((result.bytes().to_vec(), result.figures()))
    }

    /// What the engine says against a text that does not parse as one statement. Nothing of it is run:
    /// the streaming interface parses the whole text as one statement first.
    pub(crate) fn refusal(&mut self, sql: &[u8], params: &Params) -> Fault {
        let stream = self.call(self.library.symbols.stream_query, sql, "Null", params);
        if let Err(fault) = stream.fault() {
            return fault;
        }
        // SAFETY: both handles are live; the stream was made on this connection and is destroyed after.
        unsafe { (self.library.symbols.stream_cancel)(self.inner(), stream.handle) };
        Fault::new(code::SYNTAX_ERROR, "SYNTAX_ERROR", "Syntax error: one statement is expected")
    }

    /// Asks the engine's parser what a text is, without running it.
    pub(crate) fn classify(&mut self, sql: &[u8]) -> Class {
        let mut analysis = Analysis {
            struct_size: u32::try_from(size_of::<Analysis>()).unwrap_or(0),
            ..Analysis::default()
        };
        // SAFETY: the text is given with its length, the target may be null, and `struct_size` says what may be written.
        let state = unsafe {
            (self.library.symbols.classify)(
                self.inner(),
                sql.as_ptr().cast(),
                sql.len(),
                std::ptr::null(),
                0,
                &raw mut analysis,
            )
        };
        match (state, analysis.statement_count, analysis.query_class) {
            (0, 1, 0) => Class::Read,
            (0, 1, _) => Class::Write,
            (0, 2.., _) => Class::Several,
            _ => Class::Unparsed,
        }
    }

    /// Starts an insert whose rows follow in pieces. `sql` is the statement without its `FORMAT`.
    pub(crate) fn insert(
        &mut self,
        sql: &[u8],
        format: &str,
        params: &Params,
    ) -> Result<Insert<'_>, Fault> {
        let bound = Bound::new(params);
        // SAFETY: texts and arrays are given with their lengths and outlive the call.
        let handle = unsafe { bound.call(self.library.symbols.insert, self.inner(), sql, format) };
        if handle.is_null() {
            return Err(Fault::from_engine("the engine began no insert and gave no reason"));
        }
        let insert =
            Insert { library: Arc::clone(&self.library), handle, _connection: PhantomData };
        insert.fault()?;
        Ok(insert)
    }

    fn call(
        &self,
        function: QueryWithParams,
        sql: &[u8],
        format: &str,
        params: &Params,
    ) -> Answer<'_> {
        let bound = Bound::new(params);
        // SAFETY: texts and arrays are given with their lengths and outlive the call.
        let handle = unsafe { bound.call(function, self.inner(), sql, format) };
        Answer { library: &self.library, handle }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: opened by `chdb_connect`, closed once, here.
        unsafe { (self.library.symbols.close)(self.handle) }
    }
}

/// Parameters in the shape the C interface takes them.
struct Bound {
    names: Vec<*const c_char>,
    name_lengths: Vec<usize>,
    values: Vec<*const c_char>,
    value_lengths: Vec<usize>,
}

impl Bound {
    fn new(params: &Params) -> Self {
        Self {
            names: params.iter().map(|(name, _)| name.as_ptr().cast()).collect(),
            name_lengths: params.iter().map(|(name, _)| name.len()).collect(),
            values: params.iter().map(|(_, value)| value.as_ptr().cast()).collect(),
            value_lengths: params.iter().map(|(_, value)| value.len()).collect(),
        }
    }

    /// # Safety
    ///
    /// `connection` must be live, and the parameters this was made from must still be there.
    unsafe fn call(
        &self,
        function: QueryWithParams,
        connection: Handle,
        sql: &[u8],
        format: &str,
    ) -> Handle {
        // SAFETY: every pointer comes with its length; the caller vouches for the rest.
        unsafe {
            function(
                connection,
                sql.as_ptr().cast(),
                sql.len(),
                format.as_ptr().cast(),
                format.len(),
                self.names.as_ptr(),
                self.name_lengths.as_ptr(),
                self.values.as_ptr(),
                self.value_lengths.as_ptr(),
                self.names.len(),
            )
        }
    }
}

/// A result of the engine, destroyed when dropped.
struct Answer<'a> {
    library: &'a Library,
    handle: Handle,
}

impl Answer<'_> {
    fn fault(&self) -> Result<(), Fault> {
        if self.handle.is_null() {
            return Err(Fault::from_engine("the engine gave no result"));
        }
        // SAFETY: the result is live; the text belongs to it and is copied before it goes.
        unsafe { text_fault((self.library.symbols.result_error)(self.handle)) }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the result is live; buffer and length belong together and to it.
        unsafe {
            let length = (self.library.symbols.result_length)(self.handle);
            let buffer = (self.library.symbols.result_buffer)(self.handle);
            if buffer.is_null() || length == 0 {
                &[]
            } else {
                std::slice::from_raw_parts(buffer, length)
            }
        }
    }

    fn figures(&self) -> Figures {
        let symbols = &self.library.symbols;
        // SAFETY: plain reads of a live result.
        unsafe {
            Figures {
                read_rows: (symbols.storage_rows_read)(self.handle),
                read_bytes: (symbols.storage_bytes_read)(self.handle),
                written_rows: (symbols.rows_written)(self.handle),
                written_bytes: (symbols.bytes_written)(self.handle),
                result_rows: (symbols.rows_read)(self.handle),
                elapsed_seconds: (symbols.result_elapsed)(self.handle),
            }
        }
    }
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        // SAFETY: made by the library, destroyed once; a null result is accepted.
        unsafe { (self.library.symbols.result_destroy)(self.handle) }
    }
}

/// An insert under way. Dropped before [`Insert::finish`], it is cancelled: what the engine has not yet written is not.
pub(crate) struct Insert<'a> {
    library: Arc<Library>,
    handle: Handle,
    /// The connection takes no other statement meanwhile.
    _connection: PhantomData<&'a mut Connection>,
}

impl Insert<'_> {
    /// Hands over a piece, waiting while the engine is behind. False once the insert has failed; `finish` says why.
    pub(crate) fn append(&mut self, piece: &[u8]) -> bool {
        // SAFETY: the stream is live; the piece is copied before the call returns.
        unsafe {
            (self.library.symbols.insert_append)(self.handle, piece.as_ptr().cast(), piece.len())
                == 0
        }
    }

    /// Ends the rows and waits until they are written.
    pub(crate) fn finish(self) -> Result<Figures, Fault> {
        // SAFETY: the stream is live; it is destroyed when `self` drops.
        let handle = unsafe { (self.library.symbols.insert_done)(self.handle) };
        let answer = Answer { library: &self.library, handle };
        answer.fault()?;
        Ok(answer.figures())
    }

    /// Gives the insert up.
    pub(crate) fn cancel(self) {
        // SAFETY: the stream is live; it is destroyed when `self` drops.
        unsafe { (self.library.symbols.insert_cancel)(self.handle) }
    }

    fn fault(&self) -> Result<(), Fault> {
        // SAFETY: the stream is live; the text belongs to it and is copied before it goes.
        unsafe { text_fault((self.library.symbols.insert_error)(self.handle)) }
    }
}

impl Drop for Insert<'_> {
    fn drop(&mut self) {
        // SAFETY: made by the library, destroyed once; it cancels what was not finished.
        unsafe { (self.library.symbols.insert_destroy)(self.handle) }
    }
}

/// # Safety
///
/// `text` must be null or point to a NUL-terminated text.
unsafe fn text_fault(text: *const c_char) -> Result<(), Fault> {
    if text.is_null() {
        return Ok(());
    }
    // SAFETY: not null, NUL-terminated, says the caller.
    Err(Fault::from_engine(&unsafe { CStr::from_ptr(text) }.to_string_lossy()))
}

#[cfg(test)]
mod tests;
