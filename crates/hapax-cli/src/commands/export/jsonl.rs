//! Writes `pages.jsonl` and `duplicates.jsonl`, one JSON object per line.

use super::rows::{DUPLICATES, JsonRow, PAGES, Relation, Row, Sink};
use super::sync;
use crate::failure::Failure;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

pub(super) struct Files {
    pages: Lines,
    duplicates: Lines,
}

struct Lines {
    to: BufWriter<File>,
    path: PathBuf,
}

impl Files {
    pub(super) fn create(folder: &Path) -> Result<Self, Failure> {
        fs::create_dir(folder).map_err(|error| Failure::io("write", folder, error))?;
        let lines = |relation: &Relation| {
            let path = folder.join(format!("{}.jsonl", relation.name));
            let file = File::create(&path).map_err(|error| Failure::io("write", &path, error))?;
            Ok::<_, Failure>(Lines { to: BufWriter::new(file), path })
        };
        Ok(Self { pages: lines(&PAGES)?, duplicates: lines(&DUPLICATES)? })
    }
}

impl Sink for Files {
    fn put(&mut self, relation: &'static Relation, rows: &[&Row]) -> Result<(), Failure> {
        let lines = match relation.name {
            "pages" => &mut self.pages,
            _ => &mut self.duplicates,
        };
        for row in rows {
            let mut line =
                serde_json::to_vec(&JsonRow(relation, row)).map_err(anyhow::Error::new)?;
            line.push(b'\n');
            lines.to.write_all(&line).map_err(|error| Failure::io("write", &lines.path, error))?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), Failure> {
        for mut lines in [self.pages, self.duplicates] {
            lines.to.flush().map_err(|error| Failure::io("write", &lines.path, error))?;
            sync(lines.to.get_ref(), &lines.path)?;
        }
        Ok(())
    }
}
