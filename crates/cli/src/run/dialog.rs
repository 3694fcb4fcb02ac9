//! Asks someone at a terminal about what waits.

use anyhow::{Result, bail};
use travertine_data::run::{
    Pending, advance,
    pending::{Kind, What},
    tries_left,
};
use travertine_kernel::{Assignments, TokenId, WaitFor, WaitId, tree};
use travertine_runtime::{Address, Error, InstanceId, Message, Receipt};

use super::{
    answers,
    request::{HELP, Request},
    world::{Stage, World},
};
use crate::{
    json, pairs,
    prompt::{Line, Prompt},
    screen::{Screen, one_line},
    status::Status,
};

/// Asks until nothing waits any more. Answers with a status where someone has left before that for
/// a reason that only this place knows.
pub(crate) fn talk(world: &mut World, prompt: &mut Prompt, out: &Screen) -> Result<Option<Status>> {
    let mut dialog = Dialog { world, out, current: None, shown: None };
    while let Some(pending) = dialog.next()? {
        dialog.introduce(&pending);
        match prompt.ask(&format!("{}> ", one_line(&pending.element)))? {
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

/// How long a line is that people read.
const LINE_CHARS_MAX: usize = 96;

/// How many lines of a list people read.
const LINES_MAX: usize = 40;

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
    fn next(&mut self) -> Result<Option<Pending>> {
        self.world.look()?;
        if self.world.is_over() || self.out.is_closed() {
            return Ok(None);
        }
        let askable = self.askable();
        let again = askable.iter().find(|it| Some(key(it)) == self.current);
        let found = again.or_else(|| askable.first()).cloned();
        self.current = found.as_ref().map(key);
        Ok(found)
    }

    fn askable(&self) -> Vec<Pending> {
        self.world.pending().into_iter().filter(Pending::is_askable).collect()
    }

    fn introduce(&mut self, pending: &Pending) {
        if self.shown.replace(key(pending)) == Some(key(pending)) {
            return;
        }
        let (paint, now) = (self.out.paint, self.world.now());
        let kind = match pending.what {
            What::Incident(_) => paint.red(pending.kind()),
            What::Wait(..) | What::Condition(_) | What::Tokens | What::Events => {
                paint.cyan(pending.kind())
            }
        };
        self.out.gap();
        self.out.line(format!("{kind} {}", paint.bold(pending.title())));
        self.say(&pending.why(now));
        if let Some(way_out) = pending.way_out() {
            self.say(&format!("way out: {way_out}"));
        }
        let visible = self.world.visible(pending);
        if !visible.is_empty() {
            self.say_wrapped("variables:", visible.iter().map(|it| pairs::show([it])));
        }
        let more = match self.askable().len() - 1 {
            0 => String::new(),
            others => format!(" · list ({others} more)"),
        };
        self.out.line(paint.dim(format!("  {} · help{more}", hint(pending, self.world.is_kept()))));
    }

    fn serve(&mut self, pending: &Pending, request: Request) {
        let done = match request {
            Request::Choose(number) => return self.choose(number),
            Request::Skip => return self.skip(pending),
            Request::List => return self.list(),
            Request::Vars => return self.vars(pending),
            Request::Tree => return self.tree(),
            Request::Help => return self.out.lines(HELP),
            // Whoever asks has left by now.
            Request::Quit => return,
            Request::Answer(vars) => self.answer(pending, vars),
            Request::Error { code, vars, message } => {
                self.work(pending, |it, to| it.raise(to, &code, &message, vars))
            }
            Request::Escalate { code, vars } => {
                self.work(pending, |it, to| it.escalate(to, &code, vars))
            }
            Request::Fail { message } => {
                let retries = tries_left(pending);
                self.work(pending, |it, to| it.fail(to, retries, &message))
            }
            Request::Retry => self.act(|it| it.retry(pending.instance, pending.token)),
            Request::Time(span) => self.pass(span.as_deref().unwrap_or("next")),
            Request::Set(vars) => self.act(|it| it.set_variables(pending.instance, None, vars)),
            Request::Message { name, vars } => self.publish(&name, vars),
            Request::Signal { name, vars } => self.act(|it| it.signal(&name, &vars)),
            Request::Cancel => {
                let main = self.world.main().id;
                self.act(|it| it.cancel(main))
            }
        };
        match done {
            // Whatever still waits may wait for something else now.
            Ok(()) => self.shown = None,
            Err(error) => self.say(&format!("{error:#}")),
        }
    }

    /// What is waited for happens.
    fn answer(&mut self, pending: &Pending, vars: Assignments) -> Result<()> {
        match &pending.what {
            What::Wait(wait, on) => {
                let to = Address { instance: pending.instance, wait: *wait };
                self.meet(to, on, vars)
            }
            What::Incident(_) if vars.is_empty() => bail!("type `retry` to try it again"),
            What::Condition(text) if vars.is_empty() => {
                bail!("set variables so that {text} holds, such as name=value")
            }
            What::Incident(_) | What::Condition(_) | What::Tokens | What::Events => {
                self.act(|it| it.set_variables(pending.instance, Some(pending.token), vars))
            }
        }
    }

    fn meet(&mut self, to: Address, on: &WaitFor, vars: Assignments) -> Result<()> {
        match on {
            WaitFor::Timer { due, .. } if vars.is_empty() => {
                self.act(|it| it.advance(*due))?;
                self.tell_time();
                Ok(())
            }
            WaitFor::Signal { name } => self.act(|it| it.signal(name, &vars)),
            WaitFor::Timer { .. }
            | WaitFor::Work(_)
            | WaitFor::Message { .. }
            | WaitFor::Condition
            | WaitFor::Delivery(_)
            | WaitFor::Child { .. }
            | WaitFor::Gate(_)
            | WaitFor::Choice
            | WaitFor::Data { .. } => self.act(|it| it.complete(to, vars)),
        }
    }

    fn act(&mut self, what: impl FnOnce(&mut Stage) -> Result<(), Error>) -> Result<()> {
        Ok(self.world.act(what)?)
    }

    /// Something that only work can do.
    fn work(
        &mut self,
        pending: &Pending,
        what: impl FnOnce(&mut Stage, Address) -> Result<(), Error>,
    ) -> Result<()> {
        match pending.address() {
            Some(to) if pending.is_work() => self.act(|it| what(it, to)),
            Some(_) | None => bail!("only user tasks and jobs can do that"),
        }
    }

    fn pass(&mut self, span: &str) -> Result<()> {
        advance(self.world, span).map_err(answers::fault)?;
        self.tell_time();
        Ok(())
    }

    fn publish(&mut self, name: &str, vars: Assignments) -> Result<()> {
        let message = Message { variables: vars, ..Message::new(name) };
        let mut receipt = None;
        self.act(|it| it.publish(message).map(|it| receipt = Some(it)))?;
        match receipt {
            Some(Receipt::Held | Receipt::Dropped) => {
                self.say("nobody waits for it yet; it is buffered for who does");
            }
            Some(Receipt::Started(id)) => self.say(&format!("it has started instance {id}")),
            Some(Receipt::Received(_) | Receipt::Shared(_) | Receipt::Noted | Receipt::Known)
            | None => {}
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
        let now = self.world.now();
        let mut all = self.world.pending();
        let more = all.len().saturating_sub(LINES_MAX);
        all.truncate(LINES_MAX);
        let width =
            all.iter().map(|it| one_line(&it.title()).chars().count()).max().unwrap_or_default();
        let mut number = 0;
        for it in all {
            let mark = if it.is_askable() {
                number += 1;
                number.to_string()
            } else {
                "-".to_owned()
            };
            let here = if Some(key(&it)) == self.current { '*' } else { ' ' };
            let (kind, title) = (it.kind(), one_line(&it.title()));
            self.out.line(format!("{here}{mark:>3}  {kind:<9}  {title:<width$}  {}", it.why(now)));
        }
        if more > 0 {
            self.say(&format!("and {more} more"));
        }
    }

    fn vars(&self, pending: &Pending) {
        let visible = self.world.visible(pending);
        if visible.is_empty() {
            self.say("it sees no variables");
        }
        for (name, value) in visible {
            let value = json::pretty(&value).replace('\n', "\n  ");
            self.out.lines(format!("  {} = {value}", one_line(&name)));
        }
    }

    fn tree(&self) {
        for record in self.world.instances() {
            if let Some(tree) = tree(record.plan(), record.state) {
                self.out.lines(tree.to_string().trim_end());
            }
        }
    }

    /// Time that is real passes by itself.
    fn tell_time(&self) {
        if !self.world.is_kept() {
            self.say(&format!("it is {}", self.world.now()));
        }
    }

    /// Says words in lines that people read, broken between words.
    fn say_wrapped(&self, first: &str, words: impl Iterator<Item = String>) {
        let mut line = first.to_owned();
        for word in words {
            if line.chars().count() + 1 + word.chars().count() > LINE_CHARS_MAX {
                self.say(&line);
                " ".clone_into(&mut line);
            }
            line = format!("{line} {word}");
        }
        self.say(&line);
    }

    fn say(&self, text: &str) {
        self.out.line(format!("  {text}"));
    }
}

fn key(pending: &Pending) -> Key {
    (pending.instance, pending.token, pending.address().map(|it| it.wait))
}

/// What Enter does.
fn hint(pending: &Pending, kept: bool) -> &'static str {
    match pending.kind() {
        Kind::Incident => "name=value sets variables · retry",
        Kind::Condition => "name=value sets variables",
        Kind::Timer if kept => "Enter fires it now",
        Kind::Timer => "Enter lets time pass until then",
        Kind::Message => "Enter or name=value correlates the message",
        Kind::Signal => "Enter or name=value sends the signal",
        Kind::Gate => "Enter grants it",
        Kind::Data => "name=value gives it · Enter begins without it",
        Kind::Decision => "Enter or name=value decides",
        Kind::UserTask | Kind::Job => "Enter or name=value completes it",
        Kind::Call | Kind::Tokens | Kind::Events => "nothing can be done about it here",
    }
}

#[cfg(test)]
mod tests;
