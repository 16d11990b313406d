//! What programs need to speak with a repository behind HTTP, or to answer like one.
//!
//! [`wire`] is what is sent, [`moment`] how times are written, [`client`] asks a service, [`local`]
//! asks a folder in the same words, [`repository`] either of them, and [`prepare`] turns a page as it was sent into what a
//! repository takes. The service, the `hapax` program and the Python package use the same types, so
//! the same question has the same answer.
//!
//! Blocking, and without a server: what links this links no asynchronous code.

pub mod client;
pub mod local;
pub mod moment;
pub mod prepare;
pub mod repository;
pub mod wire;

pub use client::{Client, ClientError};
