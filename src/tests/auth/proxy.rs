//! A TCP proxy to PostgreSQL that can be cut and restored.

use std::path::{Path, PathBuf};

use sqlx::postgres::PgConnectOptions;
use tempfile::TempDir;
use tokio::{
    net::{TcpStream, UnixListener, UnixStream},
    sync::watch,
};

/// Stands where a PostgreSQL socket is looked for, and passes bytes on while it is whole.
#[derive(Debug)]
pub(crate) struct Proxy {
    directory: TempDir,
    whole: watch::Sender<bool>,
}

impl Proxy {
    /// A proxy before the server of these options; gives the options that lead through it.
    pub(crate) fn before(target: &PgConnectOptions) -> (Self, PgConnectOptions) {
        let directory = tempfile::tempdir().unwrap();
        let port = target.get_port();
        let listener = UnixListener::bind(socket_in(directory.path(), port)).unwrap();
        let (whole, state) = watch::channel(true);
        let upstream = target.get_socket().map(|folder| socket_in(folder, port));
        let address = format!("{}:{port}", target.get_host());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if *state.borrow() {
                    tokio::spawn(pass(client, upstream.clone(), address.clone(), state.clone()));
                }
            }
        });
        let through = target.clone().socket(directory.path());
        (Self { directory, whole }, through)
    }

    /// Cuts every connection and takes no new one.
    pub(crate) fn cut(&self) {
        self.whole.send_replace(false);
    }

    pub(crate) fn restore(&self) {
        assert!(self.directory.path().exists());
        self.whole.send_replace(true);
    }
}

fn socket_in(folder: &Path, port: u16) -> PathBuf {
    folder.join(format!(".s.PGSQL.{port}"))
}

async fn pass(
    mut client: UnixStream,
    upstream: Option<PathBuf>,
    address: String,
    mut state: watch::Receiver<bool>,
) {
    let cut = async {
        let _ = state.wait_for(|whole| !*whole).await;
    };
    let copy = async {
        if let Some(path) = upstream {
            let mut server = UnixStream::connect(path).await.unwrap();
            tokio::io::copy_bidirectional(&mut client, &mut server).await
        } else {
            let mut server = TcpStream::connect(address).await.unwrap();
            tokio::io::copy_bidirectional(&mut client, &mut server).await
        }
    };
    tokio::select! {
        () = cut => {}
        _ = copy => {}
    }
}
