//! Pictures: of an instance at any moment, and of models.

use travertine_data::json;
use travertine_draw::{Error, Marks, Options};
use travertine_runtime::engine::File;
use travertine_value::Value;

use super::{
    call::{Answer, Call, SVG},
    history::{Moment, Past},
    problem::Problem,
};
use crate::desk::{Outcome, Refusal, off_the_executor};

pub(super) async fn of_instance(call: Call) -> Result<Answer, Problem> {
    let instance = call.instance().await?;
    let moment = match call.parameter("at") {
        Some(text) => text.parse()?,
        None => Moment { entry: u64::MAX, event: None },
    };
    let past = Past::at_moment(&call, instance, moment, true).await?;
    let definition = past.definition;
    if definition.is_function() {
        let id = &definition.id;
        let detail = format!("instance {instance} is of {id}, a function, which has no picture");
        return Err(Refusal::new(Outcome::InvalidState, detail).into());
    }
    let (engine, key) = (call.desk.engine().clone(), definition.key);
    let file = off_the_executor(move || Ok(engine.file_of(key)?)).await?;
    drawn(file, Some(definition.id.to_string()), how(&call)?, past.marks).await
}

/// Whether everything is laid out anew, and whether the picture is a part of a page.
pub(super) fn how(call: &Call) -> Result<(bool, bool), Problem> {
    Ok((call.flag("layout")?, call.flag("page")?))
}

/// A model, drawn.
pub(super) async fn drawn(
    file: File,
    process: Option<String>,
    (anew, for_page): (bool, bool),
    marks: Option<Marks>,
) -> Result<Answer, Problem> {
    let svg = off_the_executor(move || {
        let options = Options { process, anew, marks };
        let picture = travertine_draw::draw(&file.name, &file.body, &options);
        let picture = picture.map_err(|error| refused(&error))?;
        Ok(if for_page { picture.svg_for_page() } else { picture.svg() })
    });
    Ok(Answer::Text(SVG, svg.await?.into()))
}

/// Where everything of a model goes.
pub(super) async fn diagram(
    file: File,
    process: Option<String>,
    anew: bool,
) -> Result<Value, Problem> {
    let diagram = off_the_executor(move || {
        let options = Options { process, anew, marks: None };
        let placed = travertine_draw::places(&file.name, &file.body, &options);
        placed.map_err(|error| refused(&error))
    });
    let diagram = diagram.await?;
    let shapes = diagram.shapes.iter().map(|it| {
        json::object([
            ("element", it.element.as_str().into()),
            ("x", number(it.x)),
            ("y", number(it.y)),
            ("width", number(it.width)),
            ("height", number(it.height)),
            ("expanded", it.expanded.into()),
        ])
    });
    let edges = diagram.edges.iter().map(|it| {
        let points =
            it.points.iter().map(|(x, y)| json::object([("x", number(*x)), ("y", number(*y))]));
        json::object([("element", it.element.as_str().into()), ("points", points.collect())])
    });
    Ok(json::object([("shapes", shapes.collect()), ("edges", edges.collect())]))
}

/// A length with one digit behind the point.
fn number(it: f64) -> Value {
    Value::parse_json(&format!("{it:.1}")).unwrap_or(Value::Null)
}

fn refused(error: &Error) -> Refusal {
    Refusal::invalid(error.to_string())
}
