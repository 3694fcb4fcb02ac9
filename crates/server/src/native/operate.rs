//! What operators do with instances. Each answers with how it then stands with the instance.

use travertine_data::{json, rows};
use travertine_kernel::{Reach, TokenId};
use travertine_runtime::{Error, InstanceId, Named};
use travertine_store::view::InstanceState;

use super::{
    call::{Answer, Call, missing},
    problem::Problem,
};
use crate::desk::{Outcome, Refusal, off_the_executor};

/// How it stands with an instance.
pub(super) async fn told(call: &Call, instance: InstanceId) -> Result<Answer, Problem> {
    let look = call.desk.engine().look(instance).await?;
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
    if !variables.is_empty() {
        engine.set_variables(instance, token, variables).await?;
    }
    let retried = if before.state == InstanceState::Halted {
        let engine = engine.clone();
        let release = move || match engine.release(instance) {
            // Someone who has changed its variables has had it tried again.
            Err(Error::NotHalted(_)) => Ok(1),
            other => Ok(other.map(|()| 1)?),
        };
        off_the_executor(release).await?
    } else {
        match engine.retry(instance, token).await {
            Ok(count) => count,
            // What was set has let it go on.
            Err(_) if engine.look(instance).await?.row.incidents == 0 => 1,
            Err(error) => return Err(error.into()),
        }
    };
    let look = engine.look(instance).await?;
    let is_left = look.row.incidents > 0 || look.row.state == InstanceState::Halted;
    let still = is_left.then(|| json::key(look.row.id));
    Ok(Answer::Document(json::object([
        ("retried", (retried as u64).into()),
        ("still", still.into_iter().collect()),
        ("instance", rows::instance(&look.row)),
    ])))
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
