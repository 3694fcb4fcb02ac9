//! Pages that explain a construct by a model that is run: read, run, and written anew.
//!
//! A page is Markdown. Each `xml` block is a model, the inside of its `definitions`; it is drawn as
//! `PAGE-N.svg`, which the page must show. A block of DMN, a whole document, is for the models after
//! it. Each `trace` block is a run of the model before it: lines that begin with `>` are what is
//! done (see `step`), and what came of it stands between them.

mod step;
mod story;

use travertine_runtime::{Models, Timestamp, read_models};

use crate::document;
use step::Stage;

/// A page as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Its text.
    pub text: String,
    /// Its pictures: names of files beside it, and SVG.
    pub pictures: Vec<(String, String)>,
    /// How many runs it has.
    pub runs: usize,
}

/// Runs what is on a page, and writes it down with what came of it.
pub fn write(name: &str, text: &str) -> Result<Page, String> {
    let mut page = Page::default();
    let mut decisions = None;
    let mut model = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        page.text = page.text + line + "\n";
        let Some(kind) = line.strip_prefix("```").filter(|it| !it.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|it| *it != "```").collect();
        let content = block.join("\n");
        let written = match kind {
            "xml" if content.starts_with("<definitions") => {
                decisions = Some(read_decisions(&content)?);
                content
            }
            "xml" => {
                let xml = document(&content);
                let picture = format!("{name}-{}.svg", page.pictures.len() + 1);
                if !text.contains(&format!("]({picture})")) {
                    return Err(format!("{name}.md does not show {picture}"));
                }
                let drawn = travertine_draw::draw(
                    "model.bpmn",
                    named(&xml).as_bytes(),
                    &travertine_draw::Options::default(),
                );
                let drawn = drawn.map_err(|error| format!("{picture}: {error}"))?;
                page.pictures.push((picture, drawn.svg()));
                model = Some(xml);
                content
            }
            "trace" => {
                let model = model.as_deref().ok_or_else(|| format!("{name}.md runs nothing"))?;
                page.runs += 1;
                let steps = block.iter().filter_map(|it| it.strip_prefix("> "));
                let told = Stage::new(model, decisions.as_ref()).and_then(|it| it.play(steps));
                told.map_err(|error| format!("{name}.md, run {}: {error}", page.runs))?
            }
            _ => content,
        };
        page.text = page.text + &written + "\n```\n";
    }
    Ok(page)
}

/// The model with events and gateways named as runs call them, so that the picture shows it.
fn named(xml: &str) -> String {
    let mut parts = xml.split('<');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (kind, rest) = part.split_once(" id=\"").unwrap_or((part, ""));
        let id = rest.split('"').next().unwrap_or_default();
        if kind.ends_with("Event") || kind.ends_with("Gateway") {
            out = format!("{out}<{kind} name=\"{id}\" id=\"{rest}");
        } else {
            out = format!("{out}<{part}");
        }
    }
    out
}

fn read_decisions(xml: &str) -> Result<Models, String> {
    let models = read_models(&[("model.dmn", xml.as_bytes())], None, Timestamp::default());
    if models.report.is_rejected() {
        return Err(format!("the decisions are rejected: {:?}", models.report.diagnostics));
    }
    Ok(models)
}
