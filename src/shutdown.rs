//! When and in what order the service stops.
//!
//! The order: stop accepting and finish the requests under way and the messages being handed over, land what is in the spool as far as
//! time allows, close the spool, stop the engines. What did not land is in the spool for the next start.

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

/// Time in all from the signal to the exit.
pub const STOP_MAX: Duration = Duration::from_secs(30);
/// Of it, for requests under way.
pub const DRAIN_MAX: Duration = Duration::from_secs(10);
/// Of it, for messages that are being handed over; requests are answered meanwhile.
pub const SENDING_MAX: Duration = Duration::from_secs(12);
/// Of it, for landing what is in the spool.
pub const LANDING_MAX: Duration = Duration::from_secs(8);
/// Of it, for the connections to PostgreSQL: one whose server does not answer is cut off.
pub const DISCONNECT_MAX: Duration = Duration::from_secs(2);

/// Waits for a signal that stops the process: SIGTERM or SIGINT.
///
/// # Errors
/// When the signals cannot be listened to.
pub async fn signalled() -> std::io::Result<&'static str> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    })
}
