//! A request that waits for a decision, but not for ever. `approval DIR`.
//!
//! While it waits one can look at it (a query) and change it (an update). The first request is approved; the
//! second hears from nobody and expires.

#![expect(clippy::print_stdout, reason = "this is what it is for")]

use std::{cell::RefCell, error::Error, rc::Rc, time::Duration};

use durable_functions::{Ledger, ended, open};
use serde::{Deserialize, Serialize};
use travertine::{
    ActivityContext, Context, Error as EngineError, Event, Failure, Flow, Run, activity, select,
    workflow,
};

/// Someone has decided.
#[derive(Event, Serialize, Deserialize)]
#[event(name = "request.decision")]
struct Decision {
    approved: bool,
}

#[activity]
async fn notify(cx: ActivityContext, text: String) -> Result<(), Failure> {
    cx.get::<Ledger>()?.write(&cx, &format!("tell about {}: {text}", cx.instance()))
}

#[workflow]
async fn request(cx: Context, days: u32, patience_ms: u64) -> Flow<String> {
    let approver = Rc::new(RefCell::new("nobody".to_owned()));
    let seen = Rc::clone(&approver);
    cx.on_query("approver", move |()| seen.borrow().clone());
    let changed = Rc::clone(&approver);
    cx.on_update(
        "assign",
        |name: &String| {
            let nobody = Failure::terminal("no-name", "an approver has a name");
            if name.is_empty() { Err(nobody) } else { Ok(()) }
        },
        move |name: String| Ok(changed.replace(name)),
    );

    cx.call(notify(format!("{days} days off are asked for"))).await?;
    let how = select! { cx;
        decision = cx.event::<Decision>() => {
            let how = if decision?.approved { "approved" } else { "refused" };
            format!("{how} by {}", approver.borrow())
        },
        slept = cx.sleep(Duration::from_millis(patience_ms)) => { slept?; "expired".to_owned() },
    };
    cx.call(notify(how.clone())).await?;
    Ok(how)
}

/// Finds someone who decides. The run may be over already, if this program was killed and begins again.
async fn assign(run: &Run<String>, name: &str) -> Result<(), EngineError> {
    match run.update::<_, String>("assign", name).await {
        Ok(before) => println!("{} goes from {before} to {name}", run.id()),
        Err(EngineError::Rejected(_)) => return Ok(()),
        Err(error) => return Err(error),
    }
    match run.query::<_, String>("approver", &()).await {
        Ok(approver) => println!("{} is with {approver}", run.id()),
        Err(EngineError::Rejected(_)) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let engine = open()?;
    let first = engine.start(request(5, 3_600_000)).id("holiday-1").await?;
    let second = engine.start(request(50, 30)).id("holiday-2").await?;
    assign(&first, "Ann").await?;
    let decision = engine.send_event(Decision { approved: true });
    decision.to("holiday-1").message_id("Ann decides").await?;
    println!("Ann has decided");
    for run in [first, second] {
        ended(run.id(), &run.result().await?);
    }
    engine.shutdown()?;
    Ok(())
}
