//! Objects of cloud stores, web servers and hubs as blocking readers and writers.
//!
//! [`find`](Finder::find) turns an address into [`Object`]s with size and version. An [`Object`] is read in
//! concurrent ranges in bounded memory, always in the version that was found, so an object replaced meanwhile is an
//! error. Uploads to a [`Folder`] appear atomically. Clouds are those of the `object_store` crate, whose runtime is
//! internal; requests use one blocking HTTP client, which follows no redirects of signed requests. Not handled:
//! listings of web servers, names with empty segments, `hf://` other than datasets.

mod address;
mod cloud;
mod find;
mod http;
mod hub;
mod object;
mod parse;
mod profile;
mod reader;
mod runtime;
mod upload;
mod web;

pub use address::{is_address, shown};
pub use {find::Finder, object::Object, reader::Reader, upload::Folder};

/// The objects of an address.
#[derive(Debug)]
pub enum Found {
    One(Object),
    /// The objects that match a pattern; may be empty.
    Matching(Vec<Object>),
    /// All objects below a folder, each with the part of its name below the folder.
    Below(Vec<(Object, String)>),
}
