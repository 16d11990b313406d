//! `pages.jsonl` and `duplicates.jsonl`: a JSON object a line.

use super::rows::{DuplicateRow, PageRow, Sink};
use super::sync;
use crate::failure::Failure;
use serde::Serialize;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

struct Lines {
    to: BufWriter<File>,
    path: PathBuf,
}

pub(super) struct Files {
    pages: Lines,
    duplicates: Lines,
}

impl Files {
    pub(super) fn create(folder: &Path) -> Result<Self, Failure> {
        fs::create_dir(folder).map_err(|error| Failure::io("write", folder, error))?;
        let lines = |name: &str| {
            let path = folder.join(name);
            let file = File::create(&path).map_err(|error| Failure::io("write", &path, error))?;
            Ok::<_, Failure>(Lines { to: BufWriter::new(file), path })
        };
        Ok(Self { pages: lines("pages.jsonl")?, duplicates: lines("duplicates.jsonl")? })
    }
}

impl Lines {
    fn put(&mut self, row: &impl Serialize) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(row).map_err(anyhow::Error::new)?;
        line.push(b'\n');
        self.to.write_all(&line).map_err(|error| Failure::io("write", &self.path, error))
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.to.flush().map_err(|error| Failure::io("write", &self.path, error))?;
        sync(self.to.get_ref(), &self.path)
    }
}

impl Sink for Files {
    fn page(&mut self, row: PageRow) -> Result<(), Failure> {
        self.pages.put(&row)
    }

    fn duplicate(&mut self, row: DuplicateRow) -> Result<(), Failure> {
        self.duplicates.put(&row)
    }

    fn finish(self: Box<Self>) -> Result<(), Failure> {
        self.pages.finish()?;
        self.duplicates.finish()
    }
}
