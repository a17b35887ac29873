//! `/metrics`: a few readers at a time, nothing but reading.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use jitterlab_model::Error;

use crate::live::LiveFigures;

/// Time after which a client that does not ask or read is dropped.
const PATIENCE: Duration = Duration::from_secs(2);
/// Length of a request at most, in bytes.
const LONGEST_REQUEST: usize = 8_192;

/// Serves `live` at an address until the program ends; returns the address, whose port may have been chosen.
pub fn serve(address: SocketAddr, live: Arc<LiveFigures>) -> Result<SocketAddr, Error> {
    let failed = |error| {
        Error::refused(format!("cannot listen at {address}"))
            .because(error)
            .remedy("name another address with --listen, or --listen off")
    };
    let listener = TcpListener::bind(address).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let serving = thread::Builder::new().name("metrics".into()).spawn(move || {
        // One after the other: each takes a millisecond, and none can hold up the others for long.
        for connection in listener.incoming().flatten() {
            let _ = answer_request(connection, &live);
        }
    });
    serving.map_err(failed)?;
    Ok(bound)
}

fn answer_request(mut connection: TcpStream, live: &LiveFigures) -> std::io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut buffer = [0; 1_024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < LONGEST_REQUEST {
        match connection.read(&mut buffer)? {
            0 => break,
            length => request.extend_from_slice(&buffer[..length]),
        }
    }
    let line = String::from_utf8_lossy(&request);
    let path = line.strip_prefix("GET ").and_then(|rest| rest.split([' ', '?']).next());
    let (status, body) = match path {
        Some("/metrics") => ("200 OK", live.exposition()?),
        Some("/") => ("200 OK", "/metrics\n".into()),
        Some(_) => ("404 Not Found", String::new()),
        None => ("405 Method Not Allowed", String::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    connection.write_all(head.as_bytes())?;
    connection.write_all(body.as_bytes())
}
