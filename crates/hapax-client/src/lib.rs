//! What programs need to use a repository behind HTTP, or to answer like one.
//!
//! [`wire`] has the types of requests and answers, [`moment`] the notation of times, [`client`] uses a service,
//! [`local`] a folder with the same results, [`repository`] either of them, and [`prepare`] turns a received
//! page into an observation. The service, the `hapax` program and the Python package use the same types, so the
//! same query has the same answer. Blocking, and without a server: links no asynchronous code.

pub mod client;
pub mod local;
pub mod moment;
pub mod prepare;
pub mod repository;
pub mod wire;

pub use client::{Client, ClientError};
