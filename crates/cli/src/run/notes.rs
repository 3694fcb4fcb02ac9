//! How far answers were given to an instance in a store, so that a killed run goes on where it was.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use travertine_value::Value;

use super::world::World;
use crate::json;

/// The file, beside what the store has.
const FILE: &str = "run.json";

/// How far answers were given to an instance in a store.
#[derive(Debug)]
pub(crate) struct Notes {
    path: PathBuf,
}

impl Notes {
    pub(crate) fn in_store(data: &Path) -> Self {
        Self { path: data.join(FILE) }
    }

    /// How many answers of a file the instance has had.
    pub(crate) fn given(&self, file: &str, world: &World) -> usize {
        let Ok(text) = fs::read_to_string(&self.path) else { return 0 };
        let note = Value::parse_json(&text).unwrap_or_default();
        let main = json::key(world.main().id.0);
        if note.field("instance") != Some(&main) || note.field("answers") != Some(&file.into()) {
            return 0;
        }
        let position = note.field("position").and_then(Value::as_i64).unwrap_or_default();
        let position = usize::try_from(position).unwrap_or_default();
        // Whether the one that was being given has come shows in the instances: they have changed.
        let came = note.field("before").is_some_and(|it| *it != world.mark().into());
        position + usize::from(came)
    }

    /// An answer is about to be given.
    pub(crate) fn giving(&self, file: &str, position: usize, world: &World) -> Result<()> {
        self.write(file, position, world, world.mark().into())
    }

    /// An answer has been given.
    pub(crate) fn gave(&self, file: &str, position: usize, world: &World) -> Result<()> {
        self.write(file, position + 1, world, Value::Null)
    }

    fn write(&self, file: &str, position: usize, world: &World, before: Value) -> Result<()> {
        let mut fields = vec![
            ("answers".into(), file.into()),
            ("instance".into(), json::key(world.main().id.0)),
            ("position".into(), position.into()),
        ];
        if !before.is_null() {
            fields.push(("before".into(), before));
        }
        let note: Value = fields.into_iter().collect();
        let fresh = self.path.with_extension("new");
        let written = File::create(&fresh).and_then(|mut it| {
            it.write_all(note.to_json().as_bytes())?;
            it.sync_all()?;
            fs::rename(&fresh, &self.path)
        });
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }
}
