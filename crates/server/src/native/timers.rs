//! Timers, of instances and of definitions that they start.

use travertine_data::{json, words};
use travertine_runtime::Timestamp;
use travertine_store::{
    search::{Column, Condition, Test, TimerColumn},
    view::Table,
};
use travertine_value::time::{self, Timer};

use super::{
    call::{Answer, Call},
    list::Listed,
    operate::told,
    problem::Problem,
};
use crate::desk::Refusal;

pub(super) static LIST: Listed = Listed {
    table: Table::Timers,
    field: "timers",
    columns: &[
        ("definition", Column::Timer(TimerColumn::Definition)),
        ("element", Column::Timer(TimerColumn::Element)),
        ("due", Column::Timer(TimerColumn::Due)),
    ],
    others: &["instance"],
    newest_first: false,
};

pub(super) async fn list(call: Call) -> Result<Answer, Problem> {
    let mut search = LIST.search(&call)?;
    if let Some(instance) = call.instance_parameter("instance").await? {
        search.conditions.push(Condition::of(TimerColumn::Instance, Test::eq(instance.0)));
    }
    LIST.answer(&call, search).await
}

/// A timer rings at another time: a date, or so long from now.
pub(super) async fn shift(call: Call) -> Result<Answer, Problem> {
    let (timer, to) = (call.timer().await?, call.needed("to")?);
    let date = time::due(Timer::Date, &to, Timestamp::default());
    let due = match (date, words::span(&to)) {
        (Ok(due), _) => due.at,
        (Err(_), Ok(span)) => call.desk.engine().now().after(span),
        (Err(_), Err(_)) => {
            let detail = format!(
                "the field to is a point in time such as 2026-02-01T09:00:00Z, or a time from now such as PT2H, not \
                 {to:?}"
            );
            return Err(Refusal::invalid(detail).into());
        }
    };
    call.desk.engine().move_timer(timer, due).await?;
    Ok(Answer::Document(json::object([
        ("timer", timer.to_string().into()),
        ("due", due.to_string().into()),
    ])))
}

pub(super) async fn fire(call: Call) -> Result<Answer, Problem> {
    let timer = call.timer().await?;
    call.desk.engine().fire_timer(timer).await?;
    if timer.instance.0 == 0 {
        return Ok(Answer::Document(json::object([("timer", timer.to_string().into())])));
    }
    told(&call, timer.instance).await
}
