//! `travertine draw`: a model as a picture, with what an instance of it has done.
//!
//! The picture is the drawing crate's; here an instance is run or looked up for it, `journal` notes what it does,
//! and the result goes where it was asked for.

use std::{fs, path::Path};

use anyhow::{Context as _, Result, bail};
use travertine_data::journal::Journal;
use travertine_draw::{Error, Marks, Options, Picture};
use travertine_kernel::Event;
use travertine_store::record::Record;

use crate::{
    args,
    args::words::Whose,
    caller, clock,
    control::{self, Served},
    diagnostic,
    files::Models,
    run::{self, World},
    screen::Screen,
    status::Status,
    store::Front,
};

/// Draws the first of the files.
pub(crate) fn draw(
    args: &args::Draw,
    served: Option<&Served>,
    out: &Screen,
    err: &Screen,
) -> Result<Status> {
    if served.is_none()
        && args.instance.is_some()
        && let Some(status) = control::ask(&args.place.data, out, err)?
    {
        return Ok(status);
    }
    let format = Format::of(args.output.as_deref())?;
    let (models, process, marks) = if let Some(instance) = &args.instance {
        kept(instance, &args.place, Front { served, out, err })?
    } else {
        let models = Models::read(&args.files)?;
        let marks = match marks(args, &models, out, err)? {
            Run::Not => None,
            Run::Done(marks) => Some(marks),
            Run::Rejected => return Ok(Status::Rejected),
        };
        (models, args.process.clone(), marks)
    };
    let options = Options { process, anew: args.layout, marks };
    let (file, bytes) = models.first();
    let picture = match travertine_draw::draw(file, bytes, &options) {
        Ok(picture) => picture,
        Err(Error::Unreadable(fault)) => {
            err.lines(diagnostic::text(&fault, &models, err.paint));
            return Ok(Status::Rejected);
        }
        Err(error) => return Err(error.into()),
    };
    for note in &picture.notes {
        err.line(format!("{} {note}", err.paint.yellow("note:")));
    }
    match (&args.output, format) {
        (None, _) => out.raw(picture.svg().trim_end()),
        (Some(path), Format::Svg) => write(path, picture.svg().as_bytes())?,
        (Some(path), Format::Png) => write(path, &png(&picture)?)?,
    }
    Ok(Status::Done)
}

#[derive(Clone, Copy, Debug)]
enum Format {
    Svg,
    Png,
}

impl Format {
    fn of(output: Option<&Path>) -> Result<Self> {
        let Some(path) = output else { return Ok(Self::Svg) };
        let ending = path.extension().map(|it| it.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") if cfg!(feature = "png") => Ok(Self::Png),
            Some("png") => bail!(
                "this build draws only SVG; build it with the feature `png`, or turn the SVG into \
                 a PNG with a browser, `resvg` or `rsvg-convert`"
            ),
            _ => bail!("{} ends neither in .svg nor in .png", path.display()),
        }
    }
}

#[cfg(feature = "png")]
fn png(picture: &Picture) -> Result<Vec<u8>> {
    Ok(picture.png()?)
}

#[cfg(not(feature = "png"))]
fn png(_: &Picture) -> Result<Vec<u8>> {
    unreachable!("the format is refused before anything is drawn")
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(caller::path(path), bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// The model of an instance in a store, its process, and what the instance has done.
fn kept(
    instance: &Whose,
    place: &args::store::Place,
    front: Front<'_>,
) -> Result<(Models, Option<String>, Option<Marks>)> {
    let mut found = None;
    front.look_at(place, false, |desk| {
        let instance = desk.instance(instance)?;
        let look = desk.look(instance)?;
        if look.definition.is_function() {
            bail!(
                "instance {instance} is of {}, a function, which has no picture; {} says what it waits for, \
                 {} what it did",
                look.definition.id,
                desk.command(&["show", &instance.to_string()]),
                desk.command(&["history", &instance.to_string()])
            );
        }
        let history = desk.ok(desk.engine.history(instance))?;
        let definitions = desk.engine.definitions();
        let journal = Journal::default();
        let find = |key| definitions.get(key).unwrap_or(&look.definition);
        let mut by = history.steps.first().map(|it| it.definition);
        for step in &history.steps {
            // Of what it did by another version only that has a place here which has the same id.
            let definition = find(step.definition);
            for record in &step.records {
                let Record::Happened(events) = record else { continue };
                for event in events {
                    if let Event::Migrated { nodes, .. } = event {
                        let next = step.records.iter().find_map(|it| match it {
                            Record::Migrated { definition } => Some(*definition),
                            _ => None,
                        });
                        let (old, new) =
                            (by.map_or(definition, find), next.map_or(definition, find));
                        journal.migrate(instance, (&old.plan, &new.plan), nodes);
                        by = next;
                    } else {
                        let plan = &by.map_or(definition, find).plan;
                        journal.note(instance, plan, std::slice::from_ref(event));
                    }
                }
            }
        }
        let file = desk.ok(desk.engine.file_of(look.definition.key))?;
        let marks = journal.marks([(&*look.definition.plan, &look.state)].into_iter());
        let process = look.definition.id.to_string();
        found = Some((Models::of(file.name, file.body), Some(process), Some(marks)));
        Ok(Status::Done)
    })?;
    found.context("the instance could not be read")
}

/// What came of running an instance for the picture.
enum Run {
    /// Nobody asked for one.
    Not,
    Done(Marks),
    Rejected,
}

fn marks(args: &args::Draw, models: &Models, out: &Screen, err: &Screen) -> Result<Run> {
    if !args.run && !args.start.is_given() {
        return Ok(Run::Not);
    }
    let defined = models.defined_for_good();
    if defined.report.is_rejected() {
        run::reject(&defined.report, models, false, out, err);
        return Ok(Run::Rejected);
    }
    let journal = Journal::default();
    let notes = journal.clone();
    let now = args.start.now.unwrap_or_else(clock::now);
    let mut world = World::observed(now, move |it| {
        notes.note(it.instance, &it.definition.plan, it.events);
    });
    run::begin(&args.start, args.process.as_deref(), &defined, &mut world, out)?;
    let instances = world.instances().map(|it| (it.plan(), it.state));
    Ok(Run::Done(journal.marks(instances)))
}
