//! Serves the embedded engine on its own: `MILLRACE_LIBCHDB=…/libchdb.so cargo run --example serve -- <data dir> <port>`.
//! User `default`, password `secret`; ends with its standard input.

use std::{
    io::Write as _,
    net::{Ipv4Addr, TcpListener},
};

use tokio::io::AsyncReadExt as _;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let data_dir = arguments.next().ok_or_else(|| anyhow::anyhow!("name a data folder"))?.into();
    let port: u16 = arguments.next().unwrap_or_default().parse().unwrap_or(0);
    let library = std::env::var_os("MILLRACE_LIBCHDB")
        .ok_or_else(|| anyhow::anyhow!("set MILLRACE_LIBCHDB"))?
        .into();
    let options = clickhouse_embedded::Options {
        library,
        data_dir,
        listener: TcpListener::bind((Ipv4Addr::LOCALHOST, port))?,
        user: "default".to_owned(),
        password: "secret".to_owned(),
        database: "millrace".to_owned(),
        memory_bytes: 2 * 1024 * 1024 * 1024,
        connections: 8,
        row_access: None,
    };
    let ready = |ready: clickhouse_embedded::Ready| {
        // The example's only output; a closed pipe ends it soon enough.
        let _ = writeln!(std::io::stdout(), "{{\"port\":{}}}", ready.address.port());
    };
    let stop = async {
        let mut input = tokio::io::stdin();
        let mut ignored = [0; 64];
        while matches!(input.read(&mut ignored).await, Ok(1..)) {}
    };
    clickhouse_embedded::serve(options, ready, stop).await
}
