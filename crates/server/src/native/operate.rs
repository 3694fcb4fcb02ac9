//! What operators do with instances. Each answers with how it then stands with the instance.

use travertine_data::{json, rows};
use travertine_kernel::{Reach, TokenId};
use travertine_runtime::{Engine, Error, InstanceId, Named};
use travertine_store::view::{InstanceRow, InstanceState};

use super::{
    call::{Answer, Call, missing},
    problem::{Problem, once_done},
};
use crate::desk::{Outcome, Refusal, off_the_executor};

/// How it stands with an instance once something was done with it.
pub(super) async fn told(call: &Call, instance: InstanceId) -> Result<Answer, Problem> {
    let look = once_done(call.desk.engine().look(instance).await)?;
    Ok(Answer::Document(rows::instance(&look.row)))
}

pub(super) async fn cancel(call: Call) -> Result<Answer, Problem> {
    let instance = call.instance().await?;
    call.desk.engine().cancel(instance).await?;
    told(&call, instance).await
}

pub(super) async fn suspend(call: Call) -> Result<Answer, Problem> {
    let instance = call.instance().await?;
    call.desk.engine().suspend(instance).await?;
    told(&call, instance).await
}

pub(super) async fn resume(call: Call) -> Result<Answer, Problem> {
    let instance = call.instance().await?;
    call.desk.engine().resume(instance).await?;
    told(&call, instance).await
}

/// Tries again what has failed, and says whether it has failed again.
pub(super) async fn resolve(call: Call) -> Result<Answer, Problem> {
    let instance = call.instance().await?;
    let (token, variables) = (call.count("token")?.map(TokenId), call.variables("variables")?);
    let engine = call.desk.engine();
    let before = engine.look(instance).await?.row;
    if before.incidents == 0 && before.state != InstanceState::Halted {
        let detail = format!("instance {instance} has no incident");
        return Err(Refusal::new(Outcome::InvalidState, detail).into());
    }
    let retried = if variables.is_empty() {
        try_again(engine, &before, token).await?
    } else {
        engine.set_variables(instance, token, variables).await?;
        once_done(try_again(engine, &before, token).await)?
    };
    let look = once_done(engine.look(instance).await)?;
    let is_left = look.row.incidents > 0 || look.row.state == InstanceState::Halted;
    let still = is_left.then(|| json::key(look.row.id));
    Ok(Answer::Document(json::object([
        ("retried", (retried as u64).into()),
        ("still", still.into_iter().collect()),
        ("instance", rows::instance(&look.row)),
    ])))
}

/// Tries again what has failed in an instance. Answers how much that was.
async fn try_again(
    engine: &Engine,
    before: &InstanceRow,
    token: Option<TokenId>,
) -> Result<usize, Problem> {
    let instance = InstanceId(before.id);
    if before.state == InstanceState::Halted {
        let engine = engine.clone();
        let release = move || match engine.release(instance) {
            // Someone who has changed its variables has had it tried again.
            Err(Error::NotHalted(_)) => Ok(1),
            other => Ok(other.map(|()| 1)?),
        };
        return Ok(off_the_executor(release).await?);
    }
    match engine.retry(instance, token).await {
        Ok(count) => Ok(count),
        // What was set has let it go on.
        Err(_) if engine.look(instance).await?.row.incidents == 0 => Ok(1),
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn set(call: Call) -> Result<Answer, Problem> {
    let instance = call.instance().await?;
    let (token, variables) = (call.count("token")?.map(TokenId), call.variables("variables")?);
    if variables.is_empty() {
        return Err(missing("variables"));
    }
    let engine = call.desk.engine();
    if call.yes("local")? {
        let token =
            token.ok_or_else(|| Refusal::invalid("whose variables are local? say token"))?;
        let look = engine.look(instance).await?;
        let visit = look.state.tokens.get(&token).map(|it| it.visit);
        let none = || Refusal::not_found(format!("instance {instance} has no token {}", token.0));
        let visit = visit.ok_or_else(none)?;
        engine.set(Named::Visit(instance, visit), variables, Reach::Local).await?;
    } else {
        engine.set_variables(instance, token, variables).await?;
    }
    told(&call, instance).await
}

pub(super) async fn delete(call: Call) -> Result<Answer, Problem> {
    let instance = call.instance().await?;
    let engine = call.desk.engine().clone();
    off_the_executor(move || Ok(engine.delete(instance)?)).await?;
    Ok(Answer::Document(json::object([("deleted", json::key(instance.0))])))
}
