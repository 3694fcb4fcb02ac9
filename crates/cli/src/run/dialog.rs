//! Asks someone at a terminal about what waits.

use anyhow::Result;
use travertine_kernel::{Assignments, TokenId, WaitFor, WaitId, tree};
use travertine_runtime::{InstanceId, Message, Receipt};

use super::{
    answers,
    pending::{Pending, What},
    prompt::{Line, Prompt},
    request::{HELP, Request},
    world::World,
};
use crate::{pairs, screen::Screen, status::Status};

/// Asks until nothing waits any more. Answers with a status where someone has left before that for
/// a reason that only this place knows.
pub(crate) fn talk(world: &mut World, prompt: &mut Prompt, out: &Screen) -> Result<Option<Status>> {
    let mut dialog = Dialog { world, out, current: None, shown: None };
    while let Some(pending) = dialog.next() {
        dialog.introduce(&pending);
        match prompt.ask(&format!("{}> ", pending.element))? {
            Line::Text(line) => match Request::read(&line) {
                Ok(Request::Quit) => return Ok(None),
                Ok(request) => dialog.serve(&pending, request),
                Err(fault) => dialog.say(&fault),
            },
            Line::End => return Ok(None),
            Line::Interrupted => return Ok(Some(Status::Interrupted)),
        }
    }
    Ok(None)
}

/// What tells one pending thing from another.
type Key = (InstanceId, TokenId, Option<WaitId>);

struct Dialog<'a> {
    world: &'a mut World,
    out: &'a Screen,
    /// What is being asked about.
    current: Option<Key>,
    /// What was introduced last.
    shown: Option<Key>,
}

impl Dialog<'_> {
    /// What to ask about: the same as before, else the first that someone can do something about.
    fn next(&mut self) -> Option<Pending> {
        if self.world.is_over() || self.out.is_closed() {
            return None;
        }
        let askable = self.askable();
        let again = askable.iter().find(|it| Some(key(it)) == self.current);
        let found = again.or_else(|| askable.first()).cloned();
        self.current = found.as_ref().map(key);
        found
    }

    fn askable(&self) -> Vec<Pending> {
        self.world.pending().into_iter().filter(Pending::is_askable).collect()
    }

    fn introduce(&mut self, pending: &Pending) {
        if self.shown.replace(key(pending)) == Some(key(pending)) {
            return;
        }
        let (paint, now) = (self.out.paint, self.world.sandbox().now());
        let kind = match pending.what {
            What::Incident(_) => paint.red(pending.kind()),
            What::Stuck(_) | What::Wait(..) | What::Condition(_) | What::Tokens => {
                paint.cyan(pending.kind())
            }
        };
        self.out.line("");
        self.out.line(format!("{kind} {}", paint.bold(pending.title())));
        self.say(&pending.why(now));
        if let Some(way_out) = pending.way_out() {
            self.say(&format!("way out: {way_out}"));
        }
        let visible = self.world.visible(pending);
        if !visible.is_empty() {
            self.say(&format!("sees {}", pairs::show(&visible)));
        }
        let others = self.askable().len() - 1;
        let more = match others {
            0 => String::new(),
            1 => "; `list` shows 1 more that waits".to_owned(),
            n => format!("; `list` shows {n} more that wait"),
        };
        self.out.line(paint.dim(format!("  {}; `help` for all{more}", hint(pending))));
    }

    fn serve(&mut self, pending: &Pending, request: Request) {
        let done = match request {
            Request::Answer(vars) => self.answer(pending, vars),
            Request::Error { code, vars, message } => self
                .to(pending, |world, to| Ok(world.act(|it| it.raise(to, &code, &message, vars))?)),
            Request::Escalate { code, vars } => {
                self.to(pending, |world, to| Ok(world.act(|it| it.escalate(to, &code, vars))?))
            }
            Request::Fail { message } => {
                let retries = answers::tries_left(pending);
                self.to(pending, |world, to| Ok(world.act(|it| it.fail(to, retries, &message))?))
            }
            Request::Retry => {
                let (instance, token) = (pending.instance, pending.token);
                self.world.act(|it| it.retry(instance, token)).map_err(Into::into)
            }
            Request::Time(span) => self.pass(span.as_deref().unwrap_or("next")),
            Request::Set(vars) => {
                let instance = pending.instance;
                self.world.act(|it| it.set_variables(instance, None, vars)).map_err(Into::into)
            }
            Request::Message { name, vars } => self.publish(&name, vars),
            Request::Signal { name, vars } => {
                self.world.act(|it| it.signal(&name, &vars)).map_err(Into::into)
            }
            Request::Cancel => {
                let main = self.world.main().id;
                self.world.act(|it| it.cancel(main)).map_err(Into::into)
            }
            Request::Choose(number) => {
                self.choose(number);
                Ok(())
            }
            Request::Skip => {
                self.skip(pending);
                Ok(())
            }
            Request::List => {
                self.list();
                Ok(())
            }
            Request::Vars => {
                self.vars(pending);
                Ok(())
            }
            Request::Tree => {
                self.tree();
                Ok(())
            }
            Request::Help => {
                self.out.line(HELP);
                Ok(())
            }
            // Whoever asks has left by now.
            Request::Quit => Ok(()),
        };
        if let Err(error) = done {
            self.say(&format!("{error:#}"));
        }
    }

    /// What is waited for happens.
    fn answer(&mut self, pending: &Pending, vars: Assignments) -> Result<()> {
        let (wait, on) = match &pending.what {
            What::Wait(wait, on) => (*wait, on),
            What::Condition(text) if vars.is_empty() => {
                anyhow::bail!("set variables so that {text}, such as name=value")
            }
            What::Incident(_) if vars.is_empty() => anyhow::bail!("type `retry` to try it again"),
            What::Condition(_) | What::Incident(_) | What::Stuck(_) | What::Tokens => {
                let (instance, token) = (pending.instance, pending.token);
                self.world.act(|it| it.set_variables(instance, Some(token), vars))?;
                if matches!(pending.what, What::Incident(_)) {
                    self.say("set; type `retry` to try it again");
                }
                return Ok(());
            }
        };
        match &**on {
            WaitFor::Timer { due, .. } if vars.is_empty() => {
                let due = *due;
                self.world.act(|it| it.advance(due))?;
                self.say(&format!("it is {due}"));
                Ok(())
            }
            WaitFor::Signal { name } => Ok(self.world.act(|it| it.signal(name, &vars))?),
            WaitFor::Timer { .. }
            | WaitFor::Work(_)
            | WaitFor::Message { .. }
            | WaitFor::Condition
            | WaitFor::Delivery(_)
            | WaitFor::Child { .. }
            | WaitFor::Gate(_)
            | WaitFor::Choice => {
                let to = travertine_runtime::Address { instance: pending.instance, wait };
                Ok(self.world.act(|it| it.complete(to, vars))?)
            }
        }
    }

    fn to(
        &mut self,
        pending: &Pending,
        act: impl FnOnce(&mut World, travertine_runtime::Address) -> Result<()>,
    ) -> Result<()> {
        match pending.address() {
            Some(to) if matches!(pending.kind(), "user task" | "job") => act(self.world, to),
            Some(_) | None => anyhow::bail!("only user tasks and jobs can do that"),
        }
    }

    fn pass(&mut self, span: &str) -> Result<()> {
        answers::advance(self.world, span)?;
        self.say(&format!("it is {}", self.world.sandbox().now()));
        Ok(())
    }

    fn publish(&mut self, name: &str, vars: Assignments) -> Result<()> {
        let message = Message { variables: vars, ..Message::new(name) };
        let mut receipt = None;
        self.world.act(|it| it.publish(message).map(|it| receipt = Some(it)))?;
        match receipt {
            Some(Receipt::Held | Receipt::Dropped) => {
                self.say("nobody waits for it yet; it is held for whoever does");
            }
            Some(Receipt::Started(id)) => self.say(&format!("it has started instance {id}")),
            Some(Receipt::Received(_) | Receipt::Noted) | None => {}
        }
        Ok(())
    }

    fn choose(&mut self, number: usize) {
        let askable = self.askable();
        match number.checked_sub(1).and_then(|it| askable.get(it)) {
            Some(found) => self.current = Some(key(found)),
            None => self.say(&format!("no such number: {number}; `list` shows them")),
        }
        self.shown = None;
    }

    fn skip(&mut self, pending: &Pending) {
        let askable = self.askable();
        let at = askable.iter().position(|it| key(it) == key(pending)).unwrap_or_default();
        match askable.len() {
            1 => self.say("nothing else waits"),
            many => self.current = Some(key(&askable[(at + 1) % many])),
        }
    }

    fn list(&mut self) {
        let now = self.world.sandbox().now();
        let all = self.world.pending();
        let width = all.iter().map(|it| it.title().chars().count()).max().unwrap_or_default();
        let mut number = 0;
        for it in all {
            let mark = if it.is_askable() {
                number += 1;
                number.to_string()
            } else {
                "-".to_owned()
            };
            let here = if Some(key(&it)) == self.current { '*' } else { ' ' };
            let (kind, title) = (it.kind(), it.title());
            self.out.line(format!("{here}{mark:>3}  {kind:<9}  {title:<width$}  {}", it.why(now)));
        }
    }

    fn vars(&self, pending: &Pending) {
        let visible = self.world.visible(pending);
        if visible.is_empty() {
            self.say("it sees no variables");
        }
        for (name, value) in visible {
            self.say(&format!("{name} = {}", crate::json::pretty(&value).replace('\n', "\n  ")));
        }
    }

    fn tree(&self) {
        for record in self.world.sandbox().instances() {
            if let Some(tree) = tree(record.plan(), &record.state) {
                self.out.line(tree.to_string().trim_end());
            }
        }
    }

    fn say(&self, text: &str) {
        self.out.line(format!("  {text}"));
    }
}

fn key(pending: &Pending) -> Key {
    (pending.instance, pending.token, pending.address().map(|it| it.wait))
}

/// What Enter does.
fn hint(pending: &Pending) -> &'static str {
    match pending.kind() {
        "incident" => "name=value sets variables, `retry` tries again",
        "condition" => "name=value sets variables",
        "timer" => "Enter lets time pass until then",
        "message" => "Enter or name=value lets the message come",
        "signal" => "Enter or name=value sends the signal",
        "gate" => "Enter grants it",
        "decision" => "name=value decides",
        _ => "Enter or name=value completes it, `error CODE` throws",
    }
}
