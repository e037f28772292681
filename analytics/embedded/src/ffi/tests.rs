//! What is refused of a library: its version, and pointers to nothing.

use std::{
    ptr::null_mut,
    sync::atomic::{AtomicU32, Ordering},
};

use super::*;

#[test]
fn a_library_older_than_the_tested_one_is_refused_and_a_newer_one_taken() {
    for (taken, newer) in
        [("26.7", false), ("26.7.3", false), ("26.10.1-rc", true), ("27.1.0", true)]
    {
        assert_eq!(is_newer(taken).unwrap(), newer, "{taken}");
    }
    for (refused, why) in [
        ("26.6.9", "26.7 or newer is needed"),
        ("25.12.1", "26.7 or newer is needed"),
        ("4.0.0", "26.7 or newer is needed"),
        ("", "gives no version"),
        ("26", "gives no version"),
        ("v26.7", "gives no version"),
    ] {
        let error = is_newer(refused).unwrap_err().to_string();
        assert!(error.contains(why), "{refused}: {error}");
    }
}

/// Calls with a pointer to nothing, which the real library would follow.
static FOLLOWED: AtomicU32 = AtomicU32::new(0);

extern "C" fn follow(handle: Handle) {
    FOLLOWED.fetch_add(u32::from(handle.is_null()), Ordering::Relaxed);
}
extern "C" fn follow_text(handle: Handle) -> *const c_char {
    follow(handle);
    std::ptr::null()
}
extern "C" fn follow_number(handle: Handle) -> u64 {
    follow(handle);
    0
}
extern "C" fn follow_length(handle: Handle) -> usize {
    follow(handle);
    0
}
extern "C" fn follow_buffer(handle: Handle) -> *const u8 {
    follow(handle);
    std::ptr::null()
}
extern "C" fn follow_elapsed(handle: Handle) -> f64 {
    follow(handle);
    0.0
}
extern "C" fn follow_append(handle: Handle, _: *const c_void, _: usize) -> c_int {
    follow(handle);
    0
}
extern "C" fn follow_done(handle: Handle) -> Handle {
    follow(handle);
    null_mut()
}
extern "C" fn connect_to_nothing(_: c_int, _: *mut *mut c_char) -> *mut Handle {
    Box::into_raw(Box::new(null_mut()))
}
extern "C" fn close(_: *mut Handle) {}
extern "C" fn shut_down() -> c_int {
    0
}
extern "C" fn cancel(_: Handle, _: Handle) {}
/// A null result may be destroyed.
extern "C" fn destroy_result(_: Handle) {}
extern "C" fn classify(
    _: Handle,
    _: *const c_char,
    _: usize,
    _: *const c_char,
    _: usize,
    _: *mut Analysis,
) -> c_int {
    1
}
extern "C" fn gives_nothing(
    _: Handle,
    _: *const c_char,
    _: usize,
    _: *const c_char,
    _: usize,
    _: Texts,
    _: Sizes,
    _: Texts,
    _: Sizes,
    _: usize,
) -> Handle {
    null_mut()
}

/// A library out of memory: every call gives a pointer to nothing.
fn exhausted() -> Arc<Library> {
    let symbols = Symbols {
        connect: connect_to_nothing,
        close,
        shutdown: shut_down,
        query: gives_nothing,
        stream_query: gives_nothing,
        stream_cancel: cancel,
        classify,
        insert: gives_nothing,
        insert_append: follow_append,
        insert_done: follow_done,
        insert_cancel: follow,
        insert_error: follow_text,
        insert_destroy: follow,
        result_destroy: destroy_result,
        result_buffer: follow_buffer,
        result_length: follow_length,
        result_error: follow_text,
        result_elapsed: follow_elapsed,
        rows_read: follow_number,
        storage_rows_read: follow_number,
        storage_bytes_read: follow_number,
        rows_written: follow_number,
        bytes_written: follow_number,
    };
    Arc::new(Library { symbols, untested_version: None })
}

#[test]
fn a_library_that_gives_pointers_to_nothing_is_an_error_and_never_followed() {
    let library = exhausted();
    assert!(Connection::open(&library, &[]).is_err(), "a connection to nothing");
    let handle = Box::into_raw(Box::new(null_mut()));
    let mut connection = Connection { library, handle, database: None };
    let error = connection.insert(b"INSERT INTO t", "Native", &[]).err().unwrap();
    assert!(error.text.contains("began no insert"), "{error}");
    assert!(connection.query(b"SELECT 1", "Null", &[]).is_err());
    assert_eq!(FOLLOWED.load(Ordering::Relaxed), 0);
}
