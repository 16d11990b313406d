//! An encrypted stream for the client library.
//!
//! The library is blocking for its callers and asynchronous inside; this module connects it to rustls and does
//! nothing else. `certificates` decides what is verified.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use postgres::Socket;
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;

/// Encrypts every connection in the same way.
#[derive(Clone)]
pub(super) struct Encryption(pub(super) Arc<ClientConfig>);

/// Encrypts one connection.
pub(super) struct ToHost {
    config: Arc<ClientConfig>,
    host: String,
}

/// The handshake failed.
#[derive(Debug)]
pub(super) struct Disagreement {
    pub(super) host: String,
    pub(super) source: io::Error,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no encrypted connection to {}", self.host)
    }
}

impl std::error::Error for Disagreement {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl MakeTlsConnect<Socket> for Encryption {
    type Stream = Encrypted;
    type TlsConnect = ToHost;
    type Error = Disagreement;

    fn make_tls_connect(&mut self, host: &str) -> Result<ToHost, Disagreement> {
        // Also called for sockets, which have no name and are not encrypted, so the name is parsed
        // later.
        Ok(ToHost { config: self.0.clone(), host: host.to_owned() })
    }
}

impl TlsConnect<Socket> for ToHost {
    type Stream = Encrypted;
    type Error = Disagreement;
    type Future = Pin<Box<dyn Future<Output = Result<Encrypted, Disagreement>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        let Self { config, host } = self;
        Box::pin(async move {
            let stream = match ServerName::try_from(host.clone()) {
                Ok(name) => TlsConnector::from(config).connect(name, socket).await,
                Err(error) => Err(io::Error::new(io::ErrorKind::InvalidInput, error)),
            };
            stream.map(Encrypted).map_err(|source| Disagreement { host, source })
        })
    }
}

pub(super) struct Encrypted(tokio_rustls::client::TlsStream<Socket>);

impl TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
