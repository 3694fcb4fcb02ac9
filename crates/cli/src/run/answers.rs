//! Answers given in advance: a JSON list, in the order in which they are given.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use travertine_data::run::{Answer, Unfit};
use travertine_value::{Name, Value};

use super::{notes::Notes, world::World};
use crate::{files, pairs, screen::Screen};

/// Answers given in advance.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    file: String,
    all: Vec<(Value, Answer)>,
}

impl Answers {
    /// Reads and understands all of them before any is given.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let file = files::title(path);
        let text = files::text(path)?;
        let value = Value::parse_json(&text).map_err(|it| {
            if it.is_malformed() {
                anyhow!("{file} is not JSON: {it}")
            } else {
                anyhow!("the JSON in {file} cannot be taken: {it}")
            }
        })?;
        let Some(items) = value.as_list() else {
            bail!("{file} holds {}, not a list of answers; see docs/cli.md", value.kind());
        };
        let mut all = Vec::new();
        for (position, item) in items.iter().enumerate() {
            let read = Answer::read(item).map_err(|it| anyhow!(it));
            let answer = read.with_context(|| heading(&file, position, item))?;
            all.push((item.clone(), answer));
        }
        Ok(Self { file, all })
    }

    /// Gives them, one after the other, each when all before it is carried through.
    pub(crate) fn give(&self, world: &mut World, out: &Screen) -> Result<()> {
        self.give_noted(world, out, None)
    }

    /// Gives them, one after the other, but none again that `notes` has as given.
    pub(crate) fn give_noted(
        &self,
        world: &mut World,
        out: &Screen,
        notes: Option<&Notes>,
    ) -> Result<()> {
        if self.all.is_empty() {
            return Ok(());
        }
        let given = notes.map_or(0, |it| it.given(&self.file, world));
        for (position, (item, answer)) in self.all.iter().enumerate().skip(given) {
            if world.restless().is_some() || out.is_closed() {
                return Ok(());
            }
            let mut name = None;
            if let Some(notes) = notes {
                notes.giving(&self.file, position, world)?;
                name = Some(Name::from(format!("answer {position} to {}", world.main().id)));
            }
            let given = answer.give(world, name).map_err(fault);
            given.with_context(|| heading(&self.file, position, item))?;
            if let Some(notes) = notes {
                notes.gave(&self.file, position, world)?;
            }
        }
        Ok(())
    }
}

fn heading(file: &str, position: usize, item: &Value) -> String {
    format!("{file}: answer {}, {}", position + 1, pairs::short(item))
}

/// Why an answer cannot be given: what the engine says keeps what it means.
pub(crate) fn fault(unfit: Unfit) -> anyhow::Error {
    match unfit {
        Unfit::Text(text) => anyhow!(text),
        Unfit::Engine(error) => error.into(),
    }
}
